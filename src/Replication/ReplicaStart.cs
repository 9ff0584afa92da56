namespace EQueue.Replication;

/// <summary>What opening a directory has shown.</summary>
/// <param name="Node">The node's name.</param>
/// <param name="Life">The life that begins now.</param>
/// <param name="Before">What the directory said before; null for an empty one.</param>
/// <param name="IsWhole">No hole and no damage up to what was durable.</param>
/// <param name="IsClean">An orderly stop left a mark that names the log's end.</param>
/// <param name="Seed">Seeds the waiting times and the nonces; random in production.</param>
public sealed record ReplicaStart(
    string Node, Life Life, ReplicaRecord? Before, bool IsWhole, bool IsClean, ulong Seed);
