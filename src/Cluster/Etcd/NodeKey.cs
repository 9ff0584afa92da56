using EQueue.Replication;

namespace EQueue.Cluster.Etcd;

/// <summary>This node's own key: its life and address, put again and again.</summary>
/// <remarks>
/// Each put compares what is replaced, so that a late one of a former life never hides a newer life. One caller at a
/// time puts; the other members may be called by any thread.
/// </remarks>
internal sealed class NodeKey(IEtcd etcd, ShardKeys keys, string name)
{
    private const int MostRounds = 3;

    private volatile Own? _own;
    private volatile Place? _place;

    /// <summary>This node.</summary>
    public string Name => name;

    /// <summary>The shard's nodes as the last put has found them; null before.</summary>
    public IReadOnlyList<string>? Names => _place?.Names;

    /// <summary>The bytes that this process has put, whether etcd has answered or not.</summary>
    /// <exception cref="InvalidOperationException">It has put none, or another life.</exception>
    public byte[] ValueOf(Life life) => _own is { } own && own.Life == life
        ? own.Value
        : throw new InvalidOperationException($"The node {name} has not put this life.");

    /// <inheritdoc cref="EtcdShard.PutNodeAsync"/>
    public async Task<bool> PutAsync(Life life, string address, CancellationToken cancellationToken)
    {
        if (!ShardRecords.IsAddress(address))
            throw new ArgumentException($"A node's address is host:port; found {address}.", nameof(address));
        var own = new Own(life, ShardRecords.Write(life, address), _own?.Life == life ? _own.Revision : 0);
        _own = own;
        Place place = _place ?? await ReadAsync(cancellationToken);
        for (int round = 0; round < MostRounds; round++)
        {
            Check(place);
            bool isOther = place.Value is not null && !place.Value.AsSpan().SequenceEqual(own.Value);
            // An older value comes back when etcd is restored: it is replaced. A newer one is another process's.
            if (isOther && own.Revision > 0 && place.Revision > own.Revision)
                return false;
            EtcdTransactionResult result = await etcd.TransactAsync(
                [
                    EtcdCompare.Holds(keys.ShardNodes, place.NamesValue),
                    place.Value is null
                        ? EtcdCompare.IsAbsent(EtcdKeys.One(keys.Node(name)))
                        : EtcdCompare.Holds(keys.Node(name), place.Value),
                ],
                [EtcdOperation.Put(keys.Node(name), own.Value)],
                [
                    EtcdOperation.Range(EtcdKeys.One(keys.ShardNodes)),
                    EtcdOperation.Range(EtcdKeys.One(keys.Node(name))),
                ],
                cancellationToken);
            if (result.Succeeded)
            {
                _own = own with { Revision = result.Revision };
                _place = place with { Value = own.Value, Revision = result.Revision };
                return true;
            }

            _place = place = PlaceOf([.. result.Ranges.SelectMany(range => range.Values)]);
        }

        throw new EtcdException(EtcdTrouble.Unavailable, $"the key {keys.Node(name)} changes all the time");
    }

    private async Task<Place> ReadAsync(CancellationToken cancellationToken)
        => PlaceOf((await etcd.RangeAsync(keys.All, cancellationToken)).Values);

    private Place PlaceOf(IReadOnlyList<EtcdValue> values)
    {
        EtcdValue names = values.FirstOrDefault(value => value.Key == keys.ShardNodes)
            ?? throw new EtcdException(
                EtcdTrouble.Refused, $"the cluster was not created: etcd has no key {keys.ShardNodes}");
        EtcdValue? mine = values.FirstOrDefault(value => value.Key == keys.Node(name));
        return new Place(names.Value, ShardRecords.ReadNames(names), mine?.Value, mine?.ModRevision ?? 0);
    }

    private void Check(Place place)
    {
        if (place.Names.Contains(name, StringComparer.Ordinal))
            return;
        // The list may change: the next call reads it anew.
        _place = null;
        string nodes = string.Join(", ", place.Names);
        throw new EtcdException(EtcdTrouble.Refused, $"the node {name} is not one of the cluster's, which are {nodes}");
    }

    /// <summary>What this process puts, and the revision of its last put that was answered.</summary>
    private sealed record Own(Life Life, byte[] Value, long Revision);

    /// <summary>What etcd had: the shard's nodes, and this node's key.</summary>
    private sealed record Place(byte[] NamesValue, IReadOnlyList<string> Names, byte[]? Value, long Revision);
}
