using EQueue.Replication;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cluster.Etcd;

/// <summary>One shard of one cluster in etcd: read as a whole, changed by transactions alone.</summary>
/// <remarks>
/// Thread-safe; <see cref="PutNodeAsync"/> is called by one caller at a time. What etcd's answer left open is never
/// taken for a failure: the callers' rules count it as both.
/// </remarks>
public sealed class EtcdShard
{
    private readonly IEtcd _etcd;
    private readonly ShardKeys _keys;
    private readonly NodeKey? _node;
    private readonly string _cluster;
    private readonly ILogger _logger;
    private Transaction? _told;

    /// <summary>Reads and writes nothing yet.</summary>
    /// <param name="etcd">Stays the caller's.</param>
    /// <param name="cluster">The cluster's name.</param>
    /// <param name="node">This node's name; null for a program that is none.</param>
    /// <param name="shard">The shard's number.</param>
    /// <param name="logger">Told of each transaction whose outcome is not known, once.</param>
    public EtcdShard(IEtcd etcd, string cluster, string? node, int shard = 0, ILogger? logger = null)
    {
        _etcd = etcd;
        _cluster = cluster;
        _keys = new ShardKeys(cluster, shard);
        _node = node is null ? null : new NodeKey(etcd, _keys, node);
        _logger = logger ?? NullLogger.Instance;
    }

    /// <summary>Reads all keys of the cluster, linearizable.</summary>
    /// <returns>Null when the cluster was not created.</returns>
    /// <exception cref="EtcdException">No answer, or a key that cannot be read: the message names it.</exception>
    public async Task<ClusterView?> ReadAsync(CancellationToken cancellationToken)
        => ClusterView.Read(_keys, await _etcd.RangeAsync(_keys.All, cancellationToken));

    /// <summary>Creates the cluster, unless there is one.</summary>
    /// <param name="record">Who it is.</param>
    /// <param name="nodes">The shard's nodes. The first begins the shard (<see cref="TryBeginAsync"/>) when
    /// <paramref name="state"/> is null.</param>
    /// <param name="state">The shard's first state, when the life that holds its seat is known already.</param>
    /// <param name="cancellationToken">Gives up; the cluster may be created nevertheless.</param>
    /// <returns>False when a cluster of this name is there, and is another one than
    /// <paramref name="record"/>.</returns>
    /// <exception cref="ArgumentException">A node's name is wrong or there twice.</exception>
    /// <exception cref="EtcdException">No answer; or keys of a cluster without the key <c>cluster</c>.</exception>
    public async Task<bool> CreateAsync(
        ClusterRecord record,
        IReadOnlyList<string> nodes,
        ShardState? state,
        CancellationToken cancellationToken)
    {
        if (!ShardRecords.AreNames(nodes))
            throw new ArgumentException("A cluster has 1 to 100 nodes with different names.", nameof(nodes));
        byte[] identity = ShardRecords.Write(record);
        List<EtcdOperation> puts =
        [
            EtcdOperation.Put(_keys.Cluster, identity),
            EtcdOperation.Put(_keys.ShardNodes, ShardRecords.Write(nodes)),
        ];
        if (state is not null)
            puts.Add(EtcdOperation.Put(_keys.State, ShardRecords.Write(state)));
        if (state is { Epoch: > 0 })
            puts.Add(EtcdOperation.Put(_keys.History(state.Epoch), ShardRecords.Write(state.Nonce)));
        EtcdTransactionResult result = await _etcd.TransactAsync(
            [EtcdCompare.IsAbsent(_keys.All)], puts, [EtcdOperation.Range(_keys.All)], cancellationToken);
        if (result.Succeeded)
            return true;
        IReadOnlyList<EtcdValue> found = OnlyRange(result).Values;
        EtcdValue? there = found.FirstOrDefault(value => value.Key == _keys.Cluster);
        if (there is null)
        {
            throw ShardRecords.Unreadable(
                found.Count > 0 ? found[0].Key : _keys.Prefix, $"it is there, but {_keys.Cluster} is not");
        }

        // An attempt whose answer was lost has created this very cluster.
        return there.Value.AsSpan().SequenceEqual(identity);
    }

    /// <summary>Puts this node's key: at the start, then once a minute, since a write alone shows that etcd takes
    /// writes.</summary>
    /// <param name="life">This process's life; it stays the same.</param>
    /// <param name="address">Where other nodes reach it, as host:port.</param>
    /// <param name="cancellationToken">Gives up; the key may be put nevertheless.</param>
    /// <returns>False when a later life of this node has put its own: this process has been replaced, or a second one
    /// runs under the same name.</returns>
    /// <exception cref="EtcdException">No answer; or the node is not one of the shard's.</exception>
    public Task<bool> PutNodeAsync(Life life, string address, CancellationToken cancellationToken)
        => Node.PutAsync(life, address, cancellationToken);

    /// <summary>Begins the shard's log in an empty directory of its first node: epoch 0, no leader, one seat.</summary>
    /// <param name="first">This node, which the cluster was created with as the first, in the life that it has
    /// put.</param>
    /// <param name="cancellationToken">Gives up; the shard may have begun nevertheless.</param>
    /// <returns>Whether the shard begins with this seat. Never again when a shard has begun once, even if its state is
    /// lost.</returns>
    /// <exception cref="EtcdException">No answer: the shard may have begun.</exception>
    public async Task<bool> TryBeginAsync(Seat first, CancellationToken cancellationToken)
    {
        NodeKey node = Node;
        if (node.Names is not [var name, ..] || name != first.Node || name != node.Name)
            return false;
        byte[] state = ShardRecords.Write(new ShardState(0, default, [first], 1, default));
        EtcdTransactionResult result = await _etcd.TransactAsync(
            [
                EtcdCompare.IsPresent(_keys.Cluster),
                EtcdCompare.Holds(_keys.ShardNodes, ShardRecords.Write(node.Names)),
                EtcdCompare.Holds(_keys.Node(first.Node), node.ValueOf(first.Life)),
                EtcdCompare.IsAbsent(EtcdKeys.One(_keys.State)),
                EtcdCompare.IsAbsent(EtcdKeys.Below(_keys.HistoryPrefix)),
            ],
            [EtcdOperation.Put(_keys.State, state)],
            [EtcdOperation.Range(EtcdKeys.One(_keys.State))],
            cancellationToken);
        // An attempt whose answer was lost has begun with this very seat.
        return result.Succeeded
            || (OnlyRange(result).Values is [var found] && found.Value.AsSpan().SequenceEqual(state));
    }

    /// <summary>Changes the shard's state as the rules ask.</summary>
    /// <remarks>
    /// A refusal is told only when it is final for every attempt, those whose answers are late included: when the
    /// state is another one than expected. While the state is as expected and another compare fails (this node's key,
    /// the history), an earlier attempt could still succeed, so that the outcome is unknown.
    /// </remarks>
    /// <param name="transaction">The change; its author is this node in the life that it has put.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public async Task<TransactionResult> TransactAsync(Transaction transaction, CancellationToken cancellationToken)
    {
        try
        {
            EtcdTransactionResult result = await _etcd.TransactAsync(
                Compares(transaction), Changes(transaction), [EtcdOperation.Range(_keys.All)], cancellationToken);
            ShardView view = ClusterView.Read(_keys, OnlyRange(result))?.Shard
                ?? throw ShardRecords.Unreadable(_keys.Cluster, "it is missing");
            if (result.Succeeded)
                return new TransactionResult(TransactionOutcome.Succeeded, view);
            bool isAsExpected = view.Revision == transaction.ExpectedRevision
                && Equals(view.State, transaction.Expected);
            return isAsExpected
                ? Unknown(transaction, WhyNot(transaction, view))
                : new TransactionResult(TransactionOutcome.Refused, view);
        }
        catch (EtcdException failure)
        {
            return Unknown(transaction, failure.Message);
        }
    }

    /// <summary>Makes one node the only seat, in an epoch without a leader: that node claims the next one. What it
    /// does not have is lost, so that a person must have decided it.</summary>
    /// <param name="view">What was read: nothing is changed when the state, or the node's life, is another one
    /// now.</param>
    /// <param name="node">One that has started.</param>
    /// <param name="nonce">Random; the same when a call is repeated whose answer was lost.</param>
    /// <param name="cancellationToken">Gives up; it may be done nevertheless.</param>
    /// <returns>The new state; null when etcd holds another state, or another life of the node.</returns>
    /// <exception cref="ArgumentException">The shard has not begun, or the node never started.</exception>
    /// <exception cref="EtcdException">No answer: it may be done.</exception>
    public async Task<ShardState?> ElectAsync(
        ClusterView view, string node, Nonce nonce, CancellationToken cancellationToken)
    {
        if (view.Shard.State is not { } state)
            throw new ArgumentException("The shard has not begun.", nameof(view));
        if (!view.Shard.Lives.TryGetValue(node, out Life life))
            throw new ArgumentException($"The node {node} never started.", nameof(node));
        var next = new ShardState(state.Epoch + 1, default, [new Seat(node, life)], 1, nonce);
        EtcdTransactionResult result = await _etcd.TransactAsync(
            [
                EtcdCompare.IsAt(_keys.State, view.Shard.Revision),
                EtcdCompare.Holds(_keys.State, ShardRecords.Write(state)),
                EtcdCompare.Holds(_keys.Node(node), ShardRecords.Write(life, view.Addresses[node])),
            ],
            PutsOf(next, state.Epoch),
            [EtcdOperation.Range(EtcdKeys.One(_keys.State))],
            cancellationToken);
        // An attempt whose answer was lost has made this very state.
        bool isDone = result.Succeeded || (OnlyRange(result).Values is [var found]
            && found.Value.AsSpan().SequenceEqual(ShardRecords.Write(next)));
        return isDone ? next : null;
    }

    private NodeKey Node
        => _node ?? throw new InvalidOperationException("Only a node of the cluster has a key of its own.");

    private List<EtcdCompare> Compares(Transaction transaction)
    {
        Seat author = transaction.Author;
        List<EtcdCompare> compares =
        [
            EtcdCompare.IsAt(_keys.State, transaction.ExpectedRevision),
            transaction.Expected is { } expected
                ? EtcdCompare.Holds(_keys.State, ShardRecords.Write(expected))
                : EtcdCompare.IsAbsent(EtcdKeys.One(_keys.State)),
            EtcdCompare.Holds(_keys.Node(author.Node), Node.ValueOf(author.Life)),
        ];
        if (transaction.Acted is { Epoch: > 0 } acted)
            compares.Add(EtcdCompare.Holds(_keys.History(acted.Epoch), ShardRecords.Write(acted.Nonce)));
        return compares;
    }

    private List<EtcdOperation> Changes(Transaction transaction)
    {
        List<EtcdOperation> changes = transaction.IsNewEpoch
            ? PutsOf(transaction.Next, transaction.Expected?.Epoch ?? 0)
            : [EtcdOperation.Put(_keys.State, ShardRecords.Write(transaction.Next))];
        changes.Add(EtcdOperation.Range(_keys.All));
        return changes;
    }

    /// <summary>Puts a state that begins an epoch.</summary>
    private List<EtcdOperation> PutsOf(ShardState next, int lastEpoch)
    {
        List<EtcdOperation> puts =
        [
            EtcdOperation.Put(_keys.State, ShardRecords.Write(next)),
            EtcdOperation.Put(_keys.History(next.Epoch), ShardRecords.Write(next.Nonce)),
        ];
        // By the last epoch, not by the next: numbers may leap, and the last row must stay for those who acted on it
        // (rule R11).
        int oldest = lastEpoch + 1 - ShardKeys.MostEpochs;
        if (oldest > 0)
            puts.Add(EtcdOperation.Delete(_keys.HistoryUpTo(oldest)));
        return puts;
    }

    private static string WhyNot(Transaction transaction, ShardView view)
    {
        (string node, Life life) = transaction.Author;
        return !view.Lives.TryGetValue(node, out Life found) || found != life
            ? $"etcd holds another life of {node}"
            : $"etcd does not hold this node's key as it was put, or not epoch {transaction.Acted.Epoch} as it was";
    }

    private TransactionResult Unknown(Transaction transaction, string why)
    {
        if (!ReferenceEquals(Interlocked.Exchange(ref _told, transaction), transaction))
            _logger.EtcdOutcomeUnknown(_cluster, transaction.Kind, why);
        return new TransactionResult(TransactionOutcome.Unknown, null);
    }

    private static EtcdRange OnlyRange(EtcdTransactionResult result) => result.Ranges is [var only]
        ? only
        : throw new EtcdException(EtcdTrouble.Malformed, "an answer to a transaction without what it was to read");
}
