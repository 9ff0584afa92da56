using EQueue.Cluster.Etcd;
using EQueue.Cluster.Tests.Etcd;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>Nodes whose etcd is not there, goes away, or takes no writes.</summary>
public sealed class EtcdAwayTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private const int WaitsForEtcd = 7033;
    private const int Away = 7026;
    private const int Back = 7027;

    private static CancellationToken None => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenNoEtcd_WhenNodesStart_ThenTheyWaitAndSayWhyOnce_AndBeginWhenItComes()
    {
        await using var proxy = new LinkProxy(etcd.Process.Address);
        proxy.Refuse();
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        foreach (TestNode node in cluster.Nodes)
        {
            node.Etcd = proxy.Uri;
            await node.StartAsync();
        }

        foreach (TestNode node in cluster.Nodes)
            await cluster.LoggedAsync(node.Name, WaitsForEtcd, "etcd");
        await Eventually.PassedAsync(TimeSpan.FromSeconds(2));
        Assert.All(cluster.Nodes, node => Assert.Equal(1, cluster.CountOf(node.Name, WaitsForEtcd)));
        Assert.All(cluster.Nodes, node => Assert.False(node.Node!.Completion.IsCompleted));

        proxy.Pass();
        await cluster.SeatsAsync(3);
    }

    [Fact]
    public async Task GivenEtcdAwayFor5Seconds_WhenMessagesAreSent_ThenServingGoesOnUnderTheSameLeader_AndTheLogSaysSoOnce()
    {
        await using var proxy = new LinkProxy(etcd.Process.Address);
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        foreach (TestNode node in cluster.Nodes)
        {
            node.Etcd = proxy.Uri;
            await node.StartAsync();
        }

        await cluster.SeatsAsync(3);
        await using var load = new Load(cluster);
        await load.StoredAsync(50);
        int epoch = await EpochAsync(cluster);

        proxy.Refuse();
        foreach (TestNode node in cluster.Nodes)
            await cluster.LoggedAsync(node.Name, Away, "Serving goes on");
        await Eventually.PassedAsync(TimeSpan.FromSeconds(5));
        await load.MoreAsync(50);
        proxy.Pass();
        foreach (TestNode node in cluster.Nodes)
            await cluster.LoggedAsync(node.Name, Back, "again");
        await load.MoreAsync(50);

        Assert.Equal(epoch, await EpochAsync(cluster));
        Assert.All(cluster.Nodes, node => Assert.Equal(1, cluster.CountOf(node.Name, Away)));
        await load.CheckAsync();
    }

    [Fact]
    public async Task GivenAnEtcdThatIsFull_WhenTheNodesPutTheirKeys_ThenTheLogSaysSo_AndServingGoesOn()
    {
        await using EtcdServer full = await EtcdServer.StartAsync("--quota-backend-bytes", "524288");
        await using TestCluster cluster = await TestCluster.CreateAsync(full);
        foreach (TestNode node in cluster.Nodes)
        {
            node.NodeKeyInterval = TimeSpan.FromMilliseconds(500);
            await node.StartAsync();
        }

        await cluster.SeatsAsync(3);
        await using var load = new Load(cluster);
        await load.StoredAsync(50);
        await FillAsync(full.Client);

        foreach (TestNode node in cluster.Nodes)
            await cluster.LoggedAsync(node.Name, Away, "NOSPACE");
        await load.MoreAsync(100);
        await load.CheckAsync();
    }

    private static async Task<int> EpochAsync(TestCluster cluster) =>
        (await cluster.Shard.ReadAsync(None))!.Shard.State!.Epoch;

    private static async Task FillAsync(EtcdClient client)
    {
        byte[] filler = new byte[64 << 10];
        await Eventually.TrueAsync(async () =>
        {
            try
            {
                await client.TransactAsync([], [EtcdOperation.Put("/filler", filler)], [], None);
                return false;
            }
            catch (EtcdException failure) when (failure.Kind == EtcdTrouble.NoSpace)
            {
                return true;
            }
        });
    }
}
