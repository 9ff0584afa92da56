using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>The cases of recovery by name: torn tails, second crashes, rot, lost files.</summary>
public sealed class TornTailTests
{
    private readonly SimulatedDisk _disk = new();
    private readonly MemoryState _state = new();

    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(FlushPolicy.Sync)]
    [InlineData(FlushPolicy.Async)]
    public async Task GivenACrashAReopeningWithLessAndASecondCrash_WhenReopened_ThenNothingOfTheFirstLifeReappears(
        FlushPolicy policy)
    {
        // First life: three batches of one size; the first one's bytes are torn away, those behind it stay whole on the
        // disk.
        (QueueId queue, long firstEnd, SimulatedDisk disk) = await LiveAsync(_disk, policy, ["first"]);
        (_, long secondEnd, disk) = await LiveAsync(disk, policy, ["AAAA", "BBBB", "CCCC"], queue);
        string path = LogFiles.Segment(LogFiles.LogDirectory(CrashRun.Folder), default);
        byte[] bytes = disk.ReadAll(path);
        long torn = await PositionOfAsync(disk, policy, queue, "AAAA");
        ClearDistances(bytes, disk, torn, secondEnd);
        bytes[SegmentHeader.Length + torn + 60] ^= 1;
        disk.WriteAll(path, bytes);

        // Second life: less than before, ending exactly where an old entry began.
        (_, _, disk) = await LiveAsync(disk, policy, ["DDDD"], queue);
        LogVerification left = LogVerifier.Verify(disk, CrashRun.Folder, Cancel);
        Assert.Empty(left.BadRanges);
        int end = SegmentHeader.Length + (int)left.EndPosition.Value;
        Assert.False(disk.ReadAll(path).AsSpan(end).ContainsAnyExcept((byte)0));

        // Third life.
        await using QueueStore store = await CrashRun.OpenAsync(disk.Kill(), policy, _state, Cancel);
        string[] bodies = [.. (await StoreTest.ReadAllAsync(store, queue)).SelectMany(entry => entry.Bodies)];
        Assert.Equal(["first", "DDDD"], bodies);
        Assert.True(firstEnd < torn);
    }

    [Fact]
    public async Task GivenStaleBytesBehindACut_WhenTheNewTailEndsExactlyBeforeThem_ThenTheirLowerEpochEndsTheLog()
    {
        // What a disk that lost the cut itself would show: an entry of an older epoch right behind one of a newer.
        (QueueId queue, _, SimulatedDisk disk) = await LiveAsync(_disk, FlushPolicy.Sync, ["one", "two", "old!"]);
        string path = LogFiles.Segment(LogFiles.LogDirectory(CrashRun.Folder), default);
        byte[] before = disk.ReadAll(path);
        long place = await PositionOfAsync(disk, FlushPolicy.Sync, queue, "two");
        long old = await PositionOfAsync(disk, FlushPolicy.Sync, queue, "old!");
        uint seed = SeedOf(disk);
        byte[] after = (byte[])before.Clone();
        RaiseEpoch(after, place, epoch: 7, seed);
        disk.WriteAll(path, after);

        await using QueueStore store = await CrashRun.OpenAsync(disk, FlushPolicy.Sync, _state, Cancel);
        string[] bodies = [.. (await StoreTest.ReadAllAsync(store, queue)).SelectMany(entry => entry.Bodies)];
        Assert.Equal(["one", "two"], bodies);
        Assert.Equal(8, store.Epoch);
        Assert.True(old > place);
    }

    [Fact]
    public async Task GivenRotBelowTheDurablePoint_WhenReopened_ThenItIsReportedNeverCutAndNeverServed()
    {
        (QueueId queue, long end, SimulatedDisk disk) =
            await LiveAsync(_disk, FlushPolicy.Sync, ["zero", "one", "rotten", "three", "four"]);
        long rotten = await PositionOfAsync(disk, FlushPolicy.Sync, queue, "rotten");
        string path = LogFiles.Segment(LogFiles.LogDirectory(CrashRun.Folder), default);
        disk.FlipBit(path, SegmentHeader.Length + rotten + EntryHeader.Length + 65, 3);

        LogVerification found = LogVerifier.Verify(disk, CrashRun.Folder, Cancel);
        BadRange range = Assert.Single(found.BadRanges);
        Assert.Equal(rotten, range.Position.Value);
        Assert.Equal(end, found.EndPosition.Value);
        await CheckRottenAsync(disk, queue);
        await CheckRottenAsync(disk.Kill(), queue);
    }

    [Fact]
    public async Task GivenRotInASealedSegment_WhenReadAndVerified_ThenItsOffsetsAreDamagedAndTheOthersServed()
    {
        string[] bodies = [.. Enumerable.Range(0, 60).Select(i => $"{i}".PadLeft(3_000, '.'))];
        (QueueId queue, _, SimulatedDisk disk) = await LiveAsync(_disk, FlushPolicy.Sync, bodies);
        long rotten = await PositionOfAsync(disk, FlushPolicy.Sync, queue, bodies[3]);
        string path = LogFiles.Segment(LogFiles.LogDirectory(CrashRun.Folder), default);
        disk.FlipBit(path, SegmentHeader.Length + rotten + 1_000, 0);

        Assert.Equal(rotten, Assert.Single(LogVerifier.Verify(disk, CrashRun.Folder, Cancel).BadRanges).Position.Value);
        await using QueueStore store = await CrashRun.OpenAsync(disk, FlushPolicy.Sync, _state, Cancel);
        Assert.Equal(ErrorCode.DamagedData, (await StoreTest.ReadAsync(store, queue, 3)).Result.Error);
        List<TestBatch.Entry> after = await StoreTest.ReadAllAsync(store, queue, from: 4);
        Assert.Equal(bodies[4..], after.SelectMany(entry => entry.Bodies));
    }

    [Fact]
    public async Task GivenRotAtTheEndOfAQueue_WhenReadAndWatched_ThenItsOffsetsAreDamagedAndReadersGoOnBehindThem()
    {
        // Sealed: the big ones. In memory: one that rots at the begin, two that are whole, one that rots at the end.
        string[] bodies = [.. Enumerable.Range(0, 12).Select(i => $"{i}".PadLeft(i < 8 ? 7_500 : 50, '.'))];
        (QueueId queue, _, SimulatedDisk disk) = await LiveAsync(_disk, FlushPolicy.Sync, bodies);
        long[] rotten = [await PositionOfAsync(disk, FlushPolicy.Sync, queue, bodies[8]), 0];
        rotten[1] = await PositionOfAsync(disk, FlushPolicy.Sync, queue, bodies[11]);
        LogPosition last = LogFiles.Find(disk, LogFiles.LogDirectory(CrashRun.Folder), LogFiles.SegmentSuffix)[^1];
        string path = LogFiles.Segment(LogFiles.LogDirectory(CrashRun.Folder), last);
        await (await CrashRun.OpenAsync(disk, FlushPolicy.Sync, new MemoryState(), Cancel)).DisposeAsync();
        foreach (long position in rotten)
            disk.FlipBit(path, SegmentHeader.Length + position - last.Value + EntryHeader.Length + 65, 3);

        await using QueueStore store = await CrashRun.OpenAsync(disk, FlushPolicy.Sync, new MemoryState(), Cancel);
        Assert.Equal(12, store.Queues.Single().End.Value);
        foreach (long offset in new long[] { 8, 11 })
        {
            ReadResult damaged = (await StoreTest.ReadAsync(store, queue, offset)).Result;
            Assert.Equal((ErrorCode.DamagedData, offset + 1), (damaged.Error, damaged.NextOffset.Value));
            Assert.False(store.Watch(queue, new QueueOffset(offset), new TestSignal()));
        }

        Assert.True(store.Watch(queue, new QueueOffset(12), new TestSignal()));
        AppendResult next = await store.AppendAsync(queue, TestBatch.Of("next"), Durability.Policy, Cancel);
        Assert.Equal(12, next.FirstOffset.Value);
        Assert.Equal(["next"], (await StoreTest.ReadAllAsync(store, queue, 12)).SelectMany(entry => entry.Bodies));
    }

    [Fact]
    public async Task GivenALogThatLostItsEnd_WhenASnapshotProvesMore_ThenPositionsAndOffsetsAreNotUsedAgain()
    {
        string[] bodies = [.. Enumerable.Range(0, 60).Select(i => $"{i}".PadLeft(3_000, '.'))];
        QueueId queue;
        await using (QueueStore store = await CrashRun.OpenAsync(_disk, FlushPolicy.Sync, _state, Cancel))
            queue = await AppendAllAsync(store, bodies);
        SimulatedDisk disk = _disk.Kill();
        string directory = LogFiles.LogDirectory(CrashRun.Folder);
        LogPosition last = LogFiles.Find(disk, directory, LogFiles.SegmentSuffix)[^1];
        long end = LogVerifier.Verify(disk, CrashRun.Folder, Cancel).EndPosition.Value;
        disk.Delete(LogFiles.Segment(directory, last));

        Assert.Contains(LogVerifier.Verify(disk, CrashRun.Folder, Cancel).BadRanges, range => range.Position == last);
        await using QueueStore reopened = await CrashRun.OpenAsync(disk, FlushPolicy.Sync, new MemoryState(), Cancel);
        Assert.True(reopened.Watermarks.Durable.Value >= end);
        AppendResult next = await reopened.AppendAsync(queue, TestBatch.Of("next"), Durability.Policy, Cancel);
        Assert.Equal(60, next.FirstOffset.Value);
        Assert.Equal(ErrorCode.DamagedData, (await StoreTest.ReadAsync(reopened, queue, 59)).Result.Error);
        Assert.Equal(["next"], (await StoreTest.ReadAllAsync(reopened, queue, 60)).SelectMany(entry => entry.Bodies));
    }

    [Fact]
    public async Task GivenAnOrderlyStop_WhenOpenedAgain_ThenNothingIsRewritten()
    {
        await using (QueueStore store = await CrashRun.OpenAsync(_disk, FlushPolicy.Sync, _state, Cancel))
            await AppendAllAsync(store, ["a", "b"]);
        SimulatedDisk disk = _disk.Kill();
        Assert.True(CleanMarker.TryRead(disk, CrashRun.Folder, StoreOf(disk).StoreId, out _));
        var state = new LogState(new QueueTable(), new ProducerTable(), new MemoryState());
        var logger = new CollectedLog();
        RecoveredLog log = Recovery.Run(
            CrashRun.OptionsOn(disk, FlushPolicy.Sync), disk, state, logger, TimeProvider.System, null, Cancel);
        log.Segments[^1].File?.Dispose();
        Assert.Contains(logger.Texts, line => line.Contains("rewrote 0 bytes", StringComparison.Ordinal));
        Assert.False(disk.Exists(LogFiles.CleanFile(CrashRun.Folder)));
    }

    private static async Task CheckRottenAsync(SimulatedDisk disk, QueueId queue)
    {
        await using QueueStore store = await CrashRun.OpenAsync(disk, FlushPolicy.Sync, new MemoryState(), Cancel);
        Assert.Equal(ErrorCode.DamagedData, (await StoreTest.ReadAsync(store, queue, 2)).Result.Error);
        Assert.Equal(
            ["three", "four"], (await StoreTest.ReadAllAsync(store, queue, 3)).SelectMany(entry => entry.Bodies));
        (ReadResult result, List<TestBatch.Entry> entries) = await StoreTest.ReadAsync(store, queue, 0);
        Assert.Equal(ErrorCode.None, result.Error);
        Assert.Equal(["zero", "one"], entries.SelectMany(entry => entry.Bodies).Take(2));
        Assert.DoesNotContain("rotten", entries.SelectMany(entry => entry.Bodies));
        Assert.Equal(5, store.Queues.Single(view => view.Id == queue).End.Value);
    }

    /// <summary>Opens, appends each body as a batch of its own, and dies when all is durable.</summary>
    private async Task<(QueueId Queue, long End, SimulatedDisk Disk)> LiveAsync(
        SimulatedDisk disk, FlushPolicy policy, string[] bodies, QueueId queue = default)
    {
        await using QueueStore store = await CrashRun.OpenAsync(disk, policy, _state, Cancel);
        queue = await AppendAllAsync(store, bodies, queue);
        return (queue, store.Watermarks.Staged.Value, disk.Kill());
    }

    private static async Task<QueueId> AppendAllAsync(QueueStore store, string[] bodies, QueueId queue = default)
    {
        if (queue == default)
            queue = (await store.OpenQueuesAsync(TopicId.NewId(), 0, 1, [], Cancel))[0];
        foreach (string body in bodies)
            await store.AppendAsync(queue, TestBatch.Of(body), Durability.Durable, Cancel);
        return queue;
    }

    private static async Task<long> PositionOfAsync(SimulatedDisk disk, FlushPolicy policy, QueueId queue, string body)
    {
        await using QueueStore store = await CrashRun.OpenAsync(disk.Copy(), policy, new MemoryState(), Cancel);
        return (await StoreTest.ReadAllAsync(store, queue)).Single(entry => entry.Bodies[0] == body).Position;
    }

    private static StoreHeader StoreOf(SimulatedDisk disk)
    {
        StoreHeader.Read(disk.ReadAll(LogFiles.StoreFile(CrashRun.Folder)), out StoreHeader? store);
        return store!;
    }

    private static uint SeedOf(SimulatedDisk disk) => EntryHeader.SeedOf(StoreOf(disk).LogIds[0]);

    /// <summary>Makes entries look as if nothing had been durable when they were stamped: their distance no longer
    /// proves anything.</summary>
    private static void ClearDistances(byte[] segment, SimulatedDisk disk, long from, long to)
    {
        uint seed = SeedOf(disk);
        for (long position = from; position < to;)
        {
            Span<byte> entry = segment.AsSpan(SegmentHeader.Length + (int)position);
            var header = EntryHeader.Read(entry);
            uint distance = (uint)(position - from) + 1;
            EntryHeader.Write(
                entry, header with { DurableDistance = distance }, seed, entry[header.HeaderLength..header.Size]);
            position += header.Size;
        }
    }

    private static void RaiseEpoch(byte[] segment, long position, int epoch, uint seed)
    {
        Span<byte> entry = segment.AsSpan(SegmentHeader.Length + (int)position);
        var header = EntryHeader.Read(entry);
        Span<byte> batch = entry[header.HeaderLength..header.Size];
        RecordBatch.TryReadHeader(batch, out RecordBatchHeader fields, out _);
        RecordBatch.Stamp(batch, fields.BaseOffset, epoch);
        EntryHeader.Write(entry, header with { Epoch = epoch }, seed, batch);
    }
}
