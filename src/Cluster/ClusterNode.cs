using System.Net;
using EQueue.Cluster.Etcd;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Replication;
using Microsoft.Extensions.Logging;

namespace EQueue.Cluster;

/// <summary>A node of a cluster: keeps a copy of the shard's log, and serves clients while it leads.</summary>
/// <remarks>Thread-safe. It never ends because etcd or other nodes are away.</remarks>
public sealed partial class ClusterNode : IAsyncDisposable
{
    private static readonly TimeSpan MirrorInterval = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan RetryInterval = TimeSpan.FromMilliseconds(500);

    /// <summary>So long a start waits for what etcd and the directory say of this node: it begins without etcd as
    /// well, and copies and recovers for longer.</summary>
    private static readonly TimeSpan FirstWordWait = TimeSpan.FromSeconds(2);

    private readonly ClusterOptions _options;
    private readonly IEngineFactory _engines;
    private readonly ILoggerFactory _loggers;
    private readonly GuardedLogger _logger;
    private readonly TimeProvider _time;
    private readonly LeaderBoard _board = new();
    private readonly EngineDoor _door;
    private readonly NodeCounters _counters;
    private readonly NodeMeter _meter;
    private readonly PeerSecret _secret;
    private readonly NodeListener _handler;
    private readonly RemotingServer _listener;
    private readonly EtcdClient _etcd;
    private readonly EtcdShard _shard;
    private readonly CancellationTokenSource _stopping = new();
    private readonly Lock _lifetime = new();
    private readonly TaskCompletionSource _firstWord = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly string _directory;
    private volatile Replica? _replica;
    private Task _run = Task.CompletedTask;
    private Task? _stop;
    private bool _isAborted;

    private ClusterNode(
        ClusterOptions options, IEngineFactory engines, ILoggerFactory loggers, TimeProvider time)
    {
        (_options, _engines, _time) = (options, engines, time);
        _loggers = new PrintableLoggerFactory(loggers, time);
        _logger = new GuardedLogger(loggers.CreateLogger("EQueue.Cluster"), time);
        _directory = ShardDirectory.PathIn(Path.GetFullPath(engines.Store.DataDirectory));
        _secret = new PeerSecret(options.Secret);
        _door = new EngineDoor(_board);
        _handler = new NodeListener(
            options.Node,
            _secret,
            _door,
            _board,
            (from, message) => _replica?.Receive(from, message),
            ServeFiles,
            _logger);
        _listener = new RemotingServer(engines.Listener, _handler, loggers, time);
        _etcd = new EtcdClient(options, _logger, time);
        _shard = new EtcdShard(_etcd, options.Name, options.Node, 0, _logger);
        _counters = new NodeCounters(time);
        _meter = new NodeMeter(options, _counters, () => _board.Known.Epoch, () => _replica);
    }

    /// <summary>Where clients and other nodes connect, with the real port.</summary>
    public EndPoint EndPoint => _listener.LocalEndPoint;

    /// <summary>Completes when the node has stopped; faults when it cannot go on: end the process, and start it
    /// anew.</summary>
    public Task Completion => _run;

    /// <summary>Whether this node leads and serves clients.</summary>
    public bool IsServing => _door.IsOpen;

    /// <summary>What this node knows of who leads.</summary>
    public WatchLeaderResponse Leader => _board.Known;

    /// <summary>Listens, and begins to take part in the cluster as soon as etcd tells of it. What turns out within 2 s
    /// to be wrong ends the start; what turns out later faults <see cref="Completion"/>.</summary>
    /// <param name="options">Which cluster.</param>
    /// <param name="engines">Makes what serves clients while this node leads.</param>
    /// <param name="loggers">For log lines.</param>
    /// <param name="time">For timeouts; null = the system's.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="ArgumentException">An option is wrong, or not safe beyond this machine.</exception>
    /// <exception cref="StoreFormatException">The data directory is that of a single broker, or half a
    /// node's.</exception>
    /// <exception cref="DiskException">The data directory cannot be made.</exception>
    /// <exception cref="System.Net.Sockets.SocketException">The address cannot be listened on.</exception>
    /// <exception cref="ClusterException">The cluster has no such node, another process is that node, the directory is
    /// another cluster's, or the flush policy is not the cluster's.</exception>
    public static async Task<ClusterNode> StartAsync(
        ClusterOptions options,
        IEngineFactory engines,
        ILoggerFactory loggers,
        TimeProvider? time = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(options);
        ArgumentNullException.ThrowIfNull(engines);
        ArgumentNullException.ThrowIfNull(loggers);
        options.Validate();
        options.CheckReach(engines.Listener);
        options.PeerTls?.Validate();
        ShardDirectory.MakeRoot(engines.Store);
        var node = new ClusterNode(options, engines, loggers, time ?? TimeProvider.System);
        try
        {
            await node._listener.StartAsync(cancellationToken).ConfigureAwait(false);
        }
        catch
        {
            await node._listener.DisposeAsync().ConfigureAwait(false);
            await node._etcd.DisposeAsync().ConfigureAwait(false);
            node._meter.Dispose();
            node._logger.Dispose();
            throw;
        }

        node._handler.OwnAddress = options.AdvertisedAddress ?? HostPort.Format(node.EndPoint);
        node._run = Task.Run(node.RunAsync, CancellationToken.None);
        await Task.WhenAny(node._run, node._firstWord.Task, Task.Delay(FirstWordWait, node._time, cancellationToken))
            .ConfigureAwait(false);
        if (node._run.IsFaulted)
        {
            await node.DisposeAsync().ConfigureAwait(false);
            await node._run.ConfigureAwait(false);
        }

        return node;
    }

    /// <summary>Stops in order: clients are sent elsewhere, the directory is made durable and marked as
    /// clean.</summary>
    /// <param name="cancellationToken">Ends the wait for answers and slow peers.</param>
    public Task StopAsync(CancellationToken cancellationToken)
    {
        lock (_lifetime)
            return _stop ??= StopOnceAsync(cancellationToken);
    }

    /// <summary>Ends at once, as a process does that is killed: the directory stays as it is.</summary>
    internal async Task AbortAsync()
    {
        lock (_lifetime)
        {
            if (_stop is not null)
                return;
            _isAborted = true;
        }

        await StopAsync(new CancellationToken(canceled: true)).ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync() => await StopAsync(CancellationToken.None).ConfigureAwait(false);

    private async Task StopOnceAsync(CancellationToken cancellationToken)
    {
        if (!_isAborted && _replica is { } leaving)
            await leaving.LeaveAsync().ConfigureAwait(false);
        await _stopping.CancelAsync().ConfigureAwait(false);
        await ((Task)_run).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (_replica is { } replica)
        {
            _replica = null;
            if (!replica.Ended.IsCompleted && !_isAborted)
                await replica.StopAsync(cancellationToken).ConfigureAwait(false);
            await replica.DisposeAsync().ConfigureAwait(false);
        }

        _meter.Dispose();
        await _listener.DisposeAsync().ConfigureAwait(false);
        await _etcd.DisposeAsync().ConfigureAwait(false);
        _logger.Dispose();
        _stopping.Dispose();
    }

    private async Task RunAsync()
    {
        try
        {
            ClusterView view = await WaitForClusterAsync().ConfigureAwait(false);
            while (!_stopping.IsCancellationRequested)
                view = await LiveAsync(view).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (_stopping.IsCancellationRequested)
        {
            // Told to stop.
        }
    }

    /// <summary>One life: until the node stops, or its directory must be made anew.</summary>
    private async Task<ClusterView> LiveAsync(ClusterView view)
    {
        var names = new PeerNames(view.Cluster.ClusterId, 0, _options.Node);
        _handler.Identity = new NodeIdentity(names.Cluster, names.Shard, view.Nodes);
        var life = new Life(ShardDirectory.NewLife());
        await PutNodeAsync(life).ConfigureAwait(false);
        var links = new PeerLinks(
            names, _secret, new PeerLinkOptions(_engines.Listener.MaxFrameBytes, _options.PeerTls),
            node => _replica?.NoteUnreachable(node), _loggers);
        await using (links.ConfigureAwait(false))
        {
            var directory = new ShardDirectory(_directory, _engines.Store, view.Cluster, _logger, _time);
            ReplicaFiles files = await OpenAsync(directory, view, links, life).ConfigureAwait(false);
            var replica = new Replica(Setup(view, life, links), files);
            _replica = replica;
            _logger.NodeBegins(
                _options.Node, _options.Name, _directory, files.Tail.End.Value, files.IsClean ? "clean" : "not clean");
            replica.Start();
            using var mirroring = CancellationTokenSource.CreateLinkedTokenSource(_stopping.Token);
            Task mirror = MirrorAsync(replica, links, mirroring.Token);
            try
            {
                ReplicaEnd end = await replica.Ended.WaitAsync(_stopping.Token).ConfigureAwait(false);
                _replica = null;
                await replica.DisposeAsync().ConfigureAwait(false);
                await EndLifeAsync(directory, end).ConfigureAwait(false);
            }
            finally
            {
                await mirroring.CancelAsync().ConfigureAwait(false);
                await mirror.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            }

            return await WaitForClusterAsync().ConfigureAwait(false);
        }
    }

    private async Task EndLifeAsync(ShardDirectory directory, ReplicaEnd end)
    {
        switch (end.Reason)
        {
            case StopReason.SetAside:
                _logger.SetAside(_options.Node, directory.SetAside(), end.Why);
                break;
            case StopReason.Gone:
                _logger.CopiesAnew(_options.Node, end.Why);
                directory.Delete();
                break;
            default:
                _logger.WaitsForPerson(_options.Node, end.Why);
                await Task.Delay(Timeout.InfiniteTimeSpan, _stopping.Token).ConfigureAwait(false);
                break;
        }
    }

    private ReplicaSetup Setup(ClusterView view, Life life, PeerLinks links) => new(
        _options.Node,
        _handler.OwnAddress,
        life,
        new ReplicaOptions
        {
            Nodes = view.Nodes,
            SeatCount = view.SeatCount,
            IsSync = view.Cluster.IsSync,
        },
        ReplicaFilesOptions.Of(_directory, _engines.Store),
        new RoomWatch(_engines.Store with { DataDirectory = _directory }),
        _engines.Store.FlushInterval,
        _shard,
        links,
        _listener,
        _door,
        _board,
        _engines,
        _logger,
        _time,
        _options.NodeKeyInterval,
        _counters);

    private FrameBuffer ServeFiles(PeerOpcode opcode, ReadOnlyMemory<byte> payload) =>
        _replica?.LeadingStore is { } store
            ? FileServer.Answer(opcode, payload.Span, store)
            : throw new EQueueException(ErrorCode.NotLeader, $"Node {_options.Node} does not lead.");

    private async Task PutNodeAsync(Life life)
    {
        bool isMine = await RetryAsync(
            token => _shard.PutNodeAsync(life, _handler.OwnAddress, token)).ConfigureAwait(false);
        if (!isMine)
            throw ClusterException.NameTaken(_options.Node);
        _counters.NotePut();
    }

    /// <summary>Reads who the cluster is; waits for etcd, and for the cluster to be created, as long as it
    /// takes.</summary>
    private async Task<ClusterView> WaitForClusterAsync()
    {
        string told = "";
        while (true)
        {
            ClusterView? view = await RetryAsync(_shard.ReadAsync).ConfigureAwait(false);
            if (view is not null)
            {
                Check(view);
                _board.Take(view.Shard.State, view.Nodes, view.Addresses);
                return view;
            }

            string why = $"the cluster '{_options.Name}' is not created yet: equeue cluster create";
            if (why != told)
                _logger.WaitsForEtcd(_options.Node, told = why);
            _firstWord.TrySetResult();
            await Task.Delay(RetryInterval, _time, _stopping.Token).ConfigureAwait(false);
        }
    }

    private void Check(ClusterView view)
    {
        if (!view.Nodes.Contains(_options.Node))
        {
            throw new ClusterException(
                $"Cluster:Node is {_options.Node}; the cluster '{_options.Name}' has {string.Join(", ", view.Nodes)}.");
        }

        bool isSync = _engines.Store.FlushPolicy == FlushPolicy.Sync;
        if (isSync != view.Cluster.IsSync)
        {
            throw new ClusterException(
                $"Store:FlushPolicy is {_engines.Store.FlushPolicy}; the cluster '{_options.Name}' was created with "
                + $"{(view.Cluster.IsSync ? FlushPolicy.Sync : FlushPolicy.Async)}, and all its nodes have the same.");
        }
    }

    private async Task<T> RetryAsync<T>(Func<CancellationToken, Task<T>> ask)
    {
        string told = "";
        while (true)
        {
            try
            {
                return await ask(_stopping.Token).ConfigureAwait(false);
            }
            catch (EtcdException exception)
            {
                _counters.NoteEtcdFailure();
                if (exception.Message != told)
                    _logger.WaitsForEtcd(_options.Node, told = exception.Message);
                _firstWord.TrySetResult();
            }

            await Task.Delay(RetryInterval, _time, _stopping.Token).ConfigureAwait(false);
        }
    }
}
