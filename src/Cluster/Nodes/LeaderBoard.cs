using EQueue.Protocol;
using EQueue.Replication;

namespace EQueue.Cluster;

/// <summary>Who leads, as this node knows it, for clients: those who wait are told when it changes.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class LeaderBoard
{
    /// <summary>So many may wait at once; more are answered at once.</summary>
    public const int MostWaiting = 4096;

    private readonly Lock _lock = new();
    private TaskCompletionSource _changed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private WatchLeaderResponse _known = new(0, "", []);
    private int _waiting;

    /// <summary>What is known now.</summary>
    public WatchLeaderResponse Known
    {
        get
        {
            lock (_lock)
                return _known;
        }
    }

    /// <summary>Takes what etcd says.</summary>
    public void Take(ShardState? state, IReadOnlyList<string> nodes, IReadOnlyDictionary<string, string> addresses)
    {
        string leader = state?.Leader.Node is { } name ? addresses.GetValueOrDefault(name) ?? "" : "";
        string[] all = [.. nodes.Select(node => addresses.GetValueOrDefault(node)).OfType<string>()];
        lock (_lock)
        {
            int epoch = Math.Max(state?.Epoch ?? 0, _known.Epoch);
            bool isOlder = state is null || state.Epoch < _known.Epoch;
            bool isSame = epoch == _known.Epoch && all.SequenceEqual(_known.Nodes)
                && (isOlder || leader == _known.Leader);
            if (isSame)
                return;
            bool isNew = epoch > _known.Epoch || (!isOlder && leader != _known.Leader);
            _known = new WatchLeaderResponse(epoch, isOlder ? _known.Leader : leader, all);
            if (!isNew)
                return;
            _changed.TrySetResult();
            _changed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        }
    }

    /// <summary>Waits until more is known than the caller knows.</summary>
    /// <param name="epoch">What they know.</param>
    /// <param name="wait">How long at most.</param>
    /// <param name="cancellationToken">They have gone.</param>
    public async Task<WatchLeaderResponse> WatchAsync(int epoch, TimeSpan wait, CancellationToken cancellationToken)
    {
        Task changed;
        lock (_lock)
        {
            if (_known.Epoch > epoch || _waiting >= MostWaiting)
                return _known;
            _waiting++;
            changed = _changed.Task;
        }

        try
        {
            await changed.WaitAsync(wait, cancellationToken).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            // What is known is told all the same.
        }
        finally
        {
            lock (_lock)
                _waiting--;
        }

        return Known;
    }
}
