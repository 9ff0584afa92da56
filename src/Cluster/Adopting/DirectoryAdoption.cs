using System.Text.Json;
using System.Text.Json.Serialization;
using EQueue.Cluster.Etcd;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Replication;

namespace EQueue.Cluster;

/// <summary>Makes the data directory of a single broker that is stopped that of a new cluster's node.</summary>
/// <remarks>
/// The order keeps a crash harmless: the cluster's ids and the seat's life are noted in the directory, which nothing
/// opens from then on; the files are moved; the cluster is created with that seat; the note goes. So a cluster is never
/// there without its log, and no other directory can begin it. Begun and not ended, it continues where it was.
/// One thread at a time.
/// </remarks>
public sealed class DirectoryAdoption : IDisposable
{
    private readonly StoreMove _move;
    private readonly AdoptionJson _plan;

    private DirectoryAdoption(StoreMove move, AdoptionJson plan)
    {
        (_move, _plan) = (move, plan);
        Record = new ClusterRecord(
            plan.ClusterId, move.StoreId, move.LogId, plan.Created, ShardCount: 1, plan.IsSync);
    }

    /// <summary>Who the cluster will be.</summary>
    public ClusterRecord Record { get; }

    /// <summary>The shard's first state: the directory alone has a seat.</summary>
    public ShardState State => new(0, default, [new Seat(_plan.Node, LifeOf(_plan))], 1, default);

    /// <summary>Whether a former run has begun it: the files are moved, or some of them.</summary>
    public bool HasBegun => _move.Note is not null;

    /// <summary>Looks at a directory, and takes its lock until <see cref="Dispose"/>. Nothing is changed.</summary>
    /// <param name="dataDirectory">The broker's data directory.</param>
    /// <param name="cluster">The cluster's name.</param>
    /// <param name="node">The node whose directory it becomes; one of <paramref name="nodes"/>.</param>
    /// <param name="nodes">All nodes of the cluster.</param>
    /// <param name="isSync">The cluster's flush policy.</param>
    /// <param name="time">For the time of creation.</param>
    /// <param name="disk">Where it is; null = this system's files.</param>
    /// <exception cref="ClusterException">A former run has begun with other names or another policy.</exception>
    /// <exception cref="StoreFormatException">As <see cref="StoreMove.Open"/>.</exception>
    /// <exception cref="DiskException">As <see cref="StoreMove.Open"/>.</exception>
    public static DirectoryAdoption Open(
        string dataDirectory,
        string cluster,
        string node,
        IReadOnlyList<string> nodes,
        bool isSync,
        TimeProvider time,
        IDisk? disk = null)
    {
        string data = Path.GetFullPath(dataDirectory);
        var move = StoreMove.Open(data, ShardDirectory.PathIn(data), disk);
        try
        {
            var asked = new AdoptionJson(
                cluster, node, [.. nodes], isSync, Guid.NewGuid(), time.GetUtcNow(), Guid.NewGuid(), move.End.Value);
            if (move.Note is not { } note)
                return new DirectoryAdoption(move, asked);
            AdoptionJson begun = JsonSerializer.Deserialize(note.Span, AdoptionText.Default.AdoptionJson)
                ?? throw new ClusterException($"The note of the adoption that was begun in {data} cannot be read.");
            bool isSame = begun.Cluster == cluster && begun.Node == node && begun.IsSync == isSync
                && begun.Nodes.SequenceEqual(nodes);
            return isSame
                ? new DirectoryAdoption(move, begun)
                : throw new ClusterException(
                    $"The adoption of {data} was begun with other options: --name {begun.Cluster} --node {begun.Node} "
                    + $"--nodes {string.Join(',', begun.Nodes)} --flush {(begun.IsSync ? "sync" : "async")}.");
        }
        catch
        {
            move.Dispose();
            throw;
        }
    }

    /// <summary>Moves the files to where a node has its replica; durable when it returns.</summary>
    public void Move()
    {
        if (!HasBegun)
            _move.Begin(JsonSerializer.SerializeToUtf8Bytes(_plan, AdoptionText.Default.AdoptionJson));
        var end = new LogPosition(_plan.End);
        // A broker that stopped in order has all of it on disk, and what it had was acknowledged or may count as such.
        var record = new ReplicaRecord(LifeOf(_plan), [], IsSync: true, 0, default, end, end);
        _move.Move(end, RecordCodec.Write(record));
    }

    /// <summary>Ends it: the cluster is created, and the node may open its directory.</summary>
    public void Finish() => _move.Finish();

    /// <inheritdoc/>
    public void Dispose() => _move.Dispose();

    private static Life LifeOf(AdoptionJson plan)
    {
        Span<byte> bytes = stackalloc byte[16];
        plan.Life.TryWriteBytes(bytes, bigEndian: true, out _);
        return new Life(System.Buffers.Binary.BinaryPrimitives.ReadUInt128BigEndian(bytes));
    }
}

/// <summary>What the file <c>adopting</c> holds: all that a second run must do as the first one.</summary>
internal sealed record AdoptionJson(
    string Cluster,
    string Node,
    string[] Nodes,
    bool IsSync,
    Guid ClusterId,
    DateTimeOffset Created,
    Guid Life,
    long End);

[JsonSourceGenerationOptions(JsonSerializerDefaults.Strict, PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(AdoptionJson))]
internal sealed partial class AdoptionText : JsonSerializerContext;
