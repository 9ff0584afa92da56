using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>The same store over memory, up to a bound.</summary>
public sealed class MemoryStoreTests : StoreTest
{
    private const int BodySize = 10_000;

    public static TheoryData<FlushPolicy> Policies { get; } = [FlushPolicy.Sync, FlushPolicy.Async];

    private MemoryDisk Memory { get; } = new(8 << 20);

    private StoreOptions InMemory => new()
    {
        DataDirectory = Folder,
        Disk = Memory,
        TailMemoryBytes = 256 << 10,
        MaxBatchBytes = 64 << 10,
    };

    [Theory]
    [MemberData(nameof(Policies))]
    public async Task GivenAStoreInMemory_WhenFilledOverManySegmentsAndReopened_ThenEverythingIsThere(
        FlushPolicy policy)
    {
        StoreOptions options = InMemory with { FlushPolicy = policy };
        QueueId[] queues;
        Guid id;
        await using (QueueStore store = await OpenAsync(options))
        {
            id = store.StoreId;
            queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 3, [], Cancel);
            await AppendManyAsync(store, queues, 0, 150);
            await store.AppendStateAsync([MemoryState.Entry("commit", "17")], Cancel);
            Assert.True(store.Figures.Segments > 4);
            await CheckAsync(store, queues, 150);
            Assert.True(store.Figures.DiskReads > 0);
        }

        for (int opening = 1; opening <= 2; opening++)
        {
            State = new MemoryState();
            await using QueueStore again = await OpenAsync(options);
            Assert.Equal((id, "17"), (again.StoreId, State["commit"]));
            await CheckAsync(again, queues, 150 * opening);
            await AppendManyAsync(again, queues, 150 * opening, 150);
            await CheckAsync(again, queues, 150 * (opening + 1));
        }

        Assert.False(Directory.Exists(Folder));
    }

    [Fact]
    public async Task GivenProducersInMemory_WhenABatchIsSentAgainAfterReopening_ThenItIsADuplicate()
    {
        QueueId queue;
        ProducerSession producer;
        await using (QueueStore store = await OpenAsync(InMemory))
        {
            queue = await OpenQueueAsync(store);
            producer = await store.InitProducerAsync(ProducerSession.None, Cancel);
            await store.AppendAsync(queue, TestBatch.Of(producer, 0, "a", "b"), Durability.Policy, Cancel);
        }

        State = new MemoryState();
        await using QueueStore again = await OpenAsync(InMemory);
        var items = new AppendItem[] { new() { Queue = queue, Batch = TestBatch.Of(producer, 0, "a", "b") } };
        var waiter = new TestWaiter();
        Assert.Equal(AppendStatus.Accepted, again.Append(items, Durability.Durable, waiter));
        await waiter.Task;
        Assert.Equal((ErrorCode.DuplicateSequence, 0), (items[0].Error, items[0].FirstOffset.Value));
        Assert.Equal(["a", "b"], Assert.Single(await ReadAllAsync(again, queue)).Bodies);
    }

    [Fact]
    public async Task GivenAStoreInMemory_WhenASecondOpensIt_ThenItIsLocked()
    {
        await using QueueStore store = await OpenAsync(InMemory);
        DiskException locked = await Assert.ThrowsAsync<DiskException>(() => OpenAsync(InMemory));
        Assert.Equal(DiskFault.Locked, locked.Fault);
    }

    [Theory]
    [EffectOf("Store:Memory")]
    [MemberData(nameof(Policies))]
    public async Task GivenMemoryThatFillsUp_WhenRejecting_ThenStorageFullComesAtTheBoundAndStateAndReadsGoOn(
        FlushPolicy policy)
    {
        await using QueueStore store = await OpenAsync(InMemory with { FlushPolicy = policy });
        QueueId queue = await OpenQueueAsync(store);
        int stored = await FillAsync(store, queue);

        // Two segments of 256 KiB are the reserve, at most two more are not full yet; each has an index and a header.
        Assert.InRange((long)stored * BodySize, Memory.LimitBytes * 3 / 4, Memory.LimitBytes);
        await FailsAsync(ErrorCode.StorageFull, AppendAsync(store, queue, "refused"));
        for (int i = 0; i < 100; i++)
            await store.AppendStateAsync([MemoryState.Entry("commit", $"{i}")], Cancel);

        Assert.Equal(stored, (await ReadAllAsync(store, queue)).Count);
        Assert.InRange(Memory.UsedBytes, 0, Memory.LimitBytes);
        Assert.False(store.Completion.IsCompleted);
    }

    [Fact]
    public async Task GivenMemoryThatIsFull_WhenReopenedAndRoomComes_ThenEverythingIsThereAndMessagesAreTakenAgain()
    {
        IDiskFile other = TakeRoom();
        QueueId queue;
        int stored;
        await using (QueueStore store = await OpenAsync(InMemory))
        {
            queue = await OpenQueueAsync(store);
            stored = await FillAsync(store, queue);
        }

        State = new MemoryState();
        await using QueueStore again = await OpenAsync(InMemory);
        Assert.Equal(stored, (await ReadAllAsync(again, queue)).Count);
        stored += await FillAsync(again, queue);
        other.Dispose();
        await Eventually(() => !again.Figures.IsReadOnly);
        await AppendAsync(again, queue, "accepted");
        Assert.Equal(stored + 1, (await ReadAllAsync(again, queue)).Count);
    }

    [Fact]
    public async Task GivenMemoryThatIsFull_WhenStartsMove_ThenSegmentsGoAndMessagesAreTakenAgain()
    {
        await using QueueStore store = await OpenAsync(InMemory);
        QueueId queue = await OpenQueueAsync(store);
        int stored = await FillAsync(store, queue);
        await store.MoveStartsAsync([(queue, new QueueOffset(stored - 100))], Cancel);
        await Eventually(() => !store.Figures.IsReadOnly && store.Figures.SegmentsRemoved > 0);
        int more = await FillAsync(store, queue);

        // How many segments had gone by then is a matter of time: those that recovery could need stay for a while.
        Assert.InRange(more, stored / 8, stored);
        Assert.Equal(100 + more, (await ReadAllAsync(store, queue, stored - 100)).Count);
        Assert.InRange(Memory.UsedBytes, 0, Memory.LimitBytes);
    }

    [Theory]
    [MemberData(nameof(Policies))]
    public async Task GivenMemoryThatFillsUp_WhenTheOldestGoOut_ThenEveryAppendIsTakenAndTheYoungestAreThere(
        FlushPolicy policy)
    {
        const int Count = 2_500;
        QueueId queue;
        await using (QueueStore filled =
            await OpenAsync(InMemory with { FlushPolicy = policy, MemoryFull = MemoryFull.OldestOut }))
        {
            queue = await OpenQueueAsync(filled);
            for (int i = 0; i < Count; i++)
            {
                // Nobody waits until the next snapshot is due: recovery's needs are seen to when room is wanted.
                await filled.AppendAsync(queue, TestBatch.OfSize(BodySize, i), Durability.Policy, Cancel)
                    .AsTask().WaitAsync(InMemory.SnapshotInterval / 4, Cancel);
            }
        }

        // Opened anew it lets no more go: right after the last append the oldest may still be on their way out.
        State = new MemoryState();
        await using QueueStore store = await OpenAsync(InMemory with { FlushPolicy = policy });
        Assert.True(store.TryGetQueue(queue, out QueueView view));
        Assert.InRange(view.Start.Value, Count / 2, Count - 1);
        Assert.InRange((Count - view.Start.Value) * BodySize, Memory.LimitBytes / 4, Memory.LimitBytes);
        Assert.Equal(Count - view.Start.Value, (await ReadAllAsync(store, queue, view.Start.Value)).Count);
        Assert.InRange(Memory.UsedBytes, 0, Memory.LimitBytes);
    }

    [Fact]
    [EffectOf("Store:MemoryFull")]
    public async Task GivenMemoryThatFillsUp_WhenBlocking_ThenAppendsWaitForRoomAndEachIsStoredOnce()
    {
        const int Count = 580;
        IDiskFile other = TakeRoom();
        await using QueueStore store = await OpenAsync(InMemory with { MemoryFull = MemoryFull.Block });
        QueueId queue = await OpenQueueAsync(store);
        int stored = 0;
        var appending = Task.Run(
            async () =>
            {
                for (; stored < Count; stored++)
                    await store.AppendAsync(queue, TestBatch.OfSize(BodySize, stored), Durability.Policy, Cancel);
            },
            Cancel);
        await Eventually(() => store.Figures.IsReadOnly);
        Assert.False(appending.IsCompleted);
        Assert.InRange((long)stored * BodySize, Memory.LimitBytes / 4, Memory.LimitBytes / 2);

        other.Dispose();
        await appending.WaitAsync(TimeSpan.FromSeconds(60), Cancel);
        Assert.Equal(Count, (await ReadAllAsync(store, queue)).Count);
        Assert.InRange(Memory.UsedBytes, 0, Memory.LimitBytes);
    }

    [Fact]
    public async Task GivenNoRoom_WhenBlocking_ThenMessagesWaitStateGoesOnAndWhoGivesUpIsNotStored()
    {
        IDiskFile other = TakeRoom();
        await using QueueStore store = await OpenBlockedAsync(Memory.LimitBytes * 5 / 8);
        QueueId queue = await OpenQueueAsync(store);
        var refused = new AppendItem[] { new() { Queue = queue, Batch = TestBatch.Of("refused") } };
        Assert.Equal(AppendStatus.NoRoom, store.Append(refused, Durability.Policy, new TestWaiter()));
        Task blocked = AppendAsync(store, queue, "blocked");
        using var givenUp = new CancellationTokenSource();
        Task leaving = store.AppendAsync(queue, TestBatch.Of("left"), Durability.Policy, givenUp.Token).AsTask();
        await store.AppendStateAsync([MemoryState.Entry("commit", "1")], Cancel);
        Assert.Equal("1", State["commit"]);
        await givenUp.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => leaving);
        Assert.False(blocked.IsCompleted);

        other.Dispose();
        await blocked.WaitAsync(TimeSpan.FromSeconds(30), Cancel);
        Assert.Equal(["blocked"], (await ReadAllAsync(store, queue)).SelectMany(entry => entry.Bodies));
    }

    [Fact]
    public async Task GivenAppendsThatAreBlocked_WhenTheStoreCloses_ThenTheyAreToldAndItCloses()
    {
        QueueStore store = await OpenBlockedAsync(2 * Memory.LimitBytes);
        Task blocked = AppendAsync(store, await OpenQueueAsync(store), "blocked");
        await store.DisposeAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(30), Cancel);
        await FailsAsync(ErrorCode.ShuttingDown, blocked);
    }

    [Fact]
    public async Task GivenDefaultSettingsOver64MiB_WhenFilled_ThenMostOfItHoldsMessages()
    {
        var memory = new MemoryDisk(64 << 20);
        await using QueueStore store = await OpenAsync(new StoreOptions { DataDirectory = Folder, Disk = memory });
        QueueId queue = await OpenQueueAsync(store);
        byte[] batch = TestBatch.OfSize(1 << 20, 1);
        int stored = 0;
        try
        {
            for (; stored < 64; stored++)
                await store.AppendAsync(queue, batch, Durability.Policy, Cancel);
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.StorageFull)
        {
            Assert.InRange(stored, 40, 60);
        }

        Assert.Equal(stored, (await ReadAllAsync(store, queue, maxBytes: 4 << 20)).Count);
        Assert.InRange(memory.UsedBytes, 0, memory.LimitBytes);
        Assert.Equal(0, store.Figures.ScrubPasses);
    }

    [Fact]
    public void GivenSettingsThatDoNotFitTheMemory_WhenValidated_ThenTheyAreNamed()
    {
        var small = new StoreOptions { DataDirectory = Folder, Disk = new MemoryDisk(32 << 20) };
        Assert.Contains(
            nameof(StoreOptions.MaxBatchBytes), Assert.Throws<ArgumentException>(small.Validate).Message,
            StringComparison.Ordinal);
        (small with { Disk = new MemoryDisk(33 << 20) }).Validate();
        Assert.Contains(
            nameof(StoreOptions.MemoryFull),
            Assert.Throws<ArgumentException>((Small with { MemoryFull = MemoryFull.Block }).Validate).Message,
            StringComparison.Ordinal);
        Assert.Throws<ArgumentOutOfRangeException>(() => new MemoryDisk(1_000));
        StoreOptions large = (small with { Disk = new MemoryDisk(1L << 30) }).FitToDisk();
        Assert.Equal((32L << 20, 64L << 20), (large.SegmentSizeBytes, large.ReserveBytes));
        (large with { SegmentSizeBytes = 512 << 20, MaxLogBytes = 64 << 20 }).Validate();
    }

    private static async Task AppendManyAsync(QueueStore store, QueueId[] queues, int first, int count)
    {
        for (int i = first; i < first + count; i++)
        {
            byte[] batch = TestBatch.Of($"message {i}", new string('x', 9_000));
            await store.AppendAsync(queues[i % queues.Length], batch, Durability.Policy, Cancel);
        }
    }

    private static async Task CheckAsync(QueueStore store, QueueId[] queues, int count)
    {
        for (int which = 0; which < queues.Length; which++)
        {
            List<TestBatch.Entry> entries = await ReadAllAsync(store, queues[which]);
            IEnumerable<string> expected = Enumerable.Range(0, count).Where(i => i % queues.Length == which)
                .Select(i => $"message {i}");
            Assert.Equal(expected, entries.Select(entry => entry.Bodies[0]));
        }
    }

    /// <summary>Opens a store that keeps back more than is free, and waits until it has seen that.</summary>
    private async Task<QueueStore> OpenBlockedAsync(long reserveBytes)
    {
        QueueStore store =
            await OpenAsync(InMemory with { MemoryFull = MemoryFull.Block, ReserveBytes = reserveBytes });
        await Eventually(() => store.Figures.IsReadOnly);
        return store;
    }

    /// <summary>Appends until messages are refused.</summary>
    private static async Task<int> FillAsync(QueueStore store, QueueId queue)
    {
        for (int stored = 0; ; stored++)
        {
            Assert.True(stored < 2_000, "the memory must be full at some time");
            try
            {
                await store.AppendAsync(queue, TestBatch.OfSize(BodySize, stored), Durability.Policy, Cancel);
            }
            catch (EQueueException exception)
            {
                Assert.Equal((ErrorCode.StorageFull, true), (exception.Code, exception.IsRetriable));
                return stored;
            }
        }
    }

    /// <summary>Somebody else holds half of the memory until the result is disposed.</summary>
    private IDiskFile TakeRoom()
    {
        Memory.CreateDirectory("/other");
        IDiskFile file = Memory.Open("/other/file", DiskOpen.CreateNew);
        file.Preallocate(0, Memory.LimitBytes / 2);
        return file;
    }
}
