namespace EQueue.Replication;

/// <summary>One read of a shard's keys in etcd, all of the same revision. It may be out of date.</summary>
/// <param name="Revision">The revision at which <see cref="State"/> was last changed; 0 when it is not there.</param>
/// <param name="State">Who leads; null before the shard's first epoch.</param>
/// <param name="History">The nonce of each of the last epochs.</param>
/// <param name="Lives">The life that each node has written last; a node that never started is missing.</param>
public sealed record ShardView(
    long Revision,
    ShardState? State,
    IReadOnlyDictionary<int, Nonce> History,
    IReadOnlyDictionary<string, Life> Lives);
