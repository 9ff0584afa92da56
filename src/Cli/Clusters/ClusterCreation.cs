using EQueue.Cluster.Etcd;
using EQueue.Replication;

namespace EQueue.Cli.Clusters;

/// <summary>Writes a new cluster's keys.</summary>
internal static class ClusterCreation
{
    /// <summary>Creates the cluster; an answer that was lost is asked for again, since the same cluster is created once
    /// however often it is asked for.</summary>
    /// <returns>False when there is another cluster of this name.</returns>
    /// <exception cref="EtcdException">No answer: the cluster may be there.</exception>
    public static Task<bool> CreateAsync(
        EtcdShard shard,
        ClusterRecord record,
        IReadOnlyList<string> nodes,
        ShardState? state,
        CancellationToken cancellationToken) => EtcdPatience.AskAsync(
            () => shard.CreateAsync(record, nodes, state, cancellationToken), cancellationToken);

    /// <summary>What is said when there is a cluster of the name.</summary>
    public static async Task<Exception> ExistsAsync(
        EtcdShard shard, string name, string flags, CancellationToken cancellationToken)
    {
        ClusterView? there = await EtcdPatience.AskAsync(
            () => shard.ReadAsync(cancellationToken), cancellationToken);
        string what = there is null ? ""
            : $", created on {there.Cluster.Created.UtcDateTime:yyyy-MM-dd} with the nodes "
                + string.Join(", ", there.Nodes);
        return new AdvisedException(
            ExitCode.Failed,
            $"There is a cluster '{name}' in this etcd already{what}.",
            $"equeue cluster status {flags}shows it; --name gives a new cluster another name");
    }
}
