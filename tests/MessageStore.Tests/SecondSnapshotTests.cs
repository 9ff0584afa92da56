namespace EQueue.MessageStore.Tests;

/// <summary>Recovery begins at the older of two snapshots: what lies before it can go once there is a second.</summary>
public sealed class SecondSnapshotTests : StoreTest
{
    private const int BodySize = 20_000;

    private StoreOptions Tiny => Small with
    {
        SegmentSizeBytes = 128 << 10,
        SnapshotInterval = TimeSpan.FromSeconds(1),
        FlushPolicy = FlushPolicy.Async,
        FlushInterval = TimeSpan.FromMilliseconds(1),
        ReserveBytes = 1,
    };

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenAKeeperThatWasLate_WhenNothingIsAppendedAnyMore_ThenWhatIsOverGoesAllTheSame(bool isFull)
    {
        using ManualResetEventSlim isOver = HoldIndexes();
        await using QueueStore store = await OpenAsync(
            Tiny with { SnapshotInterval = TimeSpan.FromSeconds(isFull ? 3_600 : 1) });
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 40; i++)
            await AppendBodyAsync(store, queue, i);
        Assert.True(store.TryGetQueue(queue, out QueueView view));
        await store.MoveStartsAsync([(queue, view.End)], Cancel);
        if (isFull)
        {
            Disk.Free = 0;
            await Eventually(() => store.Figures.IsReadOnly);
        }

        // All that is sealed is indexed at once, in front of one snapshot: the second needs a place of its own.
        int sealedSegments = store.Figures.Segments - 1;
        Assert.True(sealedSegments > 3);
        isOver.Set();
        await Eventually(() => store.Figures.SegmentsRemoved == sealedSegments);
    }

    [Fact]
    public async Task GivenAFullLog_WhenStateEndsItsSegment_ThenThatGoesAlthoughNoSnapshotIsDueForLong()
    {
        await using QueueStore store = await OpenAsync(
            Tiny with { SnapshotInterval = TimeSpan.FromHours(1) });
        Disk.Free = 0;
        await Eventually(() => store.Figures.IsReadOnly);
        for (int i = 0; i < 10; i++)
            await store.AppendStateAsync([MemoryState.Entry("large", new string('.', BodySize))], Cancel);
        await Eventually(() => store.Figures is { SegmentsRemoved: > 0, Segments: 1 });
    }

    [Fact]
    public async Task GivenASegmentWithRoomForItsSealAlone_WhenTheSecondSnapshotNeedsAPlace_ThenThatIsInTheNextOne()
    {
        const int Rest = 60;
        using ManualResetEventSlim isOver = HoldIndexes();
        await using (QueueStore store = await OpenAsync(Tiny))
        {
            QueueId queue = await OpenQueueAsync(store);
            for (int i = 0; i < 20; i++)
                await AppendBodyAsync(store, queue, i);
            long room;
            while ((room = await RoomAsync(store, queue)) > 2 * BodySize)
                await AppendBodyAsync(store, queue, 0);
            long size = room - Rest - EntryHeader.Length;
            int body = (int)size;
            while (TestBatch.OfSize(body, 1).Length > size)
                body--;
            await store.AppendAsync(queue, TestBatch.OfSize(body, 1), Durability.Policy, Cancel);
            Assert.Equal(Rest, await RoomAsync(store, queue));
            isOver.Set();
            await Eventually(() => store.Figures.Snapshots >= 2);
        }

        // An opening seals what was the last segment.
        State = new MemoryState();
        await using (QueueStore again = await OpenAsync(Tiny))
            await AppendBodyAsync(again, again.Queues.Single().Id, 0);
        Assert.Empty(LogVerifier.Verify(Disk, Folder, Cancel).BadRanges);
    }

    [Fact]
    public async Task GivenSnapshotsThatCannotBeDeleted_WhenTheLogIsAtRest_ThenNoMoreAreTaken()
    {
        Disk.OnDelete = path =>
        {
            if (path.EndsWith(LogFiles.SnapshotSuffix, StringComparison.Ordinal))
                throw new DiskException(DiskFault.Denied, path, "unlink", "not permitted");
        };
        await using QueueStore store = await OpenAsync(Tiny);
        QueueId queue = await OpenQueueAsync(store);

        // However slow the keeper is, there is one to be deleted.
        for (int i = 0; i < 40 || (i < 4000 && store.Figures.Snapshots <= 2); i++)
        {
            await AppendBodyAsync(store, queue, i);
            if (i >= 40)
                await Support.Eventually.PassedAsync(TimeSpan.FromMilliseconds(5));
        }
        Assert.True(store.Figures.Snapshots > 2);
        await Support.Eventually.PassedAsync(2 * Tiny.SnapshotInterval);
        long taken = store.Figures.Snapshots;
        await Support.Eventually.PassedAsync(3 * Tiny.SnapshotInterval);
        Assert.Equal(taken, store.Figures.Snapshots);
    }

    private static async Task AppendBodyAsync(QueueStore store, QueueId queue, int seed) =>
        await store.AppendAsync(queue, TestBatch.OfSize(BodySize, seed), Durability.Policy, Cancel);

    /// <summary>Has the keeper wait with the first index until it is told.</summary>
    private ManualResetEventSlim HoldIndexes()
    {
        var isOver = new ManualResetEventSlim();
        Disk.OnOpen = path =>
        {
            if (path.EndsWith(LogFiles.IndexSuffix + LogFiles.TemporarySuffix, StringComparison.Ordinal))
                isOver.Wait(Cancel);
        };
        return isOver;
    }

    /// <summary>Bytes between the last entry and the end of the active segment.</summary>
    private async Task<long> RoomAsync(QueueStore store, QueueId queue)
    {
        TestBatch.Entry last = (await ReadAllAsync(store, queue))[^1];
        long active = LogFiles.Find(Disk, LogFiles.LogDirectory(Folder), LogFiles.SegmentSuffix)[^1].Value;
        return active + Tiny.SegmentSizeBytes - (last.Position + EntryHeader.Length + last.Batch.Length);
    }
}
