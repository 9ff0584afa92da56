using System.Buffers.Binary;
using EQueue.Protocol;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>What recovery does when files are missing, damaged, foreign or of a later version.</summary>
public sealed class RecoveryTests
{
    internal const int Batches = 60;
    internal const string IndexTemporary = LogFiles.IndexSuffix + LogFiles.TemporarySuffix;

    internal readonly SimulatedDisk _disk = new();

    internal static CancellationToken Cancel => TestContext.Current.CancellationToken;

    internal static string Logs => LogFiles.LogDirectory(CrashRun.Folder);

    [Fact]
    [EffectOf("Store:AcceptLostState")]
    public async Task GivenRottenState_WhenOpened_ThenItIsRefusedUnlessTheLossIsAccepted()
    {
        (_, SimulatedDisk disk) = await LiveAsync(batches: 4);
        EntrySummary state = EntriesOf(disk).Where(entry => entry.Kind == EntryKind.State).ElementAt(2);
        disk.FlipBit(LogFiles.Segment(Logs, default), SegmentHeader.Length + state.Position.Value + 100, 1);
        foreach (LogPosition snapshot in LogFiles.Find(disk, Logs, LogFiles.SnapshotSuffix))
            disk.Delete(LogFiles.Snapshot(Logs, snapshot));

        string before = Describe(disk);
        StoreFormatException refusal = await Assert.ThrowsAsync<StoreFormatException>(() => OpenAsync(disk, new MemoryState()));
        Assert.Contains(nameof(StoreOptions.AcceptLostState), refusal.Message, StringComparison.Ordinal);
        Assert.Equal(before, Describe(disk));

        var found = new MemoryState();
        await using QueueStore store = await OpenAsync(disk, found, accept: true);
        Assert.Equal("3", found["round"]);
    }

    [Fact]
    public async Task GivenDamagedSnapshots_WhenOpened_ThenAnOlderOneOrTheWholeLogIsReplayed()
    {
        (QueueId queue, SimulatedDisk disk) = await LiveAsync(Batches);
        List<LogPosition> snapshots = LogFiles.Find(disk, Logs, LogFiles.SnapshotSuffix);
        Assert.Equal(2, snapshots.Count);
        foreach (LogPosition snapshot in Enumerable.Reverse(snapshots))
        {
            disk.FlipBit(LogFiles.Snapshot(Logs, snapshot), SectionFileHeader.Length + 5, 2);
            await CheckWholeAsync(disk.Copy(), queue);
        }
    }

    [Fact]
    public async Task GivenALogWithoutItsBeginAndWithoutSnapshot_WhenOpened_ThenItIsRefused()
    {
        (_, SimulatedDisk disk) = await LiveAsync(Batches);
        foreach (LogPosition snapshot in LogFiles.Find(disk, Logs, LogFiles.SnapshotSuffix))
            disk.Delete(LogFiles.Snapshot(Logs, snapshot));
        disk.Delete(LogFiles.Segment(Logs, default));
        StoreFormatException refusal = await Assert.ThrowsAsync<StoreFormatException>(() => OpenAsync(disk, new MemoryState()));
        Assert.Contains("state is lost", refusal.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenDerivedFilesMissingOrDamaged_WhenOpened_ThenTheyAreMadeAgainAndNothingIsLost(bool isMissing)
    {
        (QueueId queue, SimulatedDisk disk) = await LiveAsync(Batches);
        Guid id = StoreOf(disk).StoreId;
        string[] derived =
        [
            LogFiles.StoreFile(CrashRun.Folder),
            .. LogFiles.Find(disk, Logs, LogFiles.IndexSuffix).Select(position => LogFiles.Index(Logs, position)),
        ];
        Assert.True(derived.Length > 2);
        foreach (string path in derived)
        {
            if (isMissing)
                disk.Delete(path);
            else
                disk.FlipBit(path, 30, 4);
        }

        await CheckWholeAsync(disk, queue);
        SimulatedDisk after = disk.Kill();
        Assert.Equal(id, StoreOf(after).StoreId);
        Assert.Empty(LogVerifier.Verify(after, CrashRun.Folder, Cancel).BadRanges);
        Assert.All(derived, path => Assert.True(after.Exists(path)));
    }

    [Fact]
    public async Task GivenDamagedSegmentHeaders_WhenOpened_ThenTheyAreRewrittenAndNothingIsLost()
    {
        (QueueId queue, SimulatedDisk disk) = await LiveAsync(Batches);
        string[] segments = [.. LogFiles.Find(disk, Logs, LogFiles.SegmentSuffix).Select(position => LogFiles.Segment(Logs, position))];
        foreach (string path in segments)
            disk.FlipBit(path, 60, 4);
        Assert.Equal(segments.Length, LogVerifier.Verify(disk, CrashRun.Folder, Cancel).BadRanges.Count);
        await CheckWholeAsync(disk, queue);
        Assert.Empty(LogVerifier.Verify(disk.Kill(), CrashRun.Folder, Cancel).BadRanges);
    }

    [Fact]
    [Follows("Nothing was changed; use the later version.")]
    public async Task GivenAnythingOfALaterVersionOrAnotherStore_WhenOpened_ThenItIsRefusedAndNothingIsTouched()
    {
        (_, SimulatedDisk disk) = await LiveAsync(Batches);
        string segment = LogFiles.Segment(Logs, default);
        string snapshot = LogFiles.Snapshot(Logs, LogFiles.Find(disk, Logs, LogFiles.SnapshotSuffix)[^1]);
        await RefusedAsync(disk, LogFiles.StoreFile(CrashRun.Folder), 8, bytes => bytes.Length - 4);
        await RefusedAsync(disk, segment, 8, _ => 120);
        await RefusedAsync(disk, segment, 24, _ => 120);
        await RefusedAsync(disk, segment, 40, _ => 120);
        await RefusedAsync(disk, snapshot, 16, bytes => BinaryPrimitives.ReadUInt16LittleEndian(bytes.AsSpan(10)) - 4);
    }

    [Fact]
    public async Task GivenAnEntryWithAFlagOfALaterVersion_WhenOpened_ThenItIsRefused()
    {
        (_, SimulatedDisk disk) = await LiveAsync(batches: 4);
        ChangeLast(disk, header => header with { Flags = (EntryFlags)(1 << 12) });
        string before = Describe(disk);
        StoreFormatException refusal = await Assert.ThrowsAsync<StoreFormatException>(() => OpenAsync(disk, new MemoryState()));
        Assert.Contains("later version", refusal.Message, StringComparison.Ordinal);
        Assert.Equal(before, Describe(disk));
    }

    [Fact]
    public async Task GivenAnAtomicGroupThatLacksItsLastEntry_WhenOpened_ThenAllOfItIsCut()
    {
        (QueueId queue, SimulatedDisk disk) = await LiveAsync(batches: 4);
        disk.Delete(LogFiles.CleanFile(CrashRun.Folder));
        foreach (LogPosition snapshot in LogFiles.Find(disk, Logs, LogFiles.SnapshotSuffix))
            disk.Delete(LogFiles.Snapshot(Logs, snapshot));
        EntrySummary last = EntriesOf(disk)[^1];
        ChangeLast(disk, header => header with { Flags = EntryFlags.More, DurableDistance = 1 });

        await using QueueStore store = await OpenAsync(disk, new MemoryState());
        Assert.Equal(3, store.Queues.Single(view => view.Id == queue).End.Value);
        Assert.DoesNotContain(EntriesOf(disk), entry => entry.Position == last.Position && entry.Kind == last.Kind);
    }

    [Fact]
    public async Task GivenASnapshotThatKnowsMoreThanItsStart_WhenReplayed_ThenNothingIsCountedTwiceOrForgotten()
    {
        (QueueId queue, SimulatedDisk disk) = await LiveAsync(batches: 6);
        RecoveredLog whole = Recover(disk.Copy(), out MemoryState expected);
        Queue full = whole.Queues.Find(queue)!;
        foreach (LogPosition old in LogFiles.Find(disk, Logs, LogFiles.SnapshotSuffix))
            disk.Delete(LogFiles.Snapshot(Logs, old));

        // Replay starts before the third batch; the queue was captured after the fourth, the state records before the third.
        EntrySummary[] messages = [.. EntriesOf(disk).Where(entry => entry.Queue == queue)];
        LogPosition start = messages[2].Position;
        long applied = messages[3].Position.Value + messages[3].Size;
        SnapshotQueue row = SnapshotQueue.Of(full) with
        {
            NextOffset = 4,
            AppliedPosition = applied,
            Bytes = messages.Take(4).Sum(entry => (long)entry.Size),
        };
        using (var writer = new SnapshotWriter(disk, LogFiles.Snapshot(Logs, start)))
        {
            writer.WriteMarks(whole.Queues.NextId, whole.Producers.NextId, 0);
            writer.WriteQueues([row]);
            writer.WriteProducers([]);
            writer.WriteMachine([MemoryState.Entry("round", "1")]);
            writer.Complete(whole.StoreId, whole.LogId, start, new LogPosition(applied), whole.LastEpoch, createdMs: 1);
        }

        RecoveredLog again = Recover(disk, out MemoryState found);
        Queue queueAgain = again.Queues.Find(queue)!;
        Assert.Equal(
            (full.NextOffset, full.Bytes, full.AppliedPosition, full.LastStoredTimeMs),
            (queueAgain.NextOffset, queueAgain.Bytes, queueAgain.AppliedPosition, queueAgain.LastStoredTimeMs));
        Assert.Equal(6, queueAgain.Tail!.Count);
        Assert.Equal(expected.ToString(), found.ToString());
        Assert.Equal("5", found["round"]);
    }

    [Fact]
    public async Task GivenASegmentWithoutMessagesBehindOneWithoutIndex_WhenOpened_ThenBothGetIndexesThatFindAll()
    {
        var time = new ManualTime(1_700_000_000_000);
        _disk.OnChange = FailIndexes;
        QueueId queue;
        ProducerSession producer;
        await using (QueueStore first = await OpenAtAsync(_disk, time))
        {
            queue = (await first.OpenQueuesAsync(TopicId.NewId(), 0, 1, [], Cancel))[0];
            producer = await first.InitProducerAsync(ProducerSession.None, Cancel);
            await first.AppendAsync(queue, TestBatch.Of(producer, 0, "first"), Durability.Durable, Cancel);
            await RollByDuplicatesAsync(first, queue, producer, time);
            _disk.KillProcess();
        }

        // The power cut took the name of the second segment: the next life makes it again, without a message in it.
        SimulatedDisk disk = _disk.Copy();
        disk.Delete(LogFiles.Segment(Logs, LogFiles.Find(disk, Logs, LogFiles.SegmentSuffix)[^1]));
        disk.OnChange = FailIndexes;
        SimulatedDisk left;
        await using (QueueStore second = await OpenAtAsync(disk, time))
        {
            await RollByDuplicatesAsync(second, queue, producer, time);
            await second.AppendAsync(queue, TestBatch.Of("last"), Durability.Durable, Cancel);
            left = disk.Kill();
        }

        await (await OpenAtAsync(left, time)).DisposeAsync();
        Assert.Equal(2, LogFiles.Find(left, Logs, LogFiles.IndexSuffix).Count);
        await using QueueStore store = await OpenAtAsync(left, time);
        string[] bodies = [.. (await StoreTest.ReadAllAsync(store, queue)).SelectMany(entry => entry.Bodies)];
        Assert.Equal(["first", "last"], bodies);
    }

    [Fact]
    public async Task GivenTheIndexOfTheFirstOfTwoReplayedSegmentsMissing_WhenOpened_ThenAllIsReadAtOnce()
    {
        (QueueId queue, SimulatedDisk disk) = await LiveAsync(Batches);
        foreach (LogPosition snapshot in LogFiles.Find(disk, Logs, LogFiles.SnapshotSuffix))
            disk.Delete(LogFiles.Snapshot(Logs, snapshot));
        disk.Delete(LogFiles.Index(Logs, LogFiles.Find(disk, Logs, LogFiles.IndexSuffix)[0]));
        // The store has no time to write it again before it is read.
        disk.OnChange = FailIndexes;
        await CheckWholeAsync(disk, queue);
    }

    [Fact]
    public async Task GivenAStartThatIsNotDurable_WhenItsSegmentsAreDead_ThenItIsMadeDurableBeforeTheyGo()
    {
        (QueueId queue, SimulatedDisk lived) = await LiveAsync(Batches);
        // Two snapshots are kept: after a second life the older one has all segments of the first behind it.
        await using (QueueStore second = await OpenAsync(lived, new MemoryState()))
            await second.AppendStateAsync([MemoryState.Entry("round", "last")], Cancel);
        SimulatedDisk disk = lived.Kill();
        StoreOptions options = CrashRun.OptionsOn(disk, FlushPolicy.Async) with { FlushInterval = TimeSpan.FromHours(1) };
        await using QueueStore store = await OpenWithAsync(options);
        var first = new TaskCompletionSource<DiskOperationKind>(TaskCreationOptions.RunContinuationsAsynchronously);
        disk.OnChange = (kind, path) =>
        {
            bool isLog = path.EndsWith(LogFiles.SegmentSuffix, StringComparison.Ordinal);
            if (isLog && kind is DiskOperationKind.SyncFile or DiskOperationKind.Delete)
                first.TrySetResult(kind);
        };
        await store.MoveStartsAsync([(queue, new QueueOffset(Batches))], Cancel);
        Assert.Equal(DiskOperationKind.SyncFile, await first.Task.WaitAsync(TimeSpan.FromSeconds(30), Cancel));
    }

    [Fact]
    public async Task GivenARemovalThatIsNotDurable_WhenAnIndexLeavesTheQueueOut_ThenNoPowerCutGivesHalfOfItBack()
    {
        StoreOptions options = CrashRun.OptionsOn(_disk, FlushPolicy.Async) with { FlushInterval = TimeSpan.FromHours(1) };
        var writesIndex = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using var isRemoved = new ManualResetEventSlim();
        _disk.OnChange = (kind, path) =>
        {
            if (kind != DiskOperationKind.Create || !path.EndsWith(IndexTemporary, StringComparison.Ordinal))
                return;
            writesIndex.TrySetResult();
            isRemoved.Wait(Cancel);
        };
        await using QueueStore store = await OpenWithAsync(options);
        QueueId queue = (await store.OpenQueuesAsync(TopicId.NewId(), 0, 1, [], Cancel))[0];
        for (int i = 0; i < Batches || store.Figures.Segments == 1; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(1_000, i), Durability.Durable, Cancel);
        await writesIndex.Task.WaitAsync(TimeSpan.FromSeconds(30), Cancel);
        await store.RemoveQueuesAsync([queue], [], Cancel);
        isRemoved.Set();
        await Eventually.TrueAsync(() => LogFiles.Find(_disk, Logs, LogFiles.IndexSuffix).Count > 0);
        SimulatedDisk left = _disk.AfterPowerCut(seed: 1, PowerCutStyle.NothingUnsynced);

        await using QueueStore again = await OpenWithAsync(options with { Disk = left });
        if (again.TryGetQueue(queue, out QueueView view))
            Assert.Equal(view.End.Value, (await StoreTest.ReadAllAsync(again, queue)).Count);
    }

    internal static void FailIndexes(DiskOperationKind kind, string path)
    {
        if (path.EndsWith(IndexTemporary, StringComparison.Ordinal))
            throw new DiskException(DiskFault.Io, path, $"{kind}", "no index can be written");
    }

    /// <summary>Begins a new segment while nothing is stored.</summary>
    internal static async Task RollByDuplicatesAsync(
        QueueStore store, QueueId queue, ProducerSession producer, ManualTime time)
    {
        int segments = store.Figures.Segments;
        time.UnixMs += (long)TimeSpan.FromHours(2).TotalMilliseconds;
        await Eventually.TrueAsync(async () =>
        {
            byte[] again = TestBatch.Of(producer, 0, "first");
            Assert.True((await store.AppendAsync(queue, again, Durability.Durable, Cancel)).IsDuplicate);
            return store.Figures.Segments > segments;
        });
        await store.AppendStateAsync([MemoryState.Entry("after", "the seal")], Cancel);
    }

    internal static Task<QueueStore> OpenAtAsync(SimulatedDisk disk, TimeProvider time) => QueueStore.OpenAsync(
        CrashRun.OptionsOn(disk, FlushPolicy.Sync), new MemoryState(), NullLoggerFactory.Instance, time, Cancel);

    internal static Task<QueueStore> OpenWithAsync(StoreOptions options) => QueueStore.OpenAsync(
        options, new MemoryState(), NullLoggerFactory.Instance, TimeProvider.System, Cancel);

    internal static RecoveredLog Recover(SimulatedDisk disk, out MemoryState machine)
    {
        machine = new MemoryState();
        var state = new LogState(new QueueTable(), new ProducerTable(), machine);
        RecoveredLog log = Recovery.Run(
            CrashRun.OptionsOn(disk, FlushPolicy.Sync), disk, state, NullLogger.Instance, TimeProvider.System, null, Cancel);
        log.Segments[^1].File?.Dispose();
        return log;
    }

    internal static async Task RefusedAsync(SimulatedDisk good, string path, int field, Func<byte[], int> crcOffset)
    {
        SimulatedDisk disk = good.Copy();
        byte[] bytes = disk.ReadAll(path);
        bytes[field] ^= 2;
        int crc = crcOffset(bytes);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(crc), Crc32C.Compute(bytes.AsSpan(0, crc)));
        disk.WriteAll(path, bytes);
        string before = Describe(disk);
        StoreFormatException refusal = await Assert.ThrowsAsync<StoreFormatException>(() => OpenAsync(disk, new MemoryState()));
        Assert.Equal(path, refusal.Path);
        Assert.Equal(before, Describe(disk));
        if (refusal.Message.Contains("use the later version", StringComparison.Ordinal))
        {
            // What the later version would do: read its own bytes.
            bytes[field] ^= 2;
            BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(crc), Crc32C.Compute(bytes.AsSpan(0, crc)));
            disk.WriteAll(path, bytes);
            await using QueueStore later = await OpenAsync(disk, new MemoryState());
            Assert.NotEmpty(later.Queues);
        }

        if (field == 8)
            Assert.Contains("format version 3, this build reads version 1", refusal.Message, StringComparison.Ordinal);
        if (field == 16)
            Assert.Contains("features that this build does not know (0x2)", refusal.Message, StringComparison.Ordinal);
    }

    internal static void ChangeLast(SimulatedDisk disk, Func<EntryHeader, EntryHeader> change)
    {
        LogPosition basePosition = LogFiles.Find(disk, Logs, LogFiles.SegmentSuffix)[^1];
        string path = LogFiles.Segment(Logs, basePosition);
        byte[] bytes = disk.ReadAll(path);
        long position = EntriesOf(disk)[^1].Position.Value;
        Span<byte> entry = bytes.AsSpan((int)(SegmentHeader.Length + position - basePosition.Value));
        var header = EntryHeader.Read(entry);
        uint seed = EntryHeader.SeedOf(StoreOf(disk).LogIds[0]);
        EntryHeader.Write(entry, change(header), seed, entry[header.HeaderLength..header.Size]);
        disk.WriteAll(path, bytes);
    }

    internal static StoreHeader StoreOf(SimulatedDisk disk)
    {
        StoreHeader.Read(disk.ReadAll(LogFiles.StoreFile(CrashRun.Folder)), out StoreHeader? store);
        return store!;
    }

    internal static List<EntrySummary> EntriesOf(SimulatedDisk disk)
    {
        var entries = new List<EntrySummary>();
        LogInspector.Open(disk, CrashRun.Folder).ReadEntries(
            default,
            entry =>
            {
                entries.Add(entry);
                return true;
            },
            Cancel);
        return entries;
    }

    internal static string Describe(SimulatedDisk disk) =>
        string.Join('\n', disk.Files.Select(path => $"{path} {Crc32C.Compute(disk.ReadAll(path))}"));

    internal static async Task CheckWholeAsync(SimulatedDisk disk, QueueId queue)
    {
        var state = new MemoryState();
        await using QueueStore store = await OpenAsync(disk, state);
        Assert.Equal($"{Batches - 1}", state["round"]);
        List<TestBatch.Entry> entries = await StoreTest.ReadAllAsync(store, queue);
        Assert.Equal(Enumerable.Range(0, Batches).Select(BodyOf), entries.SelectMany(entry => entry.Bodies));
    }

    internal static Task<QueueStore> OpenAsync(SimulatedDisk disk, MemoryState state, bool accept = false) =>
        QueueStore.OpenAsync(
            CrashRun.OptionsOn(disk, FlushPolicy.Sync) with { AcceptLostState = accept },
            state,
            NullLoggerFactory.Instance,
            TimeProvider.System,
            Cancel);

    internal static string BodyOf(int round) => $"{round}".PadLeft(3_000, '.');

    /// <summary>A state record before each batch; an orderly stop at the end. A snapshot is there at half of
    /// <see cref="Batches"/>, however late the keeper's thread is, so the stop's is not the only one.</summary>
    internal async Task<(QueueId Queue, SimulatedDisk Disk)> LiveAsync(int batches)
    {
        QueueId queue;
        await using (QueueStore store = await OpenAsync(_disk, new MemoryState()))
        {
            queue = (await store.OpenQueuesAsync(TopicId.NewId(), 0, 1, [], Cancel))[0];
            for (int i = 0; i < batches; i++)
            {
                await store.AppendStateAsync([MemoryState.Entry("round", $"{i}")], Cancel);
                await store.AppendAsync(queue, TestBatch.Of(BodyOf(i)), Durability.Durable, Cancel);
                if (i == Batches / 2)
                    await Eventually.TrueAsync(() => store.Figures.Snapshots > 0);
            }
        }

        return (queue, _disk.Kill());
    }
}
