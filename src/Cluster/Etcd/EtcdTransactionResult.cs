namespace EQueue.Cluster.Etcd;

/// <summary>The answer to a transaction.</summary>
/// <param name="Succeeded">Whether all compares held.</param>
/// <param name="Revision">etcd's revision after it.</param>
/// <param name="Ranges">What the ranges among the operations that were done have read, in order.</param>
public sealed record EtcdTransactionResult(bool Succeeded, long Revision, IReadOnlyList<EtcdRange> Ranges);
