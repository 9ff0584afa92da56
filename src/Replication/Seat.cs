namespace EQueue.Replication;

/// <summary>A place in a shard's set, held by one life of one node: without its answer nothing is committed.</summary>
/// <param name="Node">The node's name in the cluster.</param>
/// <param name="Life">The life that holds the seat; a restarted process holds none until a transaction says so.</param>
public readonly record struct Seat(string Node, Life Life);
