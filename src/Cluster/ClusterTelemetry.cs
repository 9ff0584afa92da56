namespace EQueue.Cluster;

/// <summary>Where a node's metrics are to be had; docs/telemetry.md lists them.</summary>
public static class ClusterTelemetry
{
    /// <summary>The name of each node's <see cref="System.Diagnostics.Metrics.Meter"/>.</summary>
    public const string MeterName = "EQueue.Cluster";

    /// <summary>The meter's tag with the cluster's name.</summary>
    public const string ClusterTag = "equeue.cluster.name";

    /// <summary>The meter's tag with the node's name.</summary>
    public const string NodeTag = "equeue.cluster.node";

    /// <summary>The attribute of a lag that names the node which is behind.</summary>
    public const string PeerTag = "equeue.cluster.peer";
}
