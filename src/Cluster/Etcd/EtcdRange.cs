namespace EQueue.Cluster.Etcd;

/// <summary>What a read of keys has found.</summary>
/// <param name="Revision">etcd's own revision at the read.</param>
/// <param name="Values">In the order of their keys.</param>
public sealed record EtcdRange(long Revision, IReadOnlyList<EtcdValue> Values);

/// <summary>A key and what it holds.</summary>
/// <param name="Key">The key, read as UTF-8.</param>
/// <param name="Value">Its bytes.</param>
/// <param name="ModRevision">The revision of its last change.</param>
public sealed record EtcdValue(string Key, byte[] Value, long ModRevision);
