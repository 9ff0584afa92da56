namespace EQueue.MessageStore.Tests;

public sealed class WatchAndTimeTests : StoreTest
{
    [Theory]
    [InlineData(FlushPolicy.Sync)]
    [InlineData(FlushPolicy.Async)]
    public async Task GivenAWatch_WhenAMessageBecomesVisible_ThenItIsToldOnceAndCanReadIt(FlushPolicy policy)
    {
        await using QueueStore store = await OpenAsync(Small with { FlushPolicy = policy });
        QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 2, [], Cancel);
        for (int i = 0; i < 30; i++)
        {
            var signal = new TestSignal();
            Assert.True(store.Watch(queues[0], new QueueOffset(i), signal));
            await AppendAsync(store, queues[1], "other");
            Assert.False(signal.Task.IsCompleted);

            _ = AppendAsync(store, queues[0], "mine");
            Assert.Equal(queues[0], await signal.Task.WaitAsync(Cancel));
            Assert.Single(await ReadAllAsync(store, queues[0], i));
            Assert.Equal(1, signal.Calls);
        }
        Assert.False(store.Watch(queues[0], new QueueOffset(29), new TestSignal()));
        Assert.False(store.Watch(new QueueId(99), new QueueOffset(0), new TestSignal()));
    }

    [Fact]
    public async Task GivenWatchersThatWatchAgainAtOnce_WhenMessagesCome_ThenEachIsToldOfEach()
    {
        await using QueueStore store = await OpenAsync(Small with { FlushPolicy = FlushPolicy.Async });
        QueueId queue = await OpenQueueAsync(store);
        FollowingSignal[] signals = [new(store), new(store), new(store)];
        foreach (FollowingSignal signal in signals)
            Assert.True(store.Watch(queue, new QueueOffset(0), signal));

        for (int i = 0; i < 100; i++)
        {
            await AppendAsync(store, queue, "a");
            foreach (FollowingSignal signal in signals)
                await signal.WaitForAsync(i + 1, Cancel);
        }
    }

    [Fact]
    public async Task GivenAMessageStagedAndNotDurable_WhenWatched_ThenTheWatcherIsToldByTheSync()
    {
        using var gate = new Gate();
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        Disk.OnSync = _ => gate.Pass();
        gate.Shut();
        Task append = AppendAsync(store, queue, "a");
        await gate.Reached.WaitAsync(Cancel);
        var signal = new TestSignal();

        Assert.True(store.Watch(queue, new QueueOffset(0), signal));
        Assert.False(signal.Task.IsCompleted);
        gate.Open();

        await signal.Task.WaitAsync(Cancel);
        await append;
    }

    [Fact]
    public async Task GivenAWatchTakenBackOrAQueueRemoved_WhenSomethingHappens_ThenOnlyTheRemovalIsTold()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        var left = new TestSignal();
        var stays = new TestSignal();
        Assert.True(store.Watch(queue, new QueueOffset(0), left));
        store.Unwatch(queue, left);
        await AppendAsync(store, queue, "a");
        Assert.Equal(0, left.Calls);

        Assert.True(store.Watch(queue, new QueueOffset(1), stays));
        await store.RemoveQueuesAsync([queue], [], Cancel);
        await stays.Task.WaitAsync(Cancel);
        Assert.Equal(0, left.Calls);
    }

    [Theory]
    [InlineData(1 << 20)]
    [InlineData(64 << 10)]
    public async Task GivenStoredTimes_WhenAskedByTime_ThenTheFirstMessageAtOrAfterIsFound(int segmentSize)
    {
        var time = new ManualTime(1_000_000);
        Time = time;
        StoreOptions options = Small with { SegmentSizeBytes = segmentSize, MaxBatchBytes = 16 << 10 };
        QueueId queue, empty;
        await using (QueueStore store = await OpenAsync(options))
        {
            QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 2, [], Cancel);
            (queue, empty) = (queues[0], queues[1]);
            for (int i = 0; i < 50; i++)
            {
                time.UnixMs = 1_000_000 + (i * 100);
                await AppendAsync(store, queue, new string('x', 4000), $"{i}");
            }
            await Check(store);
        }
        State = new MemoryState();
        await using QueueStore again = await OpenAsync(options);
        await Check(again);

        async Task Check(QueueStore store)
        {
            var expected = new (long Ms, long Offset)[]
            {
                (0, 0), (1_000_000, 0), (1_000_001, 2), (1_002_500, 50), (1_004_900, 98), (1_004_901, 100),
            };
            foreach ((long ms, long offset) in expected)
                Assert.Equal(offset, (await store.FindOffsetAsync(queue, ms, Cancel)).Value);
            Assert.Equal(0, (await store.FindOffsetAsync(empty, 5, Cancel)).Value);
            await FailsAsync(ErrorCode.UnknownQueue, Task.Run(async () =>
                await store.FindOffsetAsync(new QueueId(99), 5, Cancel)));
        }
    }

    [Theory]
    [InlineData(1 << 20)]
    [InlineData(64 << 10)]
    public async Task GivenStoredTimes_WhenAskedByOffset_ThenTheTimeOfItsBatchIsTold(int segmentSize)
    {
        var time = new ManualTime(1_000_000);
        Time = time;
        StoreOptions options = Small with { SegmentSizeBytes = segmentSize, MaxBatchBytes = 16 << 10 };
        QueueId queue, empty;
        await using (QueueStore store = await OpenAsync(options))
        {
            QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 2, [], Cancel);
            (queue, empty) = (queues[0], queues[1]);
            for (int i = 0; i < 50; i++)
            {
                time.UnixMs = 1_000_000 + (i * 100);
                await AppendAsync(store, queue, new string('x', 4000), $"{i}");
            }
            await Check(store);
        }
        State = new MemoryState();
        await using QueueStore again = await OpenAsync(options);
        await Check(again);
        await again.MoveStartsAsync([(queue, new QueueOffset(20))], Cancel);
        Assert.Equal(1_001_000, await again.FindStoredTimeAsync(queue, new QueueOffset(0), Cancel));

        async Task Check(QueueStore store)
        {
            for (int offset = 0; offset < 100; offset++)
            {
                long? found = await store.FindStoredTimeAsync(queue, new QueueOffset(offset), Cancel);
                Assert.Equal(1_000_000 + (offset / 2 * 100), found);
            }
            Assert.Null(await store.FindStoredTimeAsync(queue, new QueueOffset(100), Cancel));
            Assert.Null(await store.FindStoredTimeAsync(empty, new QueueOffset(0), Cancel));
            await FailsAsync(ErrorCode.UnknownQueue, Task.Run(async () =>
                await store.FindStoredTimeAsync(new QueueId(99), new QueueOffset(0), Cancel)));
        }
    }

    [Fact]
    public async Task GivenAClockThatStepsBack_WhenAppending_ThenStoredTimeStandsStill()
    {
        var time = new ManualTime(5_000);
        Time = time;
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        var times = new List<long>();
        foreach (long ms in new[] { 5_000, 4_000, 4_999, 5_001, 1 })
        {
            time.UnixMs = ms;
            times.Add((await store.AppendAsync(queue, TestBatch.Of("a"), Durability.Policy, Cancel)).StoredTimeMs);
        }

        Assert.Equal([5_000, 5_000, 5_000, 5_001, 5_001], times);
        Assert.Equal(times, (await ReadAllAsync(store, queue)).Select(entry => entry.StoredTimeMs));
    }

    [Fact]
    public async Task GivenAnOldSegment_WhenAppending_ThenItRollsByAge()
    {
        var time = new ManualTime(1_000);
        Time = time;
        await using QueueStore store = await OpenAsync(Small with { SegmentMaxAge = TimeSpan.FromMinutes(1) });
        QueueId queue = await OpenQueueAsync(store);
        time.UnixMs += 61_000;
        int appends = 0;
        while (store.Figures.Segments == 1)
        {
            // The first append after the age asks for the next file and goes on in this one.
            Assert.True(++appends < 10_000);
            await AppendAsync(store, queue, "a");
        }
        Assert.Equal(appends, (await ReadAllAsync(store, queue)).Count);
    }
}
