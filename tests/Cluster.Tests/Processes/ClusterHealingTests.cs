using EQueue.Cluster.Tests.Etcd;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>Three processes that lose directories, die together, or lose their etcd: they heal without a
/// command.</summary>
/// <remarks>EQUEUE_CLUSTER_SECONDS makes the time without etcd long.</remarks>
public sealed class ClusterHealingTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    [Theory]
    [InlineData(false, Traits = [LongRun.Trait, LongRun.Only])]
    [InlineData(true)]
    public async Task GivenADirectoryThatIsGone_WhenItsNodeStartsAgainUnderLoad_ThenItIsCopiedAndHasASeat(bool isLeaders)
    {
        EtcdProcess.SkipWithoutEtcd();
        await using ProcessCluster cluster = await ProcessCluster.StartAsync(etcd, isSync: true);
        await cluster.SeatsAsync(3);
        await using var load = new ScriptLoad(cluster.Connect());
        await load.MoreAsync(500);
        int leader = await cluster.LeaderAsync();
        int node = isLeaders ? leader : (leader + 1) % 3;
        await cluster.Nodes[node].KillAsync();
        Directory.Delete(cluster.DirectoryOf(node), recursive: true);
        await load.MoreAsync(100);
        await cluster.Nodes[node].RestartAsync();
        await cluster.SeatsAsync(3);
        await load.MoreAsync(100);

        // No other node has it any more: what was copied is enough.
        await cluster.Nodes[(node + 1) % 3].KillAsync();
        await load.MoreAsync(100);
        await cluster.Nodes[(node + 1) % 3].RestartAsync();
        await cluster.SeatsAsync(3);
        await load.CheckAsync();
    }

    [Fact]
    public async Task GivenANodeThatIsDownForLongerThanTheLogIsKept_WhenItStartsAgain_ThenItIsCopiedHasASeatAndCanLead()
    {
        EtcdProcess.SkipWithoutEtcd();
        await using ProcessCluster cluster = await ProcessCluster.StartAsync(
            etcd, isSync: false, "--Store:SegmentSizeBytes", "1MiB", "--Limits:MaxMessageBytes", "128KiB",
            "--Topics:RetentionInterval", "1s");
        await cluster.SeatsAsync(3);
        await using EQueueClient client = cluster.Connect();
        await client.Admin.CreateTopicAsync(
            "short", TopicSettings.None with { QueueCount = 1, RetentionBytes = 2 << 20 }, TestContext.Current.CancellationToken);
        await using Producer producer = client.CreateProducer();
        await SendAsync(producer, 100);
        int leader = await cluster.LeaderAsync();
        int node = (leader + 1) % 3;
        await cluster.Nodes[node].KillAsync();
        long end = LogComparison.SegmentsOf(cluster.DirectoryOf(node)).Keys.Max();
        await SendAsync(producer, 60);
        await Eventually.TrueAsync(async () =>
        {
            await SendAsync(producer, 10);
            return LogComparison.SegmentsOf(cluster.DirectoryOf(leader)).Keys.Min() > end;
        });

        await cluster.Nodes[node].RestartAsync();
        await cluster.SeatsAsync(3);
        Assert.Contains("copies the log anew", cluster.Nodes[node].Error, StringComparison.Ordinal);

        // No other node has it any more: what was copied is enough.
        await cluster.Nodes[leader].KillAsync();
        await SendAsync(producer, 10);
        await cluster.Nodes[leader].RestartAsync();
        await cluster.SeatsAsync(3);
        await cluster.CompareLogsAsync();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false, Traits = [LongRun.Trait, LongRun.Only])]
    public async Task GivenAllNodesKilledAtOnce_WhenTheyStartAgain_ThenTheyServeWithoutACommand(bool isSync)
    {
        EtcdProcess.SkipWithoutEtcd();
        await using ProcessCluster cluster = await ProcessCluster.StartAsync(etcd, isSync);
        await cluster.SeatsAsync(3);
        await using var load = new ScriptLoad(cluster.Connect());
        for (int round = 0; round < 2; round++)
        {
            await load.MoreAsync(300);
            await Task.WhenAll(cluster.Nodes.Select(node => node.KillAsync()));
            foreach (ServerProcess node in cluster.Nodes)
                await node.RestartAsync();
            await load.MoreAsync(300);
            await cluster.SeatsAsync(3);
        }

        await load.CheckAsync();
    }

    [Fact]
    public async Task GivenAnEtcdThatIsAway_WhenMessagesAreSent_ThenNothingIsRefusedAndLaterAFailoverWorks()
    {
        EtcdProcess.SkipWithoutEtcd();
        await using EtcdServer own = await EtcdServer.StartAsync();
        await using ProcessCluster cluster = await ProcessCluster.StartAsync(own, isSync: true);
        await cluster.SeatsAsync(3);
        await using var load = new ScriptLoad(cluster.Connect());
        await load.MoreAsync(200);
        int leader = await cluster.LeaderAsync();
        await own.Process.KillAsync();
        for (int i = 0; i < LongRun.Length("EQUEUE_CLUSTER_SECONDS", 5, 30); i++)
        {
            await load.MoreAsync(200);
            await Eventually.PassedAsync(TimeSpan.FromSeconds(1));
        }

        await own.Process.StartAsync(own.Process.Member);
        await own.Process.ReadyAsync();
        Assert.Equal(1, (await cluster.ReadStateAsync())!.Epoch);
        await cluster.Nodes[leader].KillAsync();
        await load.MoreAsync(200);
        await load.CheckAsync();
    }

    private static async Task SendAsync(Producer producer, int count)
    {
        byte[] body = new byte[100 << 10];
        for (int i = 0; i < count; i++)
            await producer.SendAsync("short", (ReadOnlySpan<byte>)body);
    }
}
