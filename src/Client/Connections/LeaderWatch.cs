using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>Waits at a node of a cluster that does not lead for the news that another one does: a leader that hangs
/// tells nothing itself.</summary>
/// <remarks>One for each cluster of a client: a connection of its own without a Hello, and one question under
/// way.</remarks>
internal sealed class LeaderWatch : IConnectPlan, IAsyncDisposable
{
    /// <summary>How long a node may hold its answer.</summary>
    private static readonly TimeSpan Wait = TimeSpan.FromSeconds(5);

    /// <summary>How much longer an answer may take before the node counts as hanging.</summary>
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(1.5);

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan ShortestPause = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(1);

    private readonly ClusterMap _map;
    private readonly Cluster _cluster;
    private readonly RemotingClient _remoting;
    private readonly TimeProvider _time;
    private readonly CancellationTokenSource _closing = new();
    private readonly Task _loop;
    private ServerAddress _node;

    /// <param name="map">Told of what nodes tell.</param>
    /// <param name="cluster">Which cluster.</param>
    /// <param name="node">The node that is known already.</param>
    /// <param name="options">The client's.</param>
    public LeaderWatch(ClusterMap map, Cluster cluster, ServerAddress node, ClientOptions options)
    {
        _map = map;
        _cluster = cluster;
        _node = node;
        _time = options.TimeProvider;
        _remoting = new RemotingClient(
            node.ToEndPoint(),
            new RemotingClientOptions
            {
                Plan = this,
                ConnectFailed = static _ => { }, // the links tell who cannot be reached
                Tls = options.Tls,
                ConnectTimeout = Patience,
                RequestTimeout = Wait + Grace,
                MaxFrameBytes = options.MaxFrameBytes,
            },
            options.LoggerFactory,
            options.TimeProvider);
        _loop = Task.Run(RunAsync);
    }

    /// <summary>Which cluster.</summary>
    public Cluster Cluster => _cluster;

    /// <inheritdoc/>
    public ConnectTarget Next()
    {
        _node = _cluster.NodeToWatch(_node);
        return new ConnectTarget(_node.ToEndPoint(), Patience);
    }

    /// <inheritdoc/>
    public TimeSpan? PauseAfter(int failures) => PauseOf(failures);

    public async ValueTask DisposeAsync()
    {
        await _closing.CancelAsync().ConfigureAwait(false);
        await _remoting.DisposeAsync().ConfigureAwait(false);
        await _loop.ConfigureAwait(false);
        _closing.Dispose();
    }

    private async Task RunAsync()
    {
        int idle = 0;
        while (!_closing.IsCancellationRequested)
        {
            // A node that answers at once although it has no news is not asked again at once.
            long asked = _time.GetTimestamp();
            int before = _cluster.Epoch;
            await AskAsync().ConfigureAwait(false);
            bool isEarly = before == _cluster.Epoch && _time.GetElapsedTime(asked) < Wait / 2;
            idle = isEarly ? idle + 1 : 0;
            try
            {
                await Task.Delay(PauseOf(idle), _time, _closing.Token).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                return; // disposed
            }
        }
    }

    private async ValueTask AskAsync()
    {
        try
        {
            FrameBuffer request = BrokerLink.Encode(new WatchLeaderRequest(_cluster.Epoch, Wait));
            using ResponseFrame response = await _remoting
                .InvokeAsync(request, (byte)Opcode.WatchLeader, 0, Wait + Grace, _closing.Token)
                .ConfigureAwait(false);
            ServerAddress node = _node;
            if (response.Header.Error != 0 || !Payload.TryRead(response.PayloadSpan, out WatchLeaderResponse told))
                Leave($"{node} does not tell who leads.");
            else if (_map.Join(null, node, told).IsWatchedAtLeader(node))
                Leave($"{node} leads itself.");
        }
        catch (RemotingException exception) when (exception.Error == RemotingError.Timeout)
        {
            Leave($"{_node} does not answer.");
        }
        catch (RemotingException)
        {
            // The client tries the other nodes by itself; or it was disposed.
        }
    }

    private void Leave(string why) => _remoting.ConnectAnew(new EQueueException(ErrorCode.NotLeader, why));

    private static TimeSpan PauseOf(int times)
    {
        if (times == 0)
            return TimeSpan.Zero;
        TimeSpan pause = ShortestPause * (1 << Math.Min(times - 1, 10));
        return pause < LongestPause ? pause : LongestPause;
    }
}
