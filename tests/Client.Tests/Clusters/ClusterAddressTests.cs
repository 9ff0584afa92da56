using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Client.Tests.Clusters;

/// <summary>Which addresses an application may give for a cluster, and the numbers that its queues then have.</summary>
public sealed class ClusterAddressTests
{
    private const string Topic = TwoBrokers.Topic;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    public async Task GivenThreeAddressesOfOneCluster_WhenUsed_ThenItIsOneBrokerWithOneShare(int leader)
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync(leader);
        await using EQueueClient client = cluster.NewClient();
        await AssertIsOneBrokerAsync(client);

        // Administration is done once, and its own connections are those of one broker.
        await client.Admin.CreateTopicAsync("made", new TopicSettings { QueueCount = 2 }, Token);
        Assert.Equal(
            [0, 1], (await client.Admin.DescribeTopicAsync("made", Token)).Queues.Select(static one => one.Number));
        EQueueException refusal = await Assert.ThrowsAsync<EQueueException>(
            async () => await client.Admin.CreateTokenAsync("no-user", cancellationToken: Token));
        Assert.DoesNotContain("one broker", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAGivenAddressThatIsDownAtTheStart_WhenUsed_ThenQueuesAreNumberedAsOfOneBroker()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync(leader: 1);
        cluster.Nodes[0].Become(NodeRole.Down);
        await using EQueueClient client = cluster.NewClient();
        await AssertIsOneBrokerAsync(client);

        // It comes, and leads.
        cluster.Nodes[0].Become(NodeRole.Refuses);
        await cluster.FailOverAsync(1, NodeRole.Down, 0);
        await AssertIsOneBrokerAsync(client);
    }

    [Fact]
    public async Task GivenNodesThatKnowNothingYet_WhenTheyHaveReadWhoTheyAre_ThenTheirAddressesAreOneBroker()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync(leader: 1);
        cluster.Leaderless();
        cluster.Tell(new WatchLeaderResponse(0, "", []));
        await using EQueueClient client = cluster.NewClient();
        Task used = AssertIsOneBrokerAsync(client);
        await Eventually.TrueAsync(() => cluster.Nodes.All(static node => node.HelloCount > 0));
        Assert.False(used.IsCompleted);

        await cluster.LeadAsync(1);
        await used.WaitAsync(TimeSpan.FromSeconds(10), Token);
        await AssertIsOneBrokerAsync(client);
        await cluster.FailOverAsync(1, NodeRole.Down, 2);
        await AssertIsOneBrokerAsync(client);
        await Eventually.TrueAsync(() => cluster.Watches == 1);
    }

    [Fact]
    public async Task GivenAGivenAddressThatHangsAtTheStart_WhenUsed_ThenTheOthersLeadToTheLeader()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync(leader: 1);
        cluster.Nodes[0].Become(NodeRole.Hangs);
        await using EQueueClient client = cluster.NewClient();
        await AssertIsOneBrokerAsync(client).WaitAsync(TimeSpan.FromSeconds(4), Token);
    }

    [Fact]
    public async Task GivenOneAddressOfThree_WhenItIsGoneAndAnotherLeads_ThenTheClientKnowsTheOthers()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync(leader: 1);
        await using EQueueClient client = cluster.NewClient(cluster.Nodes[0].Address);
        await AssertIsOneBrokerAsync(client);
        cluster.Nodes[0].Become(NodeRole.Down);
        await cluster.FailOverAsync(1, NodeRole.Down, 2);
        await AssertIsOneBrokerAsync(client);
    }

    [Fact]
    public async Task GivenTheLeadersAddressAlone_WhenAnotherLeads_ThenTheClientKnowsIt()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync();
        await using EQueueClient client = cluster.NewClient(cluster.Nodes[0].Address);
        await AssertIsOneBrokerAsync(client);
        await cluster.FailOverAsync(0, NodeRole.Down, 2);
        await AssertIsOneBrokerAsync(client);
    }

    [Fact]
    public async Task GivenNamesThatLeadNowhere_WhenTheLeaderChanges_ThenTheGivenAddressesServe()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync(leader: 1, count: 6);
        (SwitchNode[] given, SwitchNode[] named) = (cluster.Nodes.Take(3).ToArray(), cluster.Nodes.Skip(3).ToArray());
        foreach (SwitchNode? node in named)
            node.Become(NodeRole.Hangs);
        cluster.Advertised = [.. named.Select(static node => node.Address)];
        await cluster.LeadAsync(1);

        // As long as one attempt may take nothing else would be tried.
        await using EQueueClient client = cluster.NewClient(
            string.Join(',', given.Select(static node => node.Address)), connectTimeout: TimeSpan.FromMinutes(1));
        await AssertIsOneBrokerAsync(client).WaitAsync(TimeSpan.FromSeconds(30), Token);
        await cluster.FailOverAsync(1, NodeRole.Down, 2);
        await AssertIsOneBrokerAsync(client).WaitAsync(TimeSpan.FromSeconds(30), Token);
    }

    [Fact]
    public async Task GivenASingleBrokerAndACluster_WhenUsed_ThenTheyAreTwoBrokersInTheOrderOfTheirAddresses()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync(leader: 2);
        await using TestBroker single = await TestBroker.StartAsync();
        await single.Client.Admin.CreateTopicAsync(Topic, new TopicSettings { QueueCount = 4 }, Token);
        foreach ((string addresses, int ofSingle) in ((string, int)[])
            [($"{single.Address},{cluster.Addresses}", 0), ($"{cluster.Addresses},{single.Address}", 1)])
        {
            await using EQueueClient client = cluster.NewClient(addresses);
            await using Producer producer = client.CreateProducer(new ProducerOptions { BatchBytes = 1024 });
            SendReceipt[] receipts = await Task.WhenAll(
                Enumerable.Range(0, 200).Select(i => TwoBrokers.SendAsync(producer, i, $"{i}")));
            Assert.Equal(Enumerable.Range(0, 8), receipts.Select(static one => one.Queue).Distinct().Order());
            await using var alone = new EQueueClient(single.Address);
            QueueOffset[] ends = await Task.WhenAll(Enumerable.Range(0, 4).Select(queue =>
                alone.Admin.FindOffsetAsync(Topic, queue, StartPosition.End, Token).AsTask()));
            QueueOffset[] again = await Task.WhenAll(Enumerable.Range(0, 4).Select(queue => client.Admin
                .FindOffsetAsync(Topic, (queue * 2) + ofSingle, StartPosition.End, Token).AsTask()));
            Assert.Equal(ends, again);
            Assert.Equal(
                Enumerable.Range(0, 8),
                (await client.Admin.DescribeTopicAsync(Topic, Token)).Queues.Select(static one => one.Number));
        }
    }

    [Fact]
    public async Task GivenASingleBroker_WhenUsed_ThenItIsAskedNothingNew()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync(count: 1);
        cluster.HasFeature = false;
        await using (EQueueClient client = cluster.NewClient())
        {
            await AssertIsOneBrokerAsync(client);
            Assert.Equal(0, cluster.Watches);
        }

        Assert.Equal(0, cluster.MostWatches);
    }

    [Fact]
    public async Task GivenAClientOfACluster_WhenItIsDisposed_ThenItsWatchEndsWithIt()
    {
        await using SwitchCluster cluster = await SwitchCluster.StartAsync();
        await using (EQueueClient client = cluster.NewClient())
        {
            await AssertIsOneBrokerAsync(client);
            await Eventually.TrueAsync(() => cluster.Watches == 1);
            Assert.Equal(0, cluster.Nodes[0].WatchCount); // not at the leader, which may hang
        }

        await Eventually.TrueAsync(() => cluster.Nodes.All(static node => node.ConnectionCount == 0));
        Assert.Equal(0, cluster.Watches);
    }

    private static async Task AssertIsOneBrokerAsync(EQueueClient client)
    {
        await using Producer producer = client.CreateProducer(new ProducerOptions { BatchBytes = 1024 });
        SendReceipt[] receipts = await Task.WhenAll(
            Enumerable.Range(0, 100).Select(i => TwoBrokers.SendAsync(producer, i, $"{i}")));
        Assert.Equal(Enumerable.Range(0, 4), receipts.Select(static one => one.Queue).Distinct().Order());
        Assert.Equal(
            Enumerable.Range(0, 4),
            (await client.Admin.DescribeTopicAsync(Topic, Token)).Queues.Select(static one => one.Number));
        await using QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAsync(Topic, 1, StartPosition.Begin, Token);
        await reader.AssignAsync(Topic, 3, StartPosition.Begin, Token);
        HashSet<int> queues = [];
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
            queues.Add(message.Queue);
        Assert.Equal([1, 3], queues.Order());
    }
}
