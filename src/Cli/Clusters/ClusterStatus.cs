using EQueue.Cluster.Etcd;
using EQueue.Replication;

namespace EQueue.Cli.Clusters;

/// <summary>How a cluster is: what stands in etcd, and what its nodes answer.</summary>
/// <param name="Name">The cluster's name.</param>
/// <param name="View">What stands in etcd.</param>
/// <param name="Nodes">Its nodes, in the order in which it was created.</param>
internal sealed record ClusterStatus(string Name, ClusterView View, IReadOnlyList<NodeStatus> Nodes)
{
    /// <summary>Who leads; null before the shard has begun.</summary>
    public ShardState? State => View.Shard.State;

    /// <summary>So many seats the cluster has when all is well.</summary>
    public int WantedSeats => View.SeatCount;

    /// <summary>The node that leads, and answers as the leader; null when there is none.</summary>
    public NodeStatus? Leader => Nodes.FirstOrDefault(static node =>
        node.Role == NodeRole.Leader
            && node.Answer is { IsServing: true, Told: { } told } && told.Leader == node.Address);

    /// <summary>The nodes that hold seats and answer.</summary>
    public IEnumerable<NodeStatus> LiveSeats => Nodes.Where(static node => node.HasSeat && node.IsThere);

    /// <summary>The nodes whose seats do not answer: nothing is committed while they are in the set.</summary>
    public IEnumerable<NodeStatus> DeadSeats => Nodes.Where(static node =>
        (node.HasSeat && !node.IsThere) || node.Role == NodeRole.FormerSeat);

    /// <summary>Whether messages are taken now.</summary>
    public bool TakesMessages => Leader is not null && !DeadSeats.Any();

    /// <summary>Whether messages are taken, and the next failure of a node takes nothing away.</summary>
    public bool IsHealthy => TakesMessages && LiveSeats.Count() >= WantedSeats;

    /// <summary>Reads etcd, and asks all nodes at once.</summary>
    /// <param name="shard">The cluster's.</param>
    /// <param name="name">Its name.</param>
    /// <param name="tls">How TLS is spoken with the nodes; null without.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>Null when there is no such cluster.</returns>
    /// <exception cref="EtcdException">etcd does not answer, or a key cannot be read.</exception>
    public static async Task<ClusterStatus?> ReadAsync(
        EtcdShard shard, string name, TlsOptions? tls, CancellationToken cancellationToken)
    {
        ClusterView? read = await EtcdPatience.AskAsync(() => shard.ReadAsync(cancellationToken), cancellationToken);
        if (read is not { } view)
            return null;
        NodeStatus[] nodes = await Task.WhenAll(view.Nodes.Select(async node =>
        {
            string? address = view.Addresses.GetValueOrDefault(node);
            NodeAnswer? answer = address is null ? null : await NodeProbe.AskAsync(address, tls, cancellationToken);
            Life? life = view.Shard.Lives.TryGetValue(node, out Life found) ? found : null;
            return new NodeStatus(node, address, life, RoleOf(view.Shard.State, node, life), answer);
        }));
        return new ClusterStatus(name, view, nodes);
    }

    private static NodeRole RoleOf(ShardState? state, string node, Life? life)
    {
        if (state?.SeatOf(node) is not { } seat)
            return life is null ? NodeRole.NeverStarted : NodeRole.NoSeat;
        return seat.Life != life ? NodeRole.FormerSeat
            : state.Leader == seat ? NodeRole.Leader : NodeRole.Seat;
    }
}
