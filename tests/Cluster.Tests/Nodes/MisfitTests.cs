using EQueue.Broker;
using EQueue.Cluster.Tests.Etcd;
using EQueue.MessageStore;
using EQueue.Replication;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cluster.Tests;

/// <summary>Nodes that do not belong where they are: names, directories and policies of others.</summary>
public sealed class MisfitTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private const int NoConnection = 7041;
    private const int PeerRefused = 7038;

    private static CancellationToken None => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenANameThatIsUsedTwice_WhenTheSecondProcessStarts_ThenTheFirstEndsAndSaysWhy_AndNothingIsLost()
    {
        await using TestCluster cluster = await TestCluster.StartAsync(etcd);
        await cluster.SeatsAsync(3);
        await using var load = new Load(cluster);
        await load.StoredAsync(50);
        TestNode first = cluster.Leader!;
        await using TestNode second = cluster.NewNode(first.Name, "second");
        await second.StartAsync();

        ClusterException ended = await Assert.ThrowsAsync<ClusterException>(() => first.Node!.Completion);
        Assert.Contains($"runs as node {first.Name} of this cluster", ended.Message, StringComparison.Ordinal);
        await first.StopAsync();
        await load.MoreAsync(50);
        await Eventually.TrueAsync(async () =>
            (await cluster.Shard.ReadAsync(None))!.Shard.State!.Seats.Count == 3);
        await load.MoreAsync(50);
        await load.CheckAsync();
        Assert.False(second.Node!.Completion.IsCompleted);
    }

    [Fact]
    public async Task GivenANodeOfAnotherClusterAtAnAddress_WhenItIsCalled_ThenItRefusesAndBothSayWhichClusterItIs()
    {
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        await using TestCluster other = await TestCluster.CreateAsync(etcd);
        await other.Nodes[0].StartAsync();
        await other.SeatsAsync(1);
        var wrong = new EQueue.Cluster.Etcd.EtcdShard(etcd.Client, cluster.Name, "b");
        Assert.True(await wrong.PutNodeAsync(new Life(1), other.Nodes[0].Address, None));
        await cluster.Nodes[0].StartAsync();

        await cluster.LoggedAsync("a", NoConnection, "is of cluster");
        await other.LoggedAsync("a", PeerRefused, "is of cluster");
        await cluster.SeatsAsync(1);
    }

    [Fact]
    [Follows("set Server:DataDirectory to ", "or to an empty one, into which the log is copied.")]
    public async Task GivenADirectoryOfAnotherCluster_WhenANodeStartsInIt_ThenItIsRefusedAndSaysWhatToSet()
    {
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        await using TestCluster other = await TestCluster.CreateAsync(etcd);
        await other.Nodes[0].StartAsync();
        await other.SeatsAsync(1);
        await other.Nodes[0].StopAsync();
        Directory.Move(other.Nodes[0].Directory, cluster.Nodes[0].Directory);

        await RefusesAsync(cluster.Nodes[0], "set Server:DataDirectory to the directory of this cluster's node");
        Assert.True(Directory.Exists(cluster.Nodes[0].ShardDirectory), "nothing of it is removed");

        await using TestNode node = cluster.NewNode("a", "empty");
        await node.StartAsync();
        await Eventually.TrueAsync(() => node.IsServing);
    }

    [Fact]
    public async Task GivenADirectoryOfASingleBroker_WhenANodeStartsInIt_ThenItIsRefusedAndSaysWhatToSet()
    {
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        TestNode node = cluster.Nodes[0];
        var options = new BrokerOptions { DataDirectory = node.Directory, Listen = "127.0.0.1:0" };
        await using (await EQueueBroker.StartAsync(options, NullLoggerFactory.Instance, None))
        {
            // It leaves its store.
        }

        StoreFormatException refused = await Assert.ThrowsAsync<StoreFormatException>(node.StartAsync);

        Assert.Contains("a broker that was in no cluster", refused.Message, StringComparison.Ordinal);
        Assert.Contains("'equeue cluster adopt'", refused.Message, StringComparison.Ordinal);
        Assert.False(Directory.Exists(Path.Combine(node.Directory, "shards")));
    }

    [Fact]
    public async Task GivenAnotherFlushPolicy_WhenANodeStarts_ThenItIsRefusedAndNamesBoth()
    {
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        cluster.Nodes[0].Policy = FlushPolicy.Async;
        await RefusesAsync(cluster.Nodes[0], "Store:FlushPolicy is Async");
        Assert.Null((await cluster.Shard.ReadAsync(None))!.Shard.State);
    }

    [Fact]
    public async Task GivenANodeThatIsNotInTheList_WhenItStarts_ThenItIsRefusedAndNamesThoseThatAre()
    {
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        await using TestNode node = cluster.NewNode("d", "d");
        await RefusesAsync(node, $"Cluster:Node is d; the cluster '{cluster.Name}' has a, b, c.");
    }

    [Fact]
    public async Task GivenAClientThatKnowsOneNode_WhenThatFollows_ThenItIsLedToTheLeader()
    {
        await using TestCluster cluster = await TestCluster.StartAsync(etcd);
        await cluster.SeatsAsync(3);
        TestNode follower = cluster.Nodes.First(node => !node.IsServing);
        await using EQueueClient client = cluster.Connect(follower);
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("orders", "led"u8.ToArray());
    }

    private static async Task RefusesAsync(TestNode node, string why)
    {
        ClusterException refused = await Assert.ThrowsAsync<ClusterException>(node.StartAsync);
        Assert.Contains(why, refused.Message, StringComparison.Ordinal);
    }
}
