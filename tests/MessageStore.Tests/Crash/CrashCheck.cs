using EQueue.Protocol;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>Opens what a crash left and compares it with what was sent and acknowledged; then opens it again.</summary>
internal static class CrashCheck
{
    public static async Task RunAsync(
        CrashHistory history,
        SimulatedDisk disk,
        FlushPolicy policy,
        int changes,
        bool isPowerCut,
        CancellationToken cancel)
    {
        (string first, SimulatedDisk after) =
            await OpenAndCheckAsync(history, disk, policy, changes, isPowerCut, cancel);
        (string second, _) = await OpenAndCheckAsync(history, after, policy, changes, isPowerCut, cancel);
        Assert.Equal(first, second);
    }

    /// <summary>The same with recovery alone, which is what decides: the bytes of the segments and the indexes are read
    /// directly.</summary>
    public static void RunRecovery(
        CrashHistory history,
        SimulatedDisk disk,
        FlushPolicy policy,
        int changes,
        bool isPowerCut,
        CancellationToken cancel)
    {
        string first = RecoverAndCheck(history, disk, policy, changes, isPowerCut, cancel);
        string second = RecoverAndCheck(history, disk, policy, changes, isPowerCut, cancel);
        Assert.Equal(first, second);
    }

    private static string RecoverAndCheck(
        CrashHistory history,
        SimulatedDisk disk,
        FlushPolicy policy,
        int changes,
        bool isPowerCut,
        CancellationToken cancel)
    {
        var machine = new MemoryState();
        var state = new LogState(new QueueTable(), new ProducerTable(), machine);
        RecoveredLog log = Recovery.Run(
            CrashRun.OptionsOn(disk, policy), disk, state, NullLogger.Instance, TimeProvider.System, null, cancel);
        var found = new List<string>();
        var ends = new Dictionary<uint, long>();
        foreach (Segment segment in log.Segments)
        {
            long entries = 0;
            var basePosition = new LogPosition(segment.BasePosition);
            using var scanner = new SegmentScanner(
                disk.Open(segment.Path, DiskOpen.ReadOnly), segment.Path, basePosition, EntryHeader.SeedOf(log.LogId));
            long end = segment.IsSealed ? segment.EndPosition : log.EndPosition;
            while (scanner.Position < end)
            {
                Assert.Equal(ScanVerdict.Entry, scanner.Next());
                entries += scanner.Header.HasBatch ? 1 : 0;
                if (scanner.Header.Kind != EntryKind.Messages)
                    continue;
                uint queue = scanner.Header.Queue.Value;
                var entry = new TestBatch.Entry(
                    ReadBatch(scanner, out int count),
                    scanner.Header.Position.Value,
                    scanner.Header.Epoch,
                    0,
                    [.. scanner.Batch]);
                Assert.Equal(ends.GetValueOrDefault(queue), entry.FirstOffset);
                history.CheckEntry(queue, entry);
                ends[queue] = entry.FirstOffset + count;
                found.Add($"{queue}/{entry.FirstOffset}@{entry.Position}");
            }

            Assert.Equal(end, scanner.Position);
            if (segment.HasIndex)
                CheckIndex(disk, segment, log.LogId, entries);
            segment.File?.Dispose();
        }

        foreach (uint id in history.Queues)
        {
            long acknowledged = history.AcknowledgedEnd(id, changes, isPowerCut);
            long end = ends.GetValueOrDefault(id);
            Assert.Equal(state.Queues.Find(new QueueId(id))?.NextOffset ?? 0, end);
            Assert.True(end >= acknowledged, $"queue {id} ends at {end}; {acknowledged} was acknowledged");
        }

        history.CheckState(machine, changes, isPowerCut);
        found.Add(machine.ToString());
        return string.Join('\n', found);
    }

    private static long ReadBatch(SegmentScanner scanner, out int count)
    {
        Assert.Equal(ErrorCode.None, RecordBatch.Check(scanner.Batch, out RecordBatchHeader header));
        count = header.RecordsCount;
        return header.BaseOffset.Value;
    }

    private static void CheckIndex(SimulatedDisk disk, Segment segment, Guid logId, long entries)
    {
        var basePosition = new LogPosition(segment.BasePosition);
        string path = LogFiles.Index(Path.GetDirectoryName(segment.Path)!, basePosition);
        Assert.Equal(FileVerdict.Valid, SealedIndex.TryOpen(disk, path, logId, basePosition, out SealedIndex? index));
        using (index)
        {
            Assert.True(index!.VerifyAll());
            Assert.Equal(entries, index.EntryCount);
        }
    }

    /// <summary>Opens, reads everything back, and dies.</summary>
    /// <returns>What was found, as text, and the disk as the death left it.</returns>
    private static async Task<(string Found, SimulatedDisk Disk)> OpenAndCheckAsync(
        CrashHistory history,
        SimulatedDisk disk,
        FlushPolicy policy,
        int changes,
        bool isPowerCut,
        CancellationToken cancel)
    {
        var state = new MemoryState();
        await using QueueStore store = await CrashRun.OpenAsync(disk, policy, state, cancel);
        var found = new List<string>();
        foreach (uint id in history.Queues)
        {
            long acknowledged = history.AcknowledgedEnd(id, changes, isPowerCut);
            var queue = new QueueId(id);
            if (!store.TryGetQueue(queue, out QueueView view))
            {
                Assert.Equal(0, acknowledged);
                continue;
            }

            long expected = 0;
            foreach (TestBatch.Entry entry in await StoreTest.ReadAllAsync(store, queue))
            {
                Assert.Equal(expected, entry.FirstOffset);
                history.CheckEntry(id, entry);
                expected += entry.Count;
                found.Add($"{id}/{entry.FirstOffset}@{entry.Position}");
            }

            Assert.Equal(expected, view.End.Value);
            Assert.Equal(expected, view.StagedEnd.Value);
            Assert.True(expected >= acknowledged, $"queue {id} ends at {expected}; {acknowledged} was acknowledged");
        }

        history.CheckState(state, changes, isPowerCut);
        found.Add(state.ToString()!);
        return (string.Join('\n', found), disk.Kill());
    }
}
