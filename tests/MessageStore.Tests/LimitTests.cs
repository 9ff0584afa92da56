using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

public sealed class LimitTests : StoreTest
{
    [Fact]
    public async Task GivenARequestWithBadItems_WhenAppending_ThenEachSaysWhatIsWrongAndTheGoodOneIsStored()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        byte[] good = TestBatch.Of("good");
        var items = new AppendItem[]
        {
            new() { Queue = new QueueId(77), Batch = good },
            new() { Queue = QueueId.State, Batch = good },
            new() { Queue = queue, Batch = TestBatch.OfSize(Small.MaxBatchBytes, 1) },
            new() { Queue = queue, Batch = good.AsMemory(0, 40) },
            new() { Queue = queue, Batch = good.Concat(good).ToArray() },
            new() { Queue = queue, Batch = good },
        };
        var waiter = new TestWaiter();

        Assert.Equal(AppendStatus.Accepted, store.Append(items, Durability.Policy, waiter));
        await waiter.Task;

        Assert.Equal(
            [ErrorCode.UnknownQueue, ErrorCode.UnknownQueue,
                ErrorCode.MessageTooLarge, ErrorCode.InvalidBatch, ErrorCode.InvalidBatch, ErrorCode.None],
            items.Select(item => item.Error));
        Assert.Equal("good", Assert.Single(await ReadAllAsync(store, queue)).Bodies[0]);
        Assert.Equal(AppendStatus.Nothing, store.Append(items.AsSpan(0, 5), Durability.Policy, new TestWaiter()));
    }

    [Fact]
    public async Task GivenARequestBeyondTheLimit_WhenAppending_ThenEveryItemIsTooLargeAndNothingIsStored()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        byte[] batch = TestBatch.OfSize(50_000, 1);
        var items = new AppendItem[(store.MaxRequestBytes / 50_000) + 1];
        Array.Fill(items, new AppendItem { Queue = queue, Batch = batch });

        Assert.Equal(AppendStatus.Nothing, store.Append(items, Durability.Policy, new TestWaiter()));

        Assert.All(items, item => Assert.Equal(ErrorCode.MessageTooLarge, item.Error));
        Assert.Empty(await ReadAllAsync(store, queue));
    }

    [Fact]
    public async Task GivenABatchOfTheLargestMessage_WhenAppendedAndReadWithASmallLimit_ThenItComesWhole()
    {
        await using QueueStore store = await OpenAsync(
            new StoreOptions { DataDirectory = Folder, ReserveBytes = 0, FlushPolicy = FlushPolicy.Async });
        QueueId queue = await OpenQueueAsync(store);
        byte[] largest = TestBatch.OfSize(4 << 20, 5);
        for (int i = 0; i < 12; i++)
            await store.AppendAsync(queue, largest, Durability.Policy, Cancel);

        List<TestBatch.Entry> entries = await ReadAllAsync(store, queue, maxBytes: 1);

        Assert.Equal(12, entries.Count);
        Assert.All(entries, entry => Assert.Equal(largest.AsSpan(16), entry.Batch.AsSpan(16)));
        Assert.True(store.Figures.DiskReads > 0);
        Assert.True(store.Figures.MemoryReads > 0);
    }

    [Fact]
    public async Task GivenAWriterThatStands_WhenTheMemoryIsFull_ThenNoRoomAndWaitingEndsWhenItMovesOn()
    {
        using var gate = new Gate();
        await using QueueStore store = await OpenAsync(Small with { FlushPolicy = FlushPolicy.Async });
        QueueId queue = await OpenQueueAsync(store);
        Disk.OnWrite = (_, _) => gate.Pass();
        gate.Shut();
        byte[] batch = TestBatch.OfSize(20_000, 3);
        var waiters = new List<TestWaiter>();
        var items = new AppendItem[1];
        while (true)
        {
            items[0] = new AppendItem { Queue = queue, Batch = batch };
            var waiter = new TestWaiter();
            if (store.Append(items, Durability.Policy, waiter) == AppendStatus.NoRoom)
                break;
            waiters.Add(waiter);
        }
        Assert.InRange(waiters.Count, 5, 12);
        Task room = store.WaitForRoomAsync(Cancel).AsTask();
        using var impatient = new CancellationTokenSource();
        Task given = store.WaitForRoomAsync(impatient.Token).AsTask();
        await impatient.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => given);
        Assert.False(room.IsCompleted);

        gate.Open();
        await room;
        var last = new TestWaiter();
        Assert.Equal(AppendStatus.Accepted, store.Append(items, Durability.Policy, last));
        await last.Task;
        await Task.WhenAll(waiters.Select(waiter => waiter.Task));
        Assert.All(waiters, waiter => Assert.Equal(1, waiter.Calls));
        Assert.Equal(waiters.Count + 1, (await ReadAllAsync(store, queue, 0)).Count);
    }

    [Fact]
    public async Task GivenAnOpenStore_WhenASecondOpensTheFolder_ThenItIsRefusedAndTheFirstGoesOn()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);

        DiskException locked = await Assert.ThrowsAsync<DiskException>(() => OpenAsync());

        Assert.Equal(DiskFault.Locked, locked.Fault);
        await AppendAsync(store, queue, "still here");
    }

    [Fact]
    public async Task GivenAClosedStore_WhenUsed_ThenEverythingSaysSoAndCompletionIsOver()
    {
        QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        await store.DisposeAsync();
        await store.DisposeAsync();

        await store.Completion;
        await FailsAsync(ErrorCode.ShuttingDown, AppendAsync(store, queue, "late"));
        await FailsAsync(ErrorCode.ShuttingDown, store.AppendStateAsync([MemoryState.Entry("a", "b")], Cancel));
        Assert.True(File.Exists(Path.Combine(Folder, "clean")));
    }

    [Fact]
    public async Task GivenTheLimitOfQueues_WhenOneMoreIsOpened_ThenTooManyQueuesAndRemovedOnesFreeTheirPlace()
    {
        await using QueueStore store = await OpenAsync(Small with { MaxQueues = 2 });
        QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 2, [], Cancel);
        await FailsAsync(ErrorCode.TooManyQueues, store.OpenQueuesAsync(TopicId.NewId(), 0, 1, [], Cancel));

        await store.RemoveQueuesAsync([queues[0]], [MemoryState.Entry("removed", "1")], Cancel);

        QueueId next = await OpenQueueAsync(store);
        Assert.True(next.Value > queues[1].Value);
        Assert.Equal("1", State["removed"]);
        Assert.False(store.TryGetQueue(queues[0], out _));
        Assert.Equal([queues[1], next], store.Queues.Select(queue => queue.Id));
        await FailsAsync(ErrorCode.UnknownQueue, AppendAsync(store, queues[0], "gone"));
        Assert.Equal(ErrorCode.UnknownQueue, (await ReadAsync(store, queues[0], 0)).Result.Error);
    }

    [Theory]
    [InlineData(-1, 0)]
    [InlineData(4, 3)]
    public async Task GivenAnOffsetOutsideTheQueue_WhenRead_ThenOutOfRangeWithTheNearest(long from, long nearest)
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, "a", "b", "c");

        (ReadResult result, List<TestBatch.Entry> entries) = await ReadAsync(store, queue, from);

        Assert.Equal(ErrorCode.OffsetOutOfRange, result.Error);
        Assert.Equal((0, 3, nearest), (result.Start.Value, result.VisibleEnd.Value, result.NextOffset.Value));
        Assert.Empty(entries);
        Assert.Equal(ErrorCode.None, (await ReadAsync(store, queue, 3)).Result.Error);
        Assert.Equal(0, Assert.Single((await ReadAsync(store, queue, 2)).Entries).FirstOffset);
    }

    public static TheoryData<string, Func<StoreOptions, StoreOptions>> BadOptions => new()
    {
        { "DataDirectory", options => options with { DataDirectory = " " } },
        { "FlushPolicy", options => options with { FlushPolicy = (FlushPolicy)9 } },
        { "SnapshotInterval", options => options with { SnapshotInterval = TimeSpan.FromDays(25) } },
        { "FlushInterval", options => options with { FlushInterval = TimeSpan.Zero } },
        { "SegmentSizeBytes", options => options with { SegmentSizeBytes = 1000 } },
        { "SegmentSizeBytes", options => options with { SegmentSizeBytes = 3L << 30 } },
        { "SegmentMaxAge", options => options with { SegmentMaxAge = TimeSpan.Zero } },
        { "TailMemoryBytes", options => options with { TailMemoryBytes = 1 } },
        { "MaxBatchBytes", options => options with { MaxBatchBytes = 200 << 10 } },
        { "MaxBatchBytes", options => options with { MaxBatchBytes = 1 } },
        { "ReserveBytes", options => options with { ReserveBytes = -1 } },
        { "SnapshotInterval", options => options with { SnapshotInterval = TimeSpan.Zero } },
        { "SnapshotStateBytes", options => options with { SnapshotStateBytes = 1 } },
        { "MaxProducerBytes", options => options with { MaxProducerBytes = 1 } },
        { "MaxProducers", options => options with { MaxProducers = 0 } },
        { "MaxQueues", options => options with { MaxQueues = 0 } },
        { "ReaderThreads", options => options with { ReaderThreads = 0 } },
    };

    [Theory]
    [MemberData(nameof(BadOptions), DisableDiscoveryEnumeration = true)]
    public async Task GivenASettingOutOfRange_WhenOpened_ThenTheMessageNamesIt(
        string setting, Func<StoreOptions, StoreOptions> change)
    {
        ArgumentException bad = await Assert.ThrowsAsync<ArgumentException>(() => QueueStore.OpenAsync(
            change(Small), State, NullLoggerFactory.Instance, Time, Cancel));
        Assert.StartsWith(setting + " must be", bad.Message, StringComparison.Ordinal);
        Assert.False(Directory.Exists(Folder));
    }

    [Fact]
    public async Task GivenStoreKindsOrNoRecords_WhenStateIsAppended_ThenItIsRefused()
    {
        await using QueueStore store = await OpenAsync();
        byte[] key = [1];
        await Assert.ThrowsAsync<ArgumentException>(() =>
            store.AppendStateAsync([new StateEntry(5, key, key)], Cancel));
        await Assert.ThrowsAsync<ArgumentException>(() => store.AppendStateAsync([], Cancel));
        byte[] huge = new byte[1 << 20];
        await Assert.ThrowsAsync<ArgumentException>(() =>
            store.AppendStateAsync([new StateEntry(64, key, huge)], Cancel));
    }
}
