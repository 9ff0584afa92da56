using EQueue.Cluster.Etcd;
using EQueue.Replication;

namespace EQueue.Cluster;

/// <summary>Reads for a replica what etcd says of its shard, and keeps the node's key there.</summary>
/// <param name="setup">What the replica works with.</param>
/// <param name="nowMs">The time of the replica's rules.</param>
/// <param name="found">Told of each view; on a thread of the pool.</param>
/// <param name="failed">Told once that the replica cannot continue.</param>
/// <param name="stopping">Ends the reads.</param>
internal sealed class ShardReads(
    ReplicaSetup setup,
    Func<long> nowMs,
    Action<ShardView> found,
    Action<Exception> failed,
    CancellationToken stopping)
{
    private bool _isEtcdAway;
    private int _reads;
    private long? _putMs = 0; // the node put its key as this life began

    /// <summary>Has the shard read. Any thread.</summary>
    public void Ask()
    {
        // One read at a time, and one more when another was asked for meanwhile.
        if (Interlocked.Increment(ref _reads) == 1)
            _ = Task.Run(ReadAsync);
    }

    private async Task ReadAsync()
    {
        do
        {
            int asked = Volatile.Read(ref _reads);
            try
            {
                await ReadOnceAsync().ConfigureAwait(false);
            }
            catch (Exception exception) when (exception is EtcdException or OperationCanceledException)
            {
                if (!_isEtcdAway && !stopping.IsCancellationRequested)
                    setup.Logger.EtcdAway(setup.Node, exception.Message);
                _isEtcdAway = true;
                setup.Counters.NoteEtcdFailure();
            }
            catch (Exception exception)
            {
                failed(exception);
                return;
            }

            if (Interlocked.CompareExchange(ref _reads, 0, asked) == asked)
                return;
            Interlocked.Exchange(ref _reads, 1);
        }
        while (!stopping.IsCancellationRequested);
    }

    private async Task ReadOnceAsync()
    {
        long now = nowMs();
        if (_putMs is not { } putMs || now - putMs >= setup.NodeKeyInterval.TotalMilliseconds)
        {
            bool isMine = await setup.Etcd
                .PutNodeAsync(setup.Life, setup.Address, stopping).ConfigureAwait(false);
            if (!isMine)
            {
                failed(ClusterException.NameTaken(setup.Node));
                return;
            }

            setup.Counters.NotePut();
            _putMs = now;
        }

        ClusterView view = await setup.Etcd.ReadAsync(stopping).ConfigureAwait(false)
            ?? throw new EtcdException(EtcdTrouble.Malformed, "The cluster is gone from etcd.");
        if (_isEtcdAway)
            setup.Logger.EtcdBack(setup.Node);
        _isEtcdAway = false;
        if (view.Shard.Lives.TryGetValue(setup.Node, out Life life) && life != setup.Life)
            _putMs = null;
        setup.Links.Take(view.Addresses);
        setup.Board.Take(view.Shard.State, view.Nodes, view.Addresses);
        found(view.Shard);
    }
}
