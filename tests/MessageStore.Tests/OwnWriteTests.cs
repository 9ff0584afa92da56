namespace EQueue.MessageStore.Tests;

/// <summary>Appenders that write themselves while the writer rests.</summary>
public sealed class OwnWriteTests : StoreTest
{
    private StoreOptions AsyncFlush => Small with { FlushPolicy = FlushPolicy.Async };

    [Fact]
    public async Task GivenAWriterThatRests_WhenAnAppenderMayWrite_ThenItIsAnsweredBeforeTheCallReturns()
    {
        await using QueueStore store = await OpenAsync(AsyncFlush);
        QueueId queue = await OpenQueueAsync(store);
        int own = 0;
        int sent = 0;
        long deadline = Environment.TickCount64 + 20_000;
        while (own < 20)
        {
            Assert.True(Environment.TickCount64 < deadline, $"{own} of {sent} were written by the appender");
            var waiter = new TestWaiter();
            AppendItem[] items = [new AppendItem { Queue = queue, Batch = TestBatch.Of($"body {sent++}") }];
            int thread = Environment.CurrentManagedThreadId;
            bool isOwn = false;
            Disk.OnWrite = (_, _) => isOwn = Environment.CurrentManagedThreadId == thread;
            Assert.Equal(AppendStatus.Accepted, store.Append(items, Durability.Policy, waiter, mayWrite: true));
            Assert.True(!isOwn || waiter.Task.IsCompletedSuccessfully);
            await waiter.Task.WaitAsync(TimeSpan.FromSeconds(20), Cancel);
            Disk.OnWrite = null;
            Assert.Equal(1, waiter.Calls);
            own += isOwn ? 1 : 0;
            await Task.Yield();
        }

        Assert.Equal(
            Enumerable.Range(0, sent).Select(i => $"body {i}"),
            (await ReadAllAsync(store, queue)).SelectMany(entry => entry.Bodies));
    }

    [Theory]
    [InlineData(FlushPolicy.Sync, 1)]
    [InlineData(FlushPolicy.Async, 20)]
    public async Task GivenSyncFlushOrMuchToWrite_WhenAnAppenderMayWrite_ThenTheWriterWritesAllTheSame(
        FlushPolicy policy, int batches)
    {
        await using QueueStore store = await OpenAsync(Small with { FlushPolicy = policy });
        QueueId queue = await OpenQueueAsync(store);
        int own = 0;
        int thread = Environment.CurrentManagedThreadId;
        Disk.OnWrite = (_, _) => own += Environment.CurrentManagedThreadId == thread ? 1 : 0;
        AppendItem[] items =
        [
            .. Enumerable.Range(0, batches).Select(
                i => new AppendItem { Queue = queue, Batch = TestBatch.OfSize(3000, i) }),
        ];
        var waiter = new TestWaiter();
        Assert.Equal(AppendStatus.Accepted, store.Append(items, Durability.Policy, waiter, mayWrite: true));
        Disk.OnWrite = null;
        await waiter.Task.WaitAsync(TimeSpan.FromSeconds(20), Cancel);
        Assert.Equal(0, own);
        Assert.Equal(batches, (await ReadAllAsync(store, queue)).Count);
    }

    [Fact]
    public async Task GivenAFailedWriteOfAnAppender_WhenAppending_ThenItIsToldAndTheStoreLatches()
    {
        QueueStore store = await OpenAsync(AsyncFlush);
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, "good");
        Disk.OnWrite = (path, _) => throw new DiskException(DiskFault.Io, path, "test", "the device is gone");
        var waiter = new TestWaiter();
        AppendItem[] items = [new AppendItem { Queue = queue, Batch = TestBatch.Of("bad") }];
        Assert.Equal(AppendStatus.Accepted, store.Append(items, Durability.Policy, waiter, mayWrite: true));
        EQueueException fault = await Assert.ThrowsAsync<EQueueException>(() => waiter.Task);
        Assert.Equal(ErrorCode.StoreFaulted, fault.Code);
        Assert.Equal(1, waiter.Calls);
        await Assert.ThrowsAsync<EQueueException>(() => store.Completion);
        Disk.OnWrite = null;
        Assert.Equal(AppendStatus.Nothing, store.Append(items, Durability.Policy, new TestWaiter(), mayWrite: true));
        Assert.Equal("good", Assert.Single(await ReadAllAsync(store, queue)).Bodies[0]);
        await store.DisposeAsync();
    }

    [Fact]
    public async Task GivenAFullDisk_WhenAnAppenderMayWrite_ThenItDoesNotWaitAndIsAnsweredWhenThereIsRoom()
    {
        await using QueueStore store = await OpenAsync(AsyncFlush);
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, "before");
        Action free = FillDisk();
        var waiter = new TestWaiter();
        AppendItem[] items = [new AppendItem { Queue = queue, Batch = TestBatch.Of("kept") }];
        Assert.Equal(AppendStatus.Accepted, store.Append(items, Durability.Policy, waiter, mayWrite: true));
        await Eventually(() => store.Figures.IsReadOnly);
        Assert.False(waiter.Task.IsCompleted);
        free();
        await waiter.Task.WaitAsync(TimeSpan.FromSeconds(20), Cancel);
        Assert.Equal(["before", "kept"], (await ReadAllAsync(store, queue)).SelectMany(entry => entry.Bodies));
    }

    [Fact]
    public async Task GivenManyAppendersThatMayWrite_WhenTheRingAndSegmentsGoRound_ThenAllIsThereOnceAndInOrder()
    {
        const int Appenders = 4;
        const int Batches = 2_000;
        await using (QueueStore store = await OpenAsync(AsyncFlush))
        {
            var queues = new QueueId[Appenders];
            for (int i = 0; i < Appenders; i++)
                queues[i] = await OpenQueueAsync(store);
            await Task.WhenAll(queues.Select(queue => Task.Run(() => AppendInTurnAsync(store, queue, Batches))));
            foreach (QueueId queue in queues)
                await AssertAllAsync(store, queue, Batches);
        }

        await using QueueStore again = await OpenAsync(AsyncFlush);
        foreach (QueueView view in again.Queues.Where(view => view.End.Value > 0))
            await AssertAllAsync(again, view.Id, Batches);
    }

    private static async Task AppendInTurnAsync(QueueStore store, QueueId queue, int batches)
    {
        for (int i = 0; i < batches; i++)
        {
            var waiter = new TestWaiter();
            AppendItem[] items = [new AppendItem { Queue = queue, Batch = TestBatch.Of($"{i}".PadRight(i % 900)) }];
            while (store.Append(items, Durability.Policy, waiter, mayWrite: i % 3 != 0) == AppendStatus.NoRoom)
                await store.WaitForRoomAsync(Cancel);
            await waiter.Task.WaitAsync(TimeSpan.FromSeconds(20), Cancel);
        }
    }

    private static async Task AssertAllAsync(QueueStore store, QueueId queue, int batches) => Assert.Equal(
        Enumerable.Range(0, batches).Select(i => $"{i}".PadRight(i % 900)),
        (await ReadAllAsync(store, queue)).SelectMany(entry => entry.Bodies));
}
