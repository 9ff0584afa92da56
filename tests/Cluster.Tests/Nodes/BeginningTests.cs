using EQueue.Cluster.Tests.Etcd;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>The first moments of a node: it is killed, or the leader's files change while they are copied.</summary>
public sealed class BeginningTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    [Fact]
    public async Task GivenTheFirstNodeKilledAtEachStepOfItsStart_WhenItStartsAgain_ThenTheLogBegins()
    {
        EtcdProcess.SkipWithoutEtcd();
        int changes = 0;
        while (!await BeginsAsync(changes))
            changes++;
        Assert.InRange(changes, 5, 100);
    }

    [Fact]
    public async Task GivenASeatThatWasTakenByAProcessThatDiedAtOnce_WhenItStartsAgain_ThenTheLogBegins()
    {
        EtcdProcess.SkipWithoutEtcd();
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        var proxy = new LinkProxy(etcd.Process.Address);
        await using (proxy)
        {
            // Everything is said to etcd and nothing heard of it, from the beginning of the log on.
            cluster.Nodes[0].Etcd = proxy.Uri;
            await cluster.Nodes[0].StartAsync();
            await Eventually.TrueAsync(async () =>
            {
                if ((await cluster.Shard.ReadAsync(TestContext.Current.CancellationToken))?.Shard.State is null)
                    return false;
                proxy.Refuse();
                return true;
            });
            await cluster.Nodes[0].KillAsync();
        }

        cluster.Nodes[0].Etcd = etcd.Process.Address;
        await cluster.Nodes[0].StartAsync();
        await cluster.SeatsAsync(1);
    }

    [Fact]
    public async Task GivenFilesThatGoAtTheLeader_WhenANewcomerCopiesThem_ThenItLooksAgainAndHasASeat()
    {
        EtcdProcess.SkipWithoutEtcd();
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        foreach (TestNode node in cluster.Nodes)
            node.IsSmall = true;
        var disk = new VanishingDisk();
        cluster.Nodes[0].Disk = disk;
        await cluster.Nodes[0].StartAsync();
        await cluster.SeatsAsync(1);
        await using var load = new Load(cluster, bodyBytes: 40 << 10);
        await load.StoredAsync(100);
        lock (disk.Missing)
            disk.Missing.UnionWith([".log", ".index"]);
        await cluster.Nodes[1].StartAsync();
        await cluster.SeatsAsync(2);
        Assert.Empty(disk.Missing);
        await load.CheckAsync();
    }

    /// <summary>Starts node a, which dies after so many changes of folders, and starts it again.</summary>
    /// <returns>Whether it served before it was to die.</returns>
    private async Task<bool> BeginsAsync(int changes)
    {
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        TestNode node = cluster.Nodes[0];
        node.Disk = new DyingDisk(changes);
        try
        {
            await node.StartAsync();
            await Eventually.TrueAsync(() => node.IsServing || node.Node!.Completion.IsCompleted);
            if (node.IsServing)
            {
                await node.KillAsync();
                return true;
            }
        }
        catch (KilledException)
        {
            // It died while it made its directory.
        }

        await node.KillAsync();
        node.Disk = null;
        await node.StartAsync();
        await cluster.SeatsAsync(1);
        return false;
    }
}
