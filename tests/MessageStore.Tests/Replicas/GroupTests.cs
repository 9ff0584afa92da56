using System.Diagnostics;
using EQueue.Protocol;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>Atomic groups of entries, as recovery finds them.</summary>
public sealed class GroupTests
{
    private static readonly string Logs = LogFiles.LogDirectory(CrashRun.Folder);

    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenTwentyThousandGroups_WhenReplayed_ThenItCostsLittleMoreThanTheSameEntriesApart()
    {
        (SimulatedDisk apart, QueueId queue) = await StoredAsync(batches: 40_000, FlushPolicy.Async);
        SimulatedDisk together = apart.Copy();
        SetGroups(together, queue, size: 2);
        Replay(apart.Copy());
        Replay(together.Copy());

        // Interleaved, and the least of each: what the machine does besides only adds.
        (TimeSpan apartTime, TimeSpan togetherTime) = (TimeSpan.MaxValue, TimeSpan.MaxValue);
        (long apartBytes, long togetherBytes) = (long.MaxValue, long.MaxValue);
        for (int i = 0; i < 5; i++)
        {
            (TimeSpan time, long bytes) = Replay(apart.Copy());
            (apartTime, apartBytes) = (time < apartTime ? time : apartTime, Math.Min(bytes, apartBytes));
            (time, bytes) = Replay(together.Copy());
            (togetherTime, togetherBytes) = (time < togetherTime ? time : togetherTime, Math.Min(bytes, togetherBytes));
        }

        Assert.True(togetherTime <= 3 * apartTime, $"{togetherTime} for groups, {apartTime} apart");
        Assert.True(togetherBytes - apartBytes <= 16 << 20, $"{togetherBytes} for groups, {apartBytes} apart");
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(4)]
    [InlineData(5)]
    public async Task GivenAGroupOfSix_WhenOneEntryRots_ThenThatOneAloneIsLost(int rotten)
    {
        (SimulatedDisk disk, QueueId queue) = await StoredAsync(batches: 18, FlushPolicy.Sync);
        SetGroups(disk, queue, size: 6);
        EntrySummary[] messages = MessagesOf(disk, queue);
        Rot(disk, messages[6 + rotten]);

        await using QueueStore store = await QueueStore.OpenAsync(
            CrashRun.OptionsOn(disk, FlushPolicy.Sync), new MemoryState(), NullLoggerFactory.Instance, TimeProvider.System, Cancel);
        Assert.Equal(18, store.Queues.Single(view => view.Id == queue).End.Value);
        for (int i = 0; i < 18; i++)
        {
            (ReadResult result, List<TestBatch.Entry> entries) = await StoreTest.ReadAsync(store, queue, i, maxBytes: 1);
            Assert.Equal(i == 6 + rotten ? ErrorCode.DamagedData : ErrorCode.None, result.Error);
            Assert.Equal(i == 6 + rotten ? 0 : 1, entries.Count);
        }
    }

    [Fact]
    public async Task GivenAGroupAtTheEnd_WhenItsLastEntryIsTorn_ThenAllOfItIsCut()
    {
        (SimulatedDisk disk, QueueId queue) = await StoredAsync(batches: 12, FlushPolicy.Sync);
        disk.Delete(LogFiles.CleanFile(CrashRun.Folder));
        foreach (LogPosition snapshot in LogFiles.Find(disk, Logs, LogFiles.SnapshotSuffix))
            disk.Delete(LogFiles.Snapshot(Logs, snapshot));
        SetGroups(disk, queue, size: 6);
        EntrySummary[] messages = MessagesOf(disk, queue);
        // Nothing says that more than the first group was durable.
        foreach (EntrySummary entry in messages[6..])
            Change(disk, entry, header => header with { DurableDistance = (uint)(entry.Position.Value - messages[6].Position.Value) });
        Rot(disk, messages[11]);

        await using QueueStore store = await QueueStore.OpenAsync(
            CrashRun.OptionsOn(disk, FlushPolicy.Sync), new MemoryState(), NullLoggerFactory.Instance, TimeProvider.System, Cancel);
        Assert.Equal(6, store.Queues.Single(view => view.Id == queue).End.Value);
    }

    private static async Task<(SimulatedDisk Disk, QueueId Queue)> StoredAsync(int batches, FlushPolicy policy)
    {
        var disk = new SimulatedDisk();
        StoreOptions options = CrashRun.OptionsOn(disk, policy) with
        {
            SegmentSizeBytes = 16 << 20,
            TailMemoryBytes = 1 << 20,
            SnapshotStateBytes = 1 << 30,
        };
        await using QueueStore store = await QueueStore.OpenAsync(
            options, new MemoryState(), NullLoggerFactory.Instance, TimeProvider.System, Cancel);
        QueueId queue = (await store.OpenQueuesAsync(TopicId.NewId(), 0, 1, [], Cancel))[0];
        Task last = Task.CompletedTask;
        for (int i = 0; i < batches; i++)
        {
            last = store.AppendAsync(queue, TestBatch.Of($"message {i}"), Durability.Written, Cancel).AsTask();
            if (i % 100 == 0)
                await last;
        }

        await last;
        return (await ClosedAsync(store, disk), queue);
    }

    private static async Task<SimulatedDisk> ClosedAsync(QueueStore store, SimulatedDisk disk)
    {
        await store.DisposeAsync();
        SimulatedDisk closed = disk.Kill();
        // The snapshot of the stop would leave nothing to replay.
        foreach (LogPosition snapshot in LogFiles.Find(closed, Logs, LogFiles.SnapshotSuffix))
            closed.Delete(LogFiles.Snapshot(Logs, snapshot));
        return closed;
    }

    private static (TimeSpan Time, long Bytes) Replay(SimulatedDisk disk)
    {
        var state = new LogState(new QueueTable(), new ProducerTable(), new MemoryState());
        long bytes = GC.GetAllocatedBytesForCurrentThread();
        long began = Stopwatch.GetTimestamp();
        RecoveredLog log = Recovery.Run(
            CrashRun.OptionsOn(disk, FlushPolicy.Async), disk, state, NullLogger.Instance, TimeProvider.System, null, Cancel);
        (TimeSpan, long) cost =
            (Stopwatch.GetElapsedTime(began), GC.GetAllocatedBytesForCurrentThread() - bytes);
        log.Segments[^1].File?.Dispose();
        Assert.Equal(40_000, state.Queues.All.Single().NextOffset);
        return cost;
    }

    /// <summary>Makes groups of so many message entries each.</summary>
    private static void SetGroups(SimulatedDisk disk, QueueId queue, int size)
    {
        EntrySummary[] messages = MessagesOf(disk, queue);
        string path = LogFiles.Segment(Logs, default);
        byte[] bytes = disk.ReadAll(path);
        uint seed = SeedOf(disk);
        for (int i = 0; i < messages.Length; i++)
        {
            if (i % size != size - 1)
                Restamp(bytes, messages[i], header => header with { Flags = EntryFlags.More }, seed);
        }

        disk.WriteAll(path, bytes);
    }

    private static void Change(SimulatedDisk disk, EntrySummary entry, Func<EntryHeader, EntryHeader> change)
    {
        string path = LogFiles.Segment(Logs, default);
        byte[] bytes = disk.ReadAll(path);
        Restamp(bytes, entry, change, SeedOf(disk));
        disk.WriteAll(path, bytes);
    }

    private static void Restamp(byte[] bytes, EntrySummary entry, Func<EntryHeader, EntryHeader> change, uint seed)
    {
        Span<byte> place = bytes.AsSpan((int)(SegmentHeader.Length + entry.Position.Value), entry.Size);
        EntryHeader.Write(place, change(EntryHeader.Read(place)), seed, place[EntryHeader.Length..]);
    }

    private static uint SeedOf(SimulatedDisk disk)
    {
        StoreHeader.Read(disk.ReadAll(LogFiles.StoreFile(CrashRun.Folder)), out StoreHeader? store);
        return EntryHeader.SeedOf(store!.LogIds[0]);
    }

    private static void Rot(SimulatedDisk disk, EntrySummary entry) => disk.FlipBit(
        LogFiles.Segment(Logs, default), SegmentHeader.Length + entry.Position.Value + entry.Size - 1, 3);

    private static EntrySummary[] MessagesOf(SimulatedDisk disk, QueueId queue) =>
        [.. RecoveryTests.EntriesOf(disk).Where(entry => entry.Queue == queue)];
}
