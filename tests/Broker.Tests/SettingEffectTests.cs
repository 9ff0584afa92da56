using System.Collections.Concurrent;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>What settings of the broker do that no test of its parts shows by itself.</summary>
public sealed class SettingEffectTests
{
    [Fact]
    [EffectOf("Limits:MaxConnections")]
    public async Task GivenAsManyConnectionsAsMayBe_WhenOneMoreComes_ThenItIsClosedAndTakenWhenOneIsGone()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { MaxConnections = 2 } });
        await using TestPeer peer = await broker.ConnectAsync();
        using (RawConnection second = await RawConnection.ConnectAsync(broker.EndPoint))
        {
            await second.SayHelloAsync();
            using RawConnection third = await RawConnection.ConnectAsync(broker.EndPoint);
            await Assert.ThrowsAnyAsync<Exception>(third.SayHelloAsync);
            Assert.Equal(2, await peer.FigureAsync("broker.connections"));
        }

        await Eventually.TrueAsync(async () => await peer.FigureAsync("broker.connections") == 1);

        // Its place is free a moment after the figure says so.
        await Eventually.TrueAsync(async () =>
        {
            using RawConnection again = await RawConnection.ConnectAsync(broker.EndPoint);
            return await Record.ExceptionAsync(again.SayHelloAsync) is null;
        });
    }

    [Fact]
    [EffectOf("Limits:ProducerBytes")]
    public async Task GivenTheMemoryOfProducers_WhenOneSendsToManyQueues_ThenItBeginsAnewBeyond()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { ProducerBytes = 64 << 10 } });
        await using TestPeer peer = await broker.ConnectAsync();
        TopicDescription topic = await peer.CreateTopicAsync("orders", 100);
        ProducerSession producer =
            (await peer.InvokeAsync(new InitProducerRequest(null, ProducerSession.None))).Session;
        ProduceResult[] results = await peer.ProduceAsync(
            Durability.Policy,
            [.. topic.Queues.Take(70).Select(queue => (queue.Id, Messages.Batch(producer, 0, "a")))]);
        Assert.All(results, result => Assert.Equal(ErrorCode.None, result.Error));
        results = await peer.ProduceAsync(
            Durability.Policy,
            [.. topic.Queues.Skip(70).Select(queue => (queue.Id, Messages.Batch(producer, 0, "a")))]);
        Assert.Equal(ErrorCode.UnknownProducer, results[^1].Error);
        Assert.InRange(await peer.FigureAsync("memory.usedBytes{producers}"), 60_000, 66_000);
    }

    [Fact]
    [EffectOf("Limits:AdminBytes")]
    public async Task GivenTheMemoryOfTheAdminPort_WhenItIsTaken_ThenTheNextWaitsAndTheLargestIsAlone()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { AdminBytes = 4 << 20 } });
        await broker.Broker.TakeAdminMemoryAsync(3 << 20, CancellationToken.None);
        Task large = broker.Broker.TakeAdminMemoryAsync(100 << 20, CancellationToken.None).AsTask();
        Task small = broker.Broker.TakeAdminMemoryAsync(1 << 20, CancellationToken.None).AsTask();
        Assert.False(large.IsCompleted || small.IsCompleted);
        broker.Broker.GiveAdminMemory(3 << 20);
        await large;
        Assert.False(small.IsCompleted);
        broker.Broker.GiveAdminMemory(100 << 20);
        await small;
        broker.Broker.GiveAdminMemory(1 << 20);
    }

    [Fact]
    [EffectOf("Limits:MaxFetchBytes")]
    public async Task GivenTheMostOfAFetchAnswer_WhenMoreIsAskedFor_ThenTheAnswerEndsThere()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { MaxFetchBytes = 64 << 10 } });
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        for (int i = 0; i < 10; i++)
            await peer.ProduceAsync(queue, new string('x', 20_000));
        FetchRequest all = Messages.Open(0, Messages.From(queue, 0, 8 << 20)) with { MaxBytes = 8 << 20 };
        Assert.Equal(3, (await peer.FetchAsync(all)).Bodies.Count());
    }

    [Fact]
    [EffectOf("Limits:MaxProduceWait")]
    public async Task GivenNoRoomInTheStore_WhenTheLongestWaitOfARequestPasses_ThenTimeoutIsAnswered()
    {
        var disk = new FaultyDisk();
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(options with
        {
            Store = options.Store with { Disk = disk },
            Limits = options.Limits with { MaxProduceWait = TimeSpan.FromMilliseconds(200) },
        });
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        byte[] batch = Messages.Batch(ProducerSession.None, -1, new byte[1 << 20]);
        disk.HoldWrites();
        List<Task<ProduceResult[]>> sends =
            [.. Enumerable.Range(0, 20).Select(_ => peer.ProduceAsync(Durability.Policy, (queue, batch)))];
        try
        {
            await Eventually.TrueAsync(() => Task.FromResult(sends.Exists(send => send.IsCompleted)));
            Assert.Equal(ErrorCode.Timeout, Assert.Single(await sends.First(send => send.IsCompleted)).Error);
        }
        finally
        {
            disk.ReleaseWrites();
        }

        await Task.WhenAll(sends);
    }

    [Fact]
    [EffectOf("Topics:QueueCount", "Topics:RetentionAge", "Topics:RetentionBytes")]
    public async Task GivenWhatTopicsAreMadeOf_WhenOneIsMade_ThenItHasThatUnlessItsMakerSays()
    {
        await using TestBroker broker = await TestBroker.StartAsync(TestBroker.SmallOptions() with
        {
            Topics = new TopicOptions { QueueCount = 7, RetentionAge = TimeSpan.FromHours(5), RetentionBytes = 12345 },
        });
        await using TestPeer peer = await broker.ConnectAsync();
        TopicDescription plain = await peer.InvokeAsync(new CreateTopicRequest("plain", TopicSettings.None));
        Assert.Equal(
            (7, TimeSpan.FromHours(5), 12345L),
            (plain.Queues.Count, plain.Settings.RetentionAge, plain.Settings.RetentionBytes));
        var said = new TopicSettings { QueueCount = 2, RetentionAge = TimeSpan.FromHours(1), RetentionBytes = 1 };
        TopicDescription own = await peer.InvokeAsync(new CreateTopicRequest("own", said));
        Assert.Equal(
            (2, TimeSpan.FromHours(1), 1L),
            (own.Queues.Count, own.Settings.RetentionAge, own.Settings.RetentionBytes));
    }

    [Fact]
    [EffectOf("Topics:RetentionInterval")]
    public async Task GivenARoundOfRetention_WhenMoreIsTooMuch_ThenItGoesAfterTheIntervalAndNotBefore()
    {
        var interval = TimeSpan.FromMinutes(30);
        var time = new ManualTime();
        await using TestBroker broker = await TestBroker.StartAsync(
            TestBroker.SmallOptions() with { Topics = new TopicOptions { RetentionInterval = interval } }, time);
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.InvokeAsync(new CreateTopicRequest(
            "orders", new TopicSettings { QueueCount = 1, RetentionCount = 1 }))).Queues[0].Id;

        // The first round comes soon after the start.
        await peer.ProduceAsync(queue, "a");
        await peer.ProduceAsync(queue, "b");
        await Eventually.TrueAsync(async () => await BeginAsync(peer, queue) == 1);

        // The clock runs some hundred times as fast as the loop that looks at it: it looks several times on the way.
        await peer.ProduceAsync(queue, "c");
        TimeSpan passed = TimeSpan.Zero;
        await Eventually.TrueAsync(async () =>
        {
            time.Jump(TimeSpan.FromSeconds(10));
            passed += TimeSpan.FromSeconds(10);
            return await BeginAsync(peer, queue) == 2;
        });
        Assert.True(passed >= 0.9 * interval, $"It went after {passed}.");
    }

    [Fact]
    [EffectOf("Groups:ExpiryInterval", "Telemetry:GroupInterval")]
    public async Task GivenIntervals_WhenTheBrokerRuns_ThenItsRoundsComeAtThem()
    {
        var time = new PeriodRecorder();
        TimeSpan[] intervals = [TimeSpan.FromSeconds(62), TimeSpan.FromSeconds(63)];
        await using TestBroker broker = await TestBroker.StartAsync(
            TestBroker.SmallOptions() with
            {
                Groups = new GroupOptions { ExpiryInterval = intervals[0] },
                Telemetry = new TelemetryOptions { GroupInterval = intervals[1] },
            },
            time);

        await Eventually.TrueAsync(() => Task.FromResult(intervals.All(time.Periods.ContainsKey)));
    }

    private static async Task<long> BeginAsync(TestPeer peer, QueueId queue)
    {
        FindOffsetsResponse found = await peer.InvokeAsync(new FindOffsetsRequest(
            [new OffsetQuestion(new QueueKey(0, queue), OffsetQuestion.Begin)]));
        return found.Answers[0].Offset.Value;
    }

    /// <summary>The system's clock, which notes with what periods its timers are set.</summary>
    private sealed class PeriodRecorder : TimeProvider
    {
        public ConcurrentDictionary<TimeSpan, bool> Periods { get; } = [];

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            Periods[period] = true;
            return new RecordedTimer(this, base.CreateTimer(callback, state, dueTime, period));
        }

        private sealed class RecordedTimer(PeriodRecorder time, ITimer timer) : ITimer
        {
            public bool Change(TimeSpan dueTime, TimeSpan period)
            {
                time.Periods[period] = true;
                return timer.Change(dueTime, period);
            }

            public void Dispose() => timer.Dispose();

            public ValueTask DisposeAsync() => timer.DisposeAsync();
        }
    }
}
