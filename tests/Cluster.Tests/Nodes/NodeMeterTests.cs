using EQueue.Cluster.Tests.Etcd;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>What a node's meter tells.</summary>
public sealed class NodeMeterTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    [Fact]
    public async Task GivenThreeNodes_WhenAskedWhileOneFollowsAndOneServes_ThenEachTellsItsRole_AndThePageHasAllInstruments()
    {
        await using var proxy = new LinkProxy(etcd.Process.Address);
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        using MeterRecorder a = Listen(cluster, "a");
        using MeterRecorder b = Listen(cluster, "b");
        cluster.Nodes[0].Etcd = proxy.Uri;
        proxy.Refuse();
        await cluster.Nodes[0].StartAsync();
        Assert.Equal(0, Ask(a, "equeue.cluster.role"));
        await Eventually.TrueAsync(() => Ask(a, "equeue.cluster.etcd.failures") > 0);
        double waited = Ask(a, "equeue.cluster.etcd.put_age");
        await Eventually.TrueAsync(() => Ask(a, "equeue.cluster.etcd.put_age") > waited);

        proxy.Pass();
        await cluster.SeatsAsync(1);
        await cluster.Nodes[1].StartAsync();
        await cluster.Nodes[2].StartAsync();
        await cluster.SeatsAsync(3);
        Assert.Equal((3, 1), (Ask(a, "equeue.cluster.role"), Ask(b, "equeue.cluster.role")));
        Assert.Equal((1, 0), (Ask(a, "equeue.cluster.claims"), Ask(b, "equeue.cluster.claims")));
        await Eventually.TrueAsync(() => Ask(a, "equeue.cluster.seats") == 3 && Ask(b, "equeue.cluster.seats") == 3);
        await Eventually.TrueAsync(() => Ask(a, "equeue.cluster.epoch") == 1 && Ask(b, "equeue.cluster.epoch") == 1);
        await using var load = new Load(cluster);
        await load.StoredAsync(20);
        await Eventually.TrueAsync(() => Ask(a, "equeue.cluster.lag", "b") == 0);
        await Eventually.TrueAsync(() => Ask(b, "equeue.cluster.lag", "b") == 0);
        Assert.Equal((0, 0), (Ask(a, "equeue.cluster.alarms"), Ask(b, "equeue.cluster.alarms")));
        Assert.Equal(8, a.Instruments.Count);
        Assert.Empty(TelemetryPage.Miss(a.Instruments));

        await cluster.Nodes[1].KillAsync();
        await load.MoreAsync(20);
        Assert.InRange(Ask(a, "equeue.cluster.lag", "b"), 20 * 16, double.MaxValue);
        Assert.Empty(b.Observe("equeue.cluster.role"));
    }

    private static MeterRecorder Listen(TestCluster cluster, string node) => new(
        ClusterTelemetry.MeterName,
        meter => meter.Tags!.Contains(new(ClusterTelemetry.ClusterTag, cluster.Name))
            && meter.Tags!.Contains(new(ClusterTelemetry.NodeTag, node)));

    /// <summary>What an instrument tells now; of a lag, a node's.</summary>
    private static double Ask(MeterRecorder metrics, string instrument, string? peer = null) =>
        Assert.Single(metrics.Observe(instrument, peer is null ? null : ClusterTelemetry.PeerTag, peer)).Value;
}
