using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests;

public sealed class TopicTests : IAsyncLifetime
{
    private TestBroker _broker = null!;
    private TestPeer _peer = null!;

    public async ValueTask InitializeAsync()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        _broker = await TestBroker.StartAsync(options with
        {
            Limits = options.Limits with { MaxTopics = 20, MaxQueues = 60, MaxQueuesPerTopic = 30 },
        });
        _peer = await _broker.ConnectAsync();
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenNoSettings_WhenATopicIsMade_ThenItHasTheBrokersOwn()
    {
        TopicDescription topic = await _peer.InvokeAsync(new CreateTopicRequest("orders", TopicSettings.None));
        Assert.Equal([0, 1, 2, 3], topic.Queues.Select(queue => queue.Number));
        Assert.Equal(4, topic.Queues.Select(queue => queue.Id).Distinct().Count());
        Assert.All(topic.Queues, queue => Assert.Equal(QueueState.Readable | QueueState.Writable, queue.State));
        Assert.Equal(TimeSpan.FromDays(7), topic.Settings.RetentionAge);
        Assert.Equal(0, topic.Settings.RetentionBytes);
        Assert.Equal(4 << 20, topic.Settings.MaxMessageBytes);
        Assert.Equal(BacklogPolicy.Block, topic.Settings.BacklogPolicy);
        TopicDescription again = await _peer.InvokeAsync(new DescribeTopicRequest("orders"));
        Assert.Equal((topic.Id, topic.CreatedMs, topic.Settings), (again.Id, again.CreatedMs, again.Settings));
    }

    [Fact]
    public async Task GivenATopic_WhenMadeAgain_ThenTopicExistsIsAnsweredAndItStaysAsItIs()
    {
        TopicDescription topic = await _peer.CreateTopicAsync("orders", 2);
        EQueueException refusal = await _peer.RefusalAsync(new CreateTopicRequest("orders", TopicSettings.None));
        Assert.Equal(ErrorCode.TopicExists, refusal.Code);
        Assert.Contains("orders", refusal.Message, StringComparison.Ordinal);
        TopicDescription again = await _peer.InvokeAsync(new DescribeTopicRequest("orders"));
        Assert.Equal((topic.Id, 2), (again.Id, again.Queues.Count));
    }

    [Fact]
    public async Task GivenManyWhoCreateOneTopicAtOnce_WhenAnswered_ThenOneHasMadeItAndTheOthersGetTopicExists()
    {
        TestPeer[] peers = await Task.WhenAll(Enumerable.Range(0, 8).Select(i => _broker.ConnectAsync($"peer{i}")));
        ErrorCode[] outcomes = await Task.WhenAll(peers.Select(async peer =>
        {
            try
            {
                await peer.CreateTopicAsync("race", 3);
                return ErrorCode.None;
            }
            catch (EQueueException exception)
            {
                return exception.Code;
            }
        }));
        Assert.Equal(1, outcomes.Count(code => code == ErrorCode.None));
        Assert.Equal(7, outcomes.Count(code => code == ErrorCode.TopicExists));
        foreach (TestPeer peer in peers)
            await peer.DisposeAsync();
    }

    [Fact]
    public async Task GivenManyWhoRouteToAMissingTopicAtOnce_WhenAnswered_ThenAllGetTheSameTopic()
    {
        TestPeer[] peers = await Task.WhenAll(Enumerable.Range(0, 8).Select(i => _broker.ConnectAsync($"peer{i}")));
        RouteResponse[] routes = await Task.WhenAll(
            peers.Select(peer => peer.InvokeAsync(new RouteRequest(["auto"], AutoCreate: true))));
        Assert.Single(routes.Select(route => route.Topics[0].Id).Distinct());
        Assert.Single(
            routes.Select(route => string.Join(',', route.Topics[0].Queues.Select(queue => queue.Id))).Distinct());
        Assert.All(routes, route => Assert.Equal(4, route.Topics[0].Queues.Count));
        BrokerAddress address = Assert.Single(routes[0].Brokers);
        Assert.Equal((_broker.Broker.StoreId, "", (ushort)0), (address.BrokerId, address.Host, address.Port));
        foreach (TestPeer peer in peers)
            await peer.DisposeAsync();
    }

    [Fact]
    public async Task GivenATopic_WhenAltered_ThenOnlyWhatIsNamedChangesAndQueuesOnlyGrow()
    {
        TopicDescription before = await _peer.CreateTopicAsync("orders", 2);
        TopicDescription grown = await _peer.InvokeAsync(new AlterTopicRequest(
            "orders", new TopicSettings { QueueCount = 5, RetentionBytes = 77 }));
        Assert.Equal([0, 1, 2, 3, 4], grown.Queues.Select(queue => queue.Number));
        Assert.Equal(before.Queues.Select(queue => queue.Id), grown.Queues.Take(2).Select(queue => queue.Id));
        Assert.Equal((before.Id, 77L), (grown.Id, grown.Settings.RetentionBytes));
        Assert.Equal(before.Settings.RetentionAge, grown.Settings.RetentionAge);
        TopicDescription set = await _peer.InvokeAsync(
            new AlterTopicRequest("orders", new TopicSettings { MaxMessageBytes = 10 }));
        Assert.Equal((5, 10), (set.Queues.Count, set.Settings.MaxMessageBytes));
        EQueueException fewer = await _peer.RefusalAsync(
            new AlterTopicRequest("orders", new TopicSettings { QueueCount = 4 }));
        Assert.Equal(ErrorCode.InvalidArgument, fewer.Code);
    }

    [Fact]
    public async Task GivenATopicWithMessages_WhenDeletedAndMadeAgain_ThenItIsAnotherTopicAndEmpty()
    {
        TopicDescription old = await _peer.CreateTopicAsync("orders");
        QueueId queue = old.Queues[0].Id;
        await _peer.ProduceAsync(queue, "a", "b");
        await _peer.InvokeAsync(new DeleteTopicRequest("orders"));
        Assert.Equal(ErrorCode.UnknownTopic, (await _peer.RefusalAsync(new DescribeTopicRequest("orders"))).Code);
        Assert.Equal(ErrorCode.UnknownQueue, (await _peer.ProduceAsync(queue, "c")).Error);
        Fetched gone = await _peer.FetchAsync(Messages.Open(0, Messages.From(queue, 0)));
        Assert.Equal(ErrorCode.UnknownQueue, Assert.Single(gone.Queues).Header.Error);

        TopicDescription made = await _peer.CreateTopicAsync("orders");
        Assert.NotEqual(old.Id, made.Id);
        Assert.NotEqual(queue, made.Queues[0].Id);
        Assert.Equal(new QueueOffset(0), made.Queues[0].End);
    }

    [Fact]
    public async Task GivenManyTopics_WhenListedPageByPage_ThenEachComesOnceInOrdinalOrder()
    {
        string[] names = ["b", "B", "a.1", "a", "a-1", "z_9", "A"];
        foreach (string name in names)
            await _peer.CreateTopicAsync(name);
        var listed = new List<string>();
        ListTopicsResponse page;
        do
        {
            page = await _peer.InvokeAsync(new ListTopicsRequest(listed.LastOrDefault(), 2));
            Assert.InRange(page.Topics.Count, 1, 2);
            listed.AddRange(page.Topics.Select(topic => topic.Topic));
        }
        while (page.HasMore);
        Assert.Equal(names.Order(StringComparer.Ordinal), listed);
        Assert.Equal(ErrorCode.InvalidArgument, (await _peer.RefusalAsync(new ListTopicsRequest(null, 0))).Code);
    }

    [Fact]
    [EffectOf("Limits:MaxQueuesPerTopic")]
    public async Task GivenSettingsOutOfRange_WhenATopicIsMade_ThenTheyAreRefusedWithTheirRange()
    {
        Assert.Equal(ErrorCode.InvalidArgument, await RefusalOfAsync(new TopicSettings { QueueCount = 0 }));
        Assert.Equal(ErrorCode.TooManyQueues, await RefusalOfAsync(new TopicSettings { QueueCount = 31 }));
        Assert.Equal(ErrorCode.InvalidArgument, await RefusalOfAsync(new TopicSettings { MaxMessageBytes = 0 }));
        Assert.Equal(
            ErrorCode.InvalidArgument, await RefusalOfAsync(new TopicSettings { MaxMessageBytes = (4 << 20) + 1 }));
        Assert.Equal(
            ErrorCode.InvalidArgument, await RefusalOfAsync(new TopicSettings { BacklogPolicy = (BacklogPolicy)9 }));
        Assert.Equal(
            ErrorCode.InvalidArgument,
            await RefusalOfAsync(new TopicSettings { BacklogGroups = string.Join(',', Enumerable.Repeat("g", 513)) }));
        Assert.Empty((await _peer.InvokeAsync(new ListTopicsRequest(null, 10))).Topics);
    }

    [Fact]
    [EffectOf("Limits:MaxTopics", "Limits:MaxQueues")]
    public async Task GivenTheLimitsOfTopicsAndQueues_WhenReached_ThenTooManyQueuesIsAnsweredUntilSomeGo()
    {
        await _peer.CreateTopicAsync("first", 30);
        await _peer.CreateTopicAsync("second", 30);
        Assert.Equal(ErrorCode.TooManyQueues, (await _peer.RefusalAsync(
            new CreateTopicRequest("third", new TopicSettings { QueueCount = 1 }))).Code);
        RouteResponse route = await _peer.InvokeAsync(new RouteRequest(["third"], AutoCreate: true));
        Assert.Equal(ErrorCode.TooManyQueues, route.Topics[0].Error);
        await _peer.InvokeAsync(new DeleteTopicRequest("second"));
        for (int i = 1; i < 20; i++)
            await _peer.CreateTopicAsync($"small{i}");
        Assert.Equal(ErrorCode.TooManyQueues, (await _peer.RefusalAsync(
            new CreateTopicRequest("third", new TopicSettings { QueueCount = 1 }))).Code);
    }

    [Fact]
    [EffectOf("Topics:AutoCreate")]
    public async Task GivenNoAutoCreate_WhenAMissingTopicIsRouted_ThenItIsUnknown()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker strict = await TestBroker.StartAsync(
            options with { Topics = new TopicOptions { AutoCreate = false } });
        await using TestPeer peer = await strict.ConnectAsync();
        RouteResponse route = await peer.InvokeAsync(new RouteRequest(["none"], AutoCreate: true));
        Assert.Equal(ErrorCode.UnknownTopic, route.Topics[0].Error);
    }

    private async Task<ErrorCode> RefusalOfAsync(TopicSettings settings) =>
        (await _peer.RefusalAsync(new CreateTopicRequest("bad", settings))).Code;
}
