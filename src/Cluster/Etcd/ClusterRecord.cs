namespace EQueue.Cluster.Etcd;

/// <summary>Who a cluster is, for all its time: the value of the key <c>cluster</c>.</summary>
/// <param name="ClusterId">The cluster's own; nodes of another one are refused.</param>
/// <param name="StoreId">What clients know the shard's store by, whichever node leads.</param>
/// <param name="LogId">The shard's log.</param>
/// <param name="Created">When.</param>
/// <param name="ShardCount">The number of shards; 1 so far.</param>
/// <param name="IsSync">Whether an entry counts at a seat once it is durable there (true) or written.</param>
public sealed record ClusterRecord(
    Guid ClusterId, Guid StoreId, Guid LogId, DateTimeOffset Created, int ShardCount, bool IsSync);
