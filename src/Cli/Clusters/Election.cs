using System.Buffers.Binary;
using System.Security.Cryptography;
using EQueue.Cli.Output;
using EQueue.Cluster.Etcd;
using EQueue.Replication;

namespace EQueue.Cli.Clusters;

/// <summary>A person's choice of the node that is to lead alone.</summary>
internal sealed class Election
{
    private readonly ClusterStatus _status;
    private readonly NodeStatus _node;
    private readonly string _flags;
    private ShardState? _state;

    private Election(ClusterStatus status, NodeStatus node, string flags) =>
        (_status, _node, _flags) = (status, node, flags);

    /// <summary>What the node has, and what may be lost.</summary>
    public string What => $"{_node.Name} {Has} {Rest}";

    private string Has => _node.Role switch
    {
        NodeRole.Leader or NodeRole.Seat =>
            $"holds a seat of epoch {_status.State!.Epoch}: it has everything that was acknowledged.",
        NodeRole.FormerSeat =>
            $"held a seat of epoch {_status.State!.Epoch} until it was started anew: it has everything that was "
            + "acknowledged if its directory is still the same and flush policy is sync or it was stopped in order.",
        _ => $"holds no seat in epoch {_status.State!.Epoch}: what was acknowledged after it fell behind is lost.",
    };

    private string Rest
    {
        get
        {
            string[] others =
                [.. _status.State!.Seats.Select(static seat => seat.Node).Where(node => node != _node.Name)];
            return others.Length == 0 ? "No other node holds a seat."
                : $"What only {string.Join(" and ", others)} had is lost, and "
                    + $"{(others.Length == 1 ? "it copies" : "they copy")} "
                    + $"from {_node.Name} when {(others.Length == 1 ? "it comes" : "they come")} back.";
        }
    }

    /// <summary>Looks whether a node may be chosen.</summary>
    /// <param name="status">The cluster.</param>
    /// <param name="name">The node.</param>
    /// <param name="flags">The cluster, as options.</param>
    /// <exception cref="AdvisedException">There is no such node, it has nothing, or the cluster works.</exception>
    public static Election Of(ClusterStatus status, string name, string flags)
    {
        string look = $"equeue cluster status {flags}shows them";
        NodeStatus node = status.Nodes.FirstOrDefault(node => node.Name == name) ?? throw new AdvisedException(
            ExitCode.NotFound, $"The cluster '{status.Name}' has no node '{name}'.", look);
        if (status.State is not { } state)
        {
            throw new AdvisedException(
                ExitCode.Refused, "The log has not begun: nothing can be lost.",
                $"start node {status.Nodes[0].Name}, which begins it");
        }

        if (node.Life is null)
        {
            throw new AdvisedException(
                ExitCode.Refused, $"Node {name} never started: it has nothing.", look);
        }

        bool leads = status.Nodes.Any(one => one.Role == NodeRole.Leader
            && one.Answer?.Told is { } told && told.Leader == one.Address && told.Epoch == state.Epoch);
        return leads && !status.DeadSeats.Any()
            ? throw new AdvisedException(
                ExitCode.Refused,
                $"Node {state.Leader.Node} leads in epoch {state.Epoch}, and all seats answer: the cluster needs no "
                + "election.",
                $"equeue cluster status {flags}tells how it is")
            : new Election(status, node, flags);
    }

    /// <summary>Does it.</summary>
    /// <exception cref="AdvisedException">The cluster has changed since it was looked at.</exception>
    /// <exception cref="EtcdException">No answer: it may be done.</exception>
    public async Task RunAsync(EtcdShard shard, CancellationToken cancellationToken)
    {
        var nonce = new Nonce(BinaryPrimitives.ReadUInt128LittleEndian(RandomNumberGenerator.GetBytes(16)));
        _state = await EtcdPatience.AskAsync(
                () => shard.ElectAsync(_status.View, _node.Name, nonce, cancellationToken), cancellationToken)
            ?? throw new AdvisedException(
                ExitCode.Refused,
                "The cluster has changed meanwhile: it may have helped itself. Nothing was changed.",
                $"equeue cluster status {_flags}tells how it is");
    }

    /// <summary>Tells what was done.</summary>
    public void Write(CliStreams streams, bool isJson)
    {
        int epoch = _state!.Epoch;
        string[] others =
            [.. _status.Nodes.Where(node => node != _node && node.IsThere).Select(static node => node.Name)];
        if (isJson)
        {
            JsonLine.Write(streams.Output, json =>
            {
                json.WriteString("elected", _node.Name);
                json.WriteNumber("epoch", epoch);
                json.WriteString("life", _node.LifeText);
                json.WriteBoolean("answers", _node.IsThere);
                json.WriteString("what", What);
            });
            return;
        }

        using var writer = new StreamWriter(streams.Output, leaveOpen: true) { NewLine = "\n" };
        writer.WriteLine(What);
        writer.WriteLine(
            $"Epoch {epoch} has no leader, and node {_node.Name} alone holds a seat: it claims epoch {epoch + 1} "
            + "by itself"
            + (_node.IsThere ? ", within seconds." : " when it is started. Start it on the directory that it had."));
        if (others.Length > 0)
        {
            writer.WriteLine(
                $"While node {string.Join(" or ", others)} knows of more than {_node.Name} has, {_node.Name} gives "
                + "way: stop those nodes then.");
        }
    }
}
