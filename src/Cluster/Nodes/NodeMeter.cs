using System.Diagnostics.Metrics;

namespace EQueue.Cluster;

/// <summary>A node's metrics, read when a listener asks; docs/telemetry.md has the list.</summary>
internal sealed class NodeMeter : IDisposable
{
    private readonly Meter _meter;

    /// <summary>Makes the meter, from now on to be listened to.</summary>
    /// <param name="options">Whose.</param>
    /// <param name="counters">What is counted.</param>
    /// <param name="epoch">The newest epoch known.</param>
    /// <param name="replica">The life that runs; null while the node waits.</param>
    public NodeMeter(ClusterOptions options, NodeCounters counters, Func<int> epoch, Func<Replica?> replica)
    {
        _meter = new Meter(new MeterOptions(ClusterTelemetry.MeterName)
        {
            Version = typeof(NodeMeter).Assembly.GetName().Version?.ToString(),
            Tags = [new(ClusterTelemetry.ClusterTag, options.Name), new(ClusterTelemetry.NodeTag, options.Node)],
        });
        _meter.CreateObservableGauge("equeue.cluster.epoch", epoch, "{epoch}", "The newest epoch that is known.");
        _meter.CreateObservableGauge(
            "equeue.cluster.role", () => (int)(replica()?.Role ?? NodeRole.Waits), "{role}",
            "0 waits for etcd or a copy, 1 follows, 2 leads and does not serve yet, 3 serves.");
        _meter.CreateObservableUpDownCounter(
            "equeue.cluster.seats", () => replica()?.SeatCount ?? 0, "{seat}", "Seats of the shard, as etcd has them.");
        _meter.CreateObservableGauge(
            "equeue.cluster.lag", () => LagOf(replica(), options.Node, counters), "By",
            "How far a node's log is behind: this one's while it follows, the others' while it leads.");
        _meter.CreateObservableCounter(
            "equeue.cluster.claims", () => counters.Claims, "{claim}", "Attempts of this node to lead.");
        _meter.CreateObservableCounter(
            "equeue.cluster.etcd.failures", () => counters.EtcdFailures, "{request}",
            "Requests without a good answer.");
        _meter.CreateObservableGauge(
            "equeue.cluster.etcd.put_age", () => counters.PutAge.TotalSeconds, "s",
            "Time since etcd took the put that each node makes once a minute.");
        _meter.CreateObservableCounter(
            "equeue.cluster.alarms", () => counters.Alarms, "{alarm}", "What the rules had to tell a person.");
    }

    public void Dispose() => _meter.Dispose();

    private static IEnumerable<Measurement<long>> LagOf(Replica? replica, string node, NodeCounters counters)
    {
        if (replica is null)
            return [];
        return replica.LeadingStore is { } store
            ? counters.Positions.Select(peer => Lag(peer.Key, store.Watermarks.Written.Value - peer.Value))
            : [Lag(node, counters.LeaderCommitted - replica.End.Value)];
    }

    private static Measurement<long> Lag(string node, long bytes) =>
        new(Math.Max(0, bytes), new KeyValuePair<string, object?>(ClusterTelemetry.PeerTag, node));
}

/// <summary>What a node does. Numbers are shown: never changed.</summary>
internal enum NodeRole
{
    /// <summary>For etcd, or for a copy of the log.</summary>
    Waits = 0,

    /// <summary>Keeps a copy.</summary>
    Follows = 1,

    /// <summary>Leads, and takes no messages yet.</summary>
    Leads = 2,

    /// <summary>Serves clients.</summary>
    Serves = 3,
}
