using EQueue.Cluster.Tests.Etcd;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>etcd is put back from a backup, and nodes go on failing: an epoch never has two contents.</summary>
/// <remarks>EQUEUE_CLUSTER_RUNS and EQUEUE_CLUSTER_SEED make it long.</remarks>
public sealed class EtcdRestoredTests
{
    private const int Restored = 7024;
    private const int WaitsForPerson = 7040;

    [Fact]
    public async Task GivenEtcdRestoredFromABackup_WhenNodesGoOnFailing_ThenNoEpochHasTwoContents()
    {
        EtcdProcess.SkipWithoutEtcd();
        int first = LongRun.Setting("EQUEUE_CLUSTER_SEED", 1);
        for (int seed = first; seed < first + LongRun.Length("EQUEUE_CLUSTER_RUNS", 1, 6); seed++)
        {
            try
            {
                await RunAsync(seed);
            }
            catch (Exception exception)
            {
                throw new InvalidOperationException($"seed {seed}: {exception.Message}", exception);
            }
        }
    }

    private static async Task RunAsync(int seed)
    {
        var random = new Random(seed);
        await using EtcdServer etcd = await EtcdServer.StartAsync();
        await using TestCluster cluster = await TestCluster.StartAsync(etcd);
        await cluster.SeatsAsync(3);
        await using var load = new Load(cluster);
        await load.StoredAsync(50);
        await FailAsync(random.Next(2));
        string backup = await etcd.Process.SaveAsync();
        await FailAsync(random.Next(3));
        await etcd.Process.RestoreAsync(backup);
        long acknowledged = load.Acknowledged;
        for (int i = 0; i < 3; i++)
        {
            TestNode node = cluster.Nodes[random.Next(3)];
            await node.KillAsync();
            await Eventually.PassedAsync(TimeSpan.FromMilliseconds(random.Next(2500)));
            await node.StartAsync();
            await Eventually.PassedAsync(TimeSpan.FromMilliseconds(random.Next(2500)));
        }

        // Either it continues, or it says why not.
        await Eventually.TrueAsync(() => load.Acknowledged > acknowledged
            || cluster.Log.Any(one => one.Line.Id is Restored or WaitsForPerson));
        foreach (TestNode node in cluster.Nodes)
            await node.KillAsync();
        int compared = LogComparison.AssertOneContent(cluster.Nodes.Select(node => node.Directory));
        TestContext.Current.TestOutputHelper!.WriteLine(
            $"seed {seed}: {acknowledged} acknowledged before, {load.Acknowledged} after, {compared} entries compared, "
            + $"{cluster.Log.Count(one => one.Line.Id == WaitsForPerson)} nodes wait for a person");

        async Task FailAsync(int times)
        {
            for (int i = 0; i < times; i++)
            {
                TestNode leader = cluster.Leader!;
                await leader.KillAsync();
                await load.MoreAsync(20);
                await leader.StartAsync();
                await cluster.SeatsAsync(3);
            }
        }
    }
}
