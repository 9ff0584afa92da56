using EQueue.Cluster.Tests.Etcd;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>A disk that stands still for 6 s of every 10.</summary>
/// <remarks>EQUEUE_CLUSTER_SECONDS makes it long: 600 for the figure of docs/cluster.md.</remarks>
public sealed class StallTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private const int LetOut = 7042;
    private const int Resigns = 7043;
    private static readonly TimeSpan Step = TimeSpan.FromMilliseconds(100);

    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    public async Task GivenADiskThatStandsStillMostOfTheTime_WhenMessagesAreSent_ThenTheOthersGoOnWithoutIt(int node)
    {
        EtcdProcess.SkipWithoutEtcd();
        int seconds = LongRun.Length("EQUEUE_CLUSTER_SECONDS", 10, 60);
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        var disk = new SimulatedDisk();
        var gate = new ManualResetEventSlim(initialState: true); // nodes that stop use it to the end
        disk.OnChange = (kind, _) =>
        {
            if (kind == DiskOperationKind.SyncFile)
                gate.Wait();
        };
        foreach (TestNode one in cluster.Nodes)
            one.IsSmall = true;
        cluster.Nodes[node].Disk = disk;
        await cluster.Nodes[0].StartAsync();
        await cluster.SeatsAsync(1);
        await cluster.Nodes[1].StartAsync();
        await cluster.Nodes[2].StartAsync();
        await cluster.SeatsAsync(3);
        await using var load = new Load(cluster);
        await load.StoredAsync(50);

        int still = 0, steps = seconds * 10;
        try
        {
            for (int i = 0; i < steps; i++)
            {
                if (i % 100 == 0)
                    gate.Reset();
                if (i % 100 == 60)
                    gate.Set();
                long before = load.Acknowledged;
                await Eventually.PassedAsync(Step);
                if (load.Acknowledged == before)
                    still++;
            }
        }
        finally
        {
            gate.Set();
        }

        TestContext.Current.TestOutputHelper!.WriteLine($"nothing was acknowledged in {still} of {steps} steps");
        await load.MoreAsync(10);
        await load.CheckAsync();

        // The first stand-still is always felt, and one that comes after 10 s. Without the rule it would be 60 of 100.
        Assert.InRange(still, 0, steps * (seconds >= 300 ? 15 : 50) / 100);
        Assert.Contains(cluster.Log, one => one.Line.Id is LetOut or Resigns);
    }
}
