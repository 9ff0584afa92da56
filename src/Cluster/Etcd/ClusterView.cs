using EQueue.Replication;

namespace EQueue.Cluster.Etcd;

/// <summary>One read of a cluster's keys, all of the same revision.</summary>
/// <param name="EtcdRevision">etcd's revision at the read; it falls only when etcd was restored from a backup.</param>
/// <param name="Cluster">Who the cluster is.</param>
/// <param name="Nodes">The names of the nodes that the shard may use; the first one began it.</param>
/// <param name="Addresses">Where each node that ever started is reached, by its name.</param>
/// <param name="Shard">Who leads the shard.</param>
public sealed record ClusterView(
    long EtcdRevision,
    ClusterRecord Cluster,
    IReadOnlyList<string> Nodes,
    IReadOnlyDictionary<string, string> Addresses,
    ShardView Shard)
{
    private const int MostSeats = 3;

    /// <summary>The seats that the shard has when all is well.</summary>
    public int SeatCount => Math.Min(MostSeats, Nodes.Count);

    /// <summary>Reads the values of all keys; keys of other versions and other shards are passed over.</summary>
    /// <returns>Null when there is no key <c>cluster</c>: the cluster was not created.</returns>
    /// <exception cref="EtcdException">A key cannot be read; the message names it.</exception>
    internal static ClusterView? Read(ShardKeys keys, EtcdRange range)
    {
        ClusterRecord? cluster = null;
        IReadOnlyList<string>? nodes = null;
        ShardState? state = null;
        long revision = 0;
        var addresses = new Dictionary<string, string>(StringComparer.Ordinal);
        var lives = new Dictionary<string, Life>(StringComparer.Ordinal);
        var history = new Dictionary<int, Nonce>();
        foreach (EtcdValue found in range.Values)
        {
            if (found.Key == keys.Cluster)
            {
                cluster = ShardRecords.ReadCluster(found);
            }
            else if (found.Key == keys.ShardNodes)
            {
                nodes = ShardRecords.ReadNames(found);
            }
            else if (found.Key == keys.State)
            {
                (state, revision) = (ShardRecords.ReadState(found), found.ModRevision);
            }
            else if (found.Key.StartsWith(keys.NodePrefix, StringComparison.Ordinal))
            {
                string name = found.Key[keys.NodePrefix.Length..];
                (lives[name], addresses[name]) = ShardRecords.ReadNode(found);
            }
            else if (found.Key.StartsWith(keys.HistoryPrefix, StringComparison.Ordinal))
            {
                if (!keys.TryReadEpoch(found.Key, out int epoch))
                    throw ShardRecords.Unreadable(found.Key, "an epoch has ten digits");
                history[epoch] = ShardRecords.ReadNonce(found);
            }
        }

        if (cluster is null)
            return null;
        if (nodes is null)
            throw ShardRecords.Unreadable(keys.ShardNodes, "it is missing");
        return new ClusterView(
            range.Revision, cluster, nodes, addresses, new ShardView(revision, state, history, lives));
    }
}
