using EQueue.Cluster.Tests.Etcd;
using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>The power goes at all nodes at once: their disks lose what was not synced, in any order.</summary>
public sealed class PowerCutTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private const int Rounds = 3;

    [Fact]
    public async Task GivenSyncFlush_WhenThePowerGoesEverywhere_ThenTheNodesServeAgainByThemselvesAndNothingIsLost()
    {
        EtcdProcess.SkipWithoutEtcd();
        await using TestCluster cluster = await StartAsync(FlushPolicy.Sync);
        await using var load = new Load(cluster);
        for (int round = 1; round <= Rounds; round++)
        {
            await load.MoreAsync(100);
            await CutPowerAsync(cluster, round);
            await load.MoreAsync(50);
            await cluster.SeatsAsync(3);
        }

        await load.CheckAsync();
    }

    [Fact]
    public async Task GivenAsyncFlush_WhenThePowerGoesEverywhere_ThenTheNodesServeAgainAndTheLastFlushIntervalAloneMayBeLost()
    {
        EtcdProcess.SkipWithoutEtcd();
        await using TestCluster cluster = await StartAsync(FlushPolicy.Async);
        long old;
        await using (var load = new Load(cluster))
        {
            await load.MoreAsync(200);
            old = load.Acknowledged;
            await Eventually.PassedAsync(TimeSpan.FromSeconds(1));
            await load.StopAsync();
            Assert.True(load.Acknowledged > old);
        }

        for (int round = 1; round <= Rounds; round++)
        {
            await CutPowerAsync(cluster, round);
            await cluster.SeatsAsync(3);
            await using EQueueClient client = cluster.Connect();
            Assert.True(await Load.CountAsync(client) >= old, $"{old} were older than the flush interval");
        }
    }

    private async Task<TestCluster> StartAsync(FlushPolicy policy)
    {
        TestCluster cluster = await TestCluster.CreateAsync(etcd, policy);
        foreach (TestNode node in cluster.Nodes)
        {
            node.IsSmall = true;
            node.Disk = new SimulatedDisk();
            await node.StartAsync();
        }

        await cluster.SeatsAsync(3);
        return cluster;
    }

    private static async Task CutPowerAsync(TestCluster cluster, int seed)
    {
        SimulatedDisk[] left = [.. cluster.Nodes.Select((node, i) => ((SimulatedDisk)node.Disk!).CutPower((seed * 10) + i))];
        for (int i = 0; i < left.Length; i++)
        {
            await cluster.Nodes[i].KillAsync();
            cluster.Nodes[i].Disk = left[i];
        }

        foreach (TestNode node in cluster.Nodes)
            await node.StartAsync();
    }
}
