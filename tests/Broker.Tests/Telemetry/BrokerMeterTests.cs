using System.Diagnostics.Metrics;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests;

public sealed class BrokerMeterTests
{
    /// <summary>Figures that /stats and the meter both tell.</summary>
    private static readonly (string Metric, string Figure)[] Same =
    [
        ("equeue.store.appends", "store.appends"),
        ("equeue.store.batches", "store.appendedBatches"),
        ("equeue.store.messages", "store.appendedMessages"),
        ("equeue.store.duplicate_batches", "store.duplicateBatches"),
        ("equeue.store.write.size", "store.bytesWritten"),
        ("equeue.store.writes", "store.writes"),
        ("equeue.store.syncs", "store.fdatasyncs"),
        ("equeue.store.segments", "store.segments"),
        ("equeue.store.lost_segments", "store.segmentsLost"),
        ("equeue.store.removed_segments", "store.segmentsRemoved"),
        ("equeue.store.packed_segments", "store.segmentsPacked"),
        ("equeue.store.snapshots", "store.snapshots"),
        ("equeue.store.disk.free", "store.freeBytes"),
        ("equeue.store.read_only", "store.isReadOnly"),
        ("equeue.broker.connections", "broker.connections"),
        ("equeue.broker.requests", "broker.requests"),
        ("equeue.broker.refused_requests", "broker.refusedRequests"),
        ("equeue.broker.produce.requests", "broker.produceRequests"),
        ("equeue.broker.produce.refused_batches", "broker.refusedBatches"),
        ("equeue.broker.fetch.requests", "broker.fetchRequests"),
        ("equeue.broker.fetch.size", "broker.fetchedBytes"),
        ("equeue.broker.fetch_sessions", "broker.fetchSessions"),
        ("equeue.broker.commits", "broker.commits"),
        ("equeue.broker.fenced_commits", "broker.fencedCommits"),
        ("equeue.broker.topics", "broker.topics"),
        ("equeue.broker.queues", "broker.queues"),
        ("equeue.broker.groups", "broker.groups"),
        ("equeue.broker.group_members", "broker.groupMembers"),
        ("equeue.broker.queue_moves", "broker.queueMoves"),
        ("equeue.broker.sessions_ended", "broker.sessionsEnded"),
        ("equeue.broker.expired_groups", "broker.groupsExpired"),
        ("equeue.broker.throttled_requests", "broker.throttledRequests"),
    ];

    [Fact]
    public async Task GivenWork_WhenTheMeterIsAsked_ThenItTellsWhatTheFiguresTell()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        using MeterRecorder metrics = Listen(broker);
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders", 3)).Queues[0].Id;
        await peer.ProduceAsync(Durability.Durable, (queue, Messages.Batch("a", "b")), (queue, Messages.Batch("c")));
        await peer.FetchAsync(Messages.Open(0, Messages.From(queue, 0)));
        await peer.RefusalAsync(new DescribeTopicRequest("nothing"));
        await peer.InvokeAsync(Commit("billing", queue, 2));

        StatsResponse stats = broker.Broker.CollectStats();
        foreach ((string metric, string figure) in Same)
        {
            Recorded told = Assert.Single(metrics.Observe(metric));
            Assert.True(stats.Find(figure) == told.Value, $"{metric} is {told.Value}, {figure} {stats.Find(figure)}");
        }

        Assert.Equal(3, stats.Find("store.appendedMessages"));
        Assert.Equal(1, stats.Find("broker.refusedRequests"));
        Assert.Equal(
            (double?)stats.Find("store.visiblePosition"),
            Assert.Single(metrics.Observe("equeue.store.position", "equeue.watermark", "visible")).Value);
        Assert.Equal(
            (double?)stats.Find("store.memoryReads"),
            Assert.Single(metrics.Observe("equeue.store.reads", "equeue.read.source", "memory")).Value);
        Assert.Equal(
            16 << 20, Assert.Single(metrics.Observe("equeue.broker.memory.usage", "equeue.memory.pool", "tail")).Value);
        Assert.Equal(
            broker.Options.Limits.ReceiveBytes,
            Assert.Single(metrics.Observe("equeue.broker.memory.limit", "equeue.memory.pool", "receive")).Value);
        Assert.True(Assert.Single(metrics.Observe("equeue.broker.uptime")).Value > 0);
    }

    [Fact]
    public async Task GivenAFetchThatFindsNothing_WhenItIsParked_ThenTheMeterTellsIt()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        using MeterRecorder metrics = Listen(broker);
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        Task<Fetched> fetch = peer.FetchAsync(Messages.Open(30_000, Messages.From(queue, 0)));
        await Eventually.TrueAsync(() => Parked() == 1);
        await peer.ProduceAsync(Durability.Written, (queue, Messages.Batch("a")));
        await fetch;
        await Eventually.TrueAsync(() => Parked() == 0);
        double Parked() => metrics.Observe(
            "equeue.broker.parked_requests", "messaging.operation.name", "fetch").Single().Value;
    }

    [Fact]
    public async Task GivenAListener_WhenTheLogIsWrittenAndSynced_ThenEachOfThoseIsTimedOnce()
    {
        await using TestBroker broker = await TestBroker.StartAsync(
            TestBroker.SmallOptions(EQueue.MessageStore.FlushPolicy.Sync));
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        StatsResponse before = broker.Broker.CollectStats();
        using MeterRecorder metrics = Listen(broker);
        for (int i = 0; i < 10; i++)
            await peer.ProduceAsync(Durability.Durable, (queue, Messages.Batch("a")));
        StatsResponse after = broker.Broker.CollectStats();

        foreach ((string metric, string figure) in ((string, string)[])
            [("equeue.store.write.duration", "store.writes"), ("equeue.store.sync.duration", "store.fdatasyncs")])
        {
            IReadOnlyList<Recorded> timed = metrics.Of(metric);
            Assert.Equal(after.Find(figure) - before.Find(figure), timed.Count);
            Assert.All(timed, one => Assert.InRange(one.Value, 0, 60));
            Assert.NotEmpty(((Histogram<double>)timed[0].Instrument).Advice!.HistogramBucketBoundaries!);
        }
    }

    [Fact]
    public async Task GivenAListenerThatThrows_WhenTheLogIsWritten_ThenTheBrokerGoesOn()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        int thrown = 0;
        using var listener = new MeterListener();
        listener.SetMeasurementEventCallback<double>((_, _, _, _) =>
        {
            thrown++;
            throw new InvalidOperationException("Mine.");
        });
        listener.InstrumentPublished = (instrument, self) =>
        {
            if (IsOf(broker, instrument.Meter) && instrument is Histogram<double>)
                self.EnableMeasurementEvents(instrument);
        };
        listener.Start();
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        for (int i = 0; i < 10; i++)
            await peer.ProduceAsync(Durability.Durable, (queue, Messages.Batch("a")));
        Assert.Equal(10, broker.Broker.CollectStats().Find("store.appendedMessages"));
        Assert.Equal(2, thrown); // the first write, the first sync, and never again
    }

    [Fact]
    public async Task GivenGroupsThatAreBehind_WhenTheMeterIsAsked_ThenBacklogAndLagAreToldByGroupAndTopic()
    {
        await using TestBroker broker = await TestBroker.StartAsync(Watching(maxSeries: 100));
        using MeterRecorder metrics = Listen(broker);
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId orders = (await peer.CreateTopicAsync("orders", 2)).Queues[1].Id;
        QueueId bills = (await peer.CreateTopicAsync("bills")).Queues[0].Id;
        await peer.ProduceAsync(
            Durability.Written, (orders, Messages.Batch("a", "b", "c", "d")), (bills, Messages.Batch("e")));
        await peer.InvokeAsync(Commit("billing", orders, 1));
        await peer.InvokeAsync(Commit("billing", bills, 1));

        await Eventually.TrueAsync(() => Backlogs(metrics).Count == 2);
        Assert.Equal([("billing", "orders", 3), ("billing", "bills", 0)], Backlogs(metrics));
        await Eventually.TrueAsync(() => Lag("orders") > 0);
        Assert.Equal(0, Lag("bills"));
        await peer.InvokeAsync(Commit("billing", orders, 4));
        await Eventually.TrueAsync(() => Lag("orders") == 0);
        Assert.All(Backlogs(metrics), one => Assert.Equal(0, one.Backlog));
        double Lag(string topic) => metrics.Observe("equeue.group.lag", "messaging.destination.name", topic)
            .Single().Value;
    }

    [Fact]
    [EffectOf("Telemetry:MaxSeries")]
    public async Task GivenMoreGroupsThanSeries_WhenTheMeterIsAsked_ThenTheRestIsSummedInOne()
    {
        await using TestBroker broker = await TestBroker.StartAsync(Watching(maxSeries: 2));
        using MeterRecorder metrics = Listen(broker);
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        await peer.ProduceAsync(Durability.Written, (queue, Messages.Batch("a", "b", "c", "d", "e", "f")));
        foreach ((string group, long next) in ((string, long)[])[("a", 5), ("b", 1), ("c", 2), ("d", 4)])
            await peer.InvokeAsync(Commit(group, queue, next));

        (string, string, double)[] expected =
            [("b", "orders", 5), ("c", "orders", 4), (BrokerTelemetry.Others, BrokerTelemetry.Others, 3)];
        await Eventually.TrueAsync(() => Backlogs(metrics).SequenceEqual(expected));
    }

    [Fact]
    public async Task GivenBoundedTopics_WhenTheMeterIsAsked_ThenTheFullestAreShownAndTheRestSummed()
    {
        await using TestBroker broker = await TestBroker.StartAsync(Watching(maxSeries: 1));
        using MeterRecorder metrics = Listen(broker);
        await using TestPeer peer = await broker.ConnectAsync();
        foreach ((string topic, int messages) in ((string, int)[])[("a", 1), ("b", 3), ("c", 2)])
        {
            var settings = new TopicSettings { QueueCount = 1, MaxBacklogMessages = 3, BacklogPolicy = BacklogPolicy.Reject };
            QueueId queue = (await peer.InvokeAsync(new CreateTopicRequest(topic, settings))).Queues[0].Id;
            await peer.InvokeAsync(Commit("billing", queue, 0));
            for (int i = 0; i < messages; i++)
                await peer.ProduceAsync(Durability.Durable, (queue, Messages.Batch("x")));
            if (messages == 3)
                await peer.ProduceAsync(Durability.Durable, (queue, Messages.Batch("too much")));
        }

        Assert.Equal(
            [("b", 3), (BrokerTelemetry.Others, 3)],
            metrics.Observe("equeue.topic.backlog")
                .Select(one => ((string)one.Tags["messaging.destination.name"]!, (int)one.Value)));
        Assert.Equal(1, Assert.Single(metrics.Observe("equeue.broker.rejected_batches")).Value);
    }

    [Fact]
    public async Task GivenTopicsThatAreWrittenAndRead_WhenTheMeterIsAsked_ThenWhatCameInAndWentOutIsToldByTopic()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        using MeterRecorder metrics = Listen(broker);
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] orders = [.. (await peer.CreateTopicAsync("orders", 2)).Queues.Select(queue => queue.Id)];
        QueueId bills = (await peer.CreateTopicAsync("bills")).Queues[0].Id;
        await peer.ProduceAsync(
            Durability.Written, (orders[0], Messages.Batch("a", "b")), (orders[1], Messages.Batch("c")),
            (bills, Messages.Batch("d")));
        // Two readers of the one topic, one of which begins behind a message; the other topic has none.
        await peer.FetchAsync(Messages.Open(0, Messages.From(orders[0], 0), Messages.From(orders[1], 0)));
        await using TestPeer other = await broker.ConnectAsync();
        await other.FetchAsync(Messages.Open(0, Messages.From(orders[0], 1)));

        Assert.Equal((3, 1), (Of("equeue.topic.messages", "orders"), Of("equeue.topic.messages", "bills")));
        Assert.Equal((4, 0), (Of("equeue.topic.fetched_messages", "orders"), Of("equeue.topic.fetched_messages", "bills")));
        Assert.Equal((3, 1), (Of("equeue.topic.kept_messages", "orders"), Of("equeue.topic.kept_messages", "bills")));
        double written = Of("equeue.topic.write.size", "orders") + Of("equeue.topic.write.size", "bills");
        Assert.Equal(Of("equeue.topic.kept_size", "orders"), Of("equeue.topic.write.size", "orders"));
        Assert.InRange(written, 4 * 60, broker.Broker.CollectStats().Find("store.bytesWritten")!.Value);
        Assert.Equal(
            broker.Broker.CollectStats().Find("broker.fetchedBytes"), (long)Of("equeue.topic.fetch.size", "orders"));

        // A change of the topic loses nothing of it.
        await peer.InvokeAsync(new AlterTopicRequest("orders", new TopicSettings { QueueCount = 3 }));
        Assert.Equal(4, Of("equeue.topic.fetched_messages", "orders"));
        double Of(string metric, string topic) =>
            metrics.Observe(metric, "messaging.destination.name", topic).Single().Value;
    }

    [Fact]
    public async Task GivenMoreTopicsThanSeries_WhenTheMeterIsAsked_ThenTheBusiestKeepTheirsAndTheRestIsSummed()
    {
        await using TestBroker broker = await TestBroker.StartAsync(Watching(maxSeries: 2));
        using MeterRecorder metrics = Listen(broker);
        await using TestPeer peer = await broker.ConnectAsync();
        var queues = new Dictionary<string, QueueId>(StringComparer.Ordinal);
        foreach ((string topic, int messages) in ((string, int)[])[("a", 1), ("b", 4), ("c", 2), ("d", 3)])
        {
            queues[topic] = (await peer.CreateTopicAsync(topic)).Queues[0].Id;
            for (int i = 0; i < messages; i++)
                await peer.ProduceAsync(Durability.Written, (queues[topic], Messages.Batch("x")));
        }

        Assert.Equal([("b", 4), ("d", 3), (BrokerTelemetry.Others, 3)], Taken());
        // The one that overtakes does not take the place of one that is shown.
        for (int i = 0; i < 9; i++)
            await peer.ProduceAsync(Durability.Written, (queues["a"], Messages.Batch("x")));
        Assert.Equal([("b", 4), ("d", 3), (BrokerTelemetry.Others, 12)], Taken());
        await peer.InvokeAsync(new DeleteTopicRequest("d"));
        Assert.Equal([("b", 4), ("a", 10), (BrokerTelemetry.Others, 2)], Taken());

        (string, int)[] Taken() =>
        [
            .. metrics.Observe("equeue.topic.messages")
                .Select(one => ((string)one.Tags["messaging.destination.name"]!, (int)one.Value)),
        ];
    }

    [Fact]
    public async Task GivenABroker_WhenTheMeterIsAsked_ThenItTellsItsWholeVersion()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        using MeterRecorder metrics = Listen(broker);
        Recorded build = Assert.Single(metrics.Observe("equeue.build.info"));
        Assert.Equal(1, build.Value);
        Assert.StartsWith("3.0.0-", (string)build.Tags["version"]!, StringComparison.Ordinal);
        Assert.Equal(Environment.Version.ToString(), build.Tags["dotnet"]);
    }

    [Fact]
    public async Task GivenTheBrokersInstruments_WhenThePageIsRead_ThenEachStandsThereAsItIs()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        using MeterRecorder metrics = Listen(broker);
        Assert.InRange(metrics.Instruments.Count, 40, 100);
        Assert.Empty(TelemetryPage.Miss(metrics.Instruments));
    }

    [Fact]
    public async Task GivenABrokerThatStops_WhenTheMeterIsAsked_ThenItTellsNothingMore()
    {
        TestBroker broker = await TestBroker.StartAsync();
        using MeterRecorder metrics = Listen(broker);
        Assert.NotEmpty(metrics.Observe("equeue.broker.connections"));
        await broker.DisposeAsync();
        Assert.Empty(metrics.Observe("equeue.broker.connections"));
    }

    private static IReadOnlyList<(string Group, string Topic, double Backlog)> Backlogs(MeterRecorder metrics) =>
    [
        .. metrics.Observe("equeue.group.backlog").Select(one => (
            (string)one.Tags["messaging.consumer.group.name"]!,
            (string)one.Tags["messaging.destination.name"]!,
            one.Value)),
    ];

    private static BrokerOptions Watching(int maxSeries) => TestBroker.SmallOptions() with
    {
        Telemetry = new TelemetryOptions { MaxSeries = maxSeries, GroupInterval = TimeSpan.FromMilliseconds(100) },
    };

    private static CommitOffsetsRequest Commit(string group, QueueId queue, long next) => new(
        group,
        Guid.Empty,
        [new OffsetCommit(new QueueKey(0, queue), GroupGeneration.None, new QueueOffset(next), -1, null)]);

    private static MeterRecorder Listen(TestBroker broker) =>
        new(BrokerTelemetry.MeterName, meter => IsOf(broker, meter));

    private static bool IsOf(TestBroker broker, Meter meter) => meter.Name == BrokerTelemetry.MeterName
        && meter.Tags!.Contains(new(BrokerTelemetry.StoreIdTag, broker.Broker.StoreId.ToString()));
}
