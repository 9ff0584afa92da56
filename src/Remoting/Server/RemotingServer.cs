using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using System.Threading.Channels;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting;

/// <summary>Accepts connections and hands their frames to one <see cref="IConnectionHandler"/>.</summary>
/// <remarks>Start once, stop once; thread-safe. Owns the listening sockets, the connections and one timer that
/// watches them.</remarks>
public sealed partial class RemotingServer : IAsyncDisposable
{
    private static readonly TimeSpan FarewellTimeout = TimeSpan.FromSeconds(1);

    private readonly RemotingServerOptions _options;
    private readonly IConnectionHandler _handler;
    private readonly GuardedLogger _logger;
    private readonly TimeProvider _time;
    private readonly ConcurrentDictionary<long, Connection> _connections = new();
    private readonly ReceiveBudget _budget;
    private readonly SendBudget _sendBudget;
    private readonly ConnectionTerms _terms;
    private readonly MemoryRelief? _relief;
    private readonly ConnectionPlaces _places;
    private readonly Lobby _lobby = new();
    private readonly TlsAcceptor? _tls;
    private readonly List<Socket> _listeners = [];
    private readonly List<UnixSocketFile> _socketFiles = [];
    private readonly List<Task> _acceptLoops = [];
    private readonly CancellationTokenSource _stopping = new();
    private readonly Lock _lifetime = new();
    private ITimer? _watch;
    private Task? _stop;
    private bool _isStarted;
    private bool _isInMemory;

    /// <summary>Makes a server that does not listen yet.</summary>
    /// <param name="options">Where and how.</param>
    /// <param name="handler">What to do with frames.</param>
    /// <param name="loggerFactory">Where to log.</param>
    /// <param name="timeProvider">Measures timeouts; the system's by default.</param>
    /// <exception cref="ArgumentException">A setting is out of range.</exception>
    public RemotingServer(
        RemotingServerOptions options,
        IConnectionHandler handler,
        ILoggerFactory loggerFactory,
        TimeProvider? timeProvider = null)
    {
        ArgumentNullException.ThrowIfNull(options);
        ArgumentNullException.ThrowIfNull(handler);
        ArgumentNullException.ThrowIfNull(loggerFactory);
        options.Validate();
        _options = options;
        _sendBudget = new SendBudget(options.SendMemoryBytes);
        _places = new ConnectionPlaces(
            options.MaxConnections, options.LocalConnections, options.MaxConnectionsPerAddress);
        _handler = handler;
        _time = timeProvider ?? TimeProvider.System;
        _logger = new GuardedLogger(loggerFactory.CreateLogger("EQueue.Remoting.Server"), _time);
        _budget = new ReceiveBudget(options.ReceiveMemoryBytes, _time);
        _terms = new ConnectionTerms(options, _budget, _sendBudget, _logger, _time);
        if (options.MinReceiveRate > 0)
            _relief = new MemoryRelief(_budget, _connections, options.MinReceiveRate, _logger, _time);
        if (options.Tls is not null)
            _tls = new TlsAcceptor(options.Tls, _logger, _time);
    }

    /// <summary>The first HOST:PORT that is listened on, with its real port; without one the first Unix socket, or the
    /// place in memory. Known after <see cref="StartAsync"/>.</summary>
    public EndPoint LocalEndPoint { get; private set; } = new IPEndPoint(IPAddress.None, 0);

    /// <summary>Connections that are open now.</summary>
    public int ConnectionCount => Volatile.Read(ref _connectionCount);

    /// <summary>Memory of receive blocks now, beyond the small one of each connection.</summary>
    public long ReceiveBytes => _budget.UsedBytes;

    /// <summary>Memory of frames that peers have not taken, and of those being written, beyond a unit of each
    /// connection.</summary>
    public long SendBytes => _sendBudget.UsedBytes;

    /// <summary>Listens and begins to accept.</summary>
    /// <exception cref="SocketException">An address cannot be listened on (in use, not this machine's, no such
    /// name); the message names it.</exception>
    public async Task StartAsync(CancellationToken cancellationToken)
    {
        lock (_lifetime)
        {
            ObjectDisposedException.ThrowIf(_stop is not null, this);
            if (_isStarted)
                throw new InvalidOperationException("The server was started before.");
            _isStarted = true;
        }

        ChannelReader<InMemoryStream>? inMemory = null;
        try
        {
            foreach (string address in _options.Listen)
                await ListenAsync(address, cancellationToken).ConfigureAwait(false);
            inMemory = _options.InMemory?.Listen(_options.Backlog);
            _isInMemory = inMemory is not null;
        }
        catch
        {
            CloseListeners();
            throw;
        }

        Socket? first = _listeners.Find(static one => one.LocalEndPoint is IPEndPoint);
        LocalEndPoint = (first ?? _listeners.FirstOrDefault())?.LocalEndPoint ?? _options.InMemory!;
        Detached.Start(() =>
        {
            _watch = _time.CreateTimer(
                static server => ((RemotingServer)server!).WatchAll(), this, WatchPeriod, WatchPeriod);
            foreach (Socket listener in _listeners)
                AddLoop(() => AcceptAsync(listener));
            if (inMemory is not null)
                AddLoop(() => AcceptInMemoryAsync(_options.InMemory!, inMemory));
        });
    }

    /// <summary>
    /// Stops: accepts no more, handles no more frames, waits for the answers of those handled, sends what is queued,
    /// closes.
    /// </summary>
    /// <param name="drain">How long to wait for answers and slow peers; what is left then is cut.</param>
    /// <param name="cancellationToken">Ends the waiting at once.</param>
    /// <remarks>Returns when each connection's last handler call has returned. Later calls wait for the first
    /// one.</remarks>
    public Task StopAsync(TimeSpan drain, CancellationToken cancellationToken)
    {
        lock (_lifetime)
            return _stop ??= StopOnceAsync(drain, cancellationToken);
    }

    /// <summary>Stops without waiting for answers.</summary>
    public async ValueTask DisposeAsync()
    {
        await StopAsync(TimeSpan.Zero, CancellationToken.None).ConfigureAwait(false);
        _stopping.Dispose();
    }

    private void AddLoop(Func<Task> accept) =>
        _acceptLoops.Add(Task.Run(() => RunAcceptAsync(accept), CancellationToken.None));

    private void CloseListeners()
    {
        if (_isInMemory)
            _options.InMemory!.Close();
        foreach (Socket listener in _listeners)
            listener.Dispose();
        foreach (UnixSocketFile file in _socketFiles)
            file.Dispose();
    }

    private async Task StopOnceAsync(TimeSpan drain, CancellationToken cancellationToken)
    {
        await _stopping.CancelAsync().ConfigureAwait(false);
        CloseListeners();
        await Task.WhenAll(_acceptLoops).ConfigureAwait(false);

        long started = _time.GetTimestamp();
        Connection[] connections = [.. _connections.Values];
        var drained = Task.WhenAll(connections.Select(connection => connection.BeginDrain()));
        bool isDrained = await EndsWithinAsync(drained, drain, cancellationToken).ConfigureAwait(false);
        if (!isDrained && drain > TimeSpan.Zero)
            Log.DrainTimedOut(_logger, drain);

        TimeSpan left = drain - _time.GetElapsedTime(started);
        TimeSpan farewell = drain == TimeSpan.Zero || left > FarewellTimeout ? FarewellTimeout : left;
        var shutdown = Task.WhenAll(connections.Select(connection => connection.FlushAndShutdownAsync()));
        if (isDrained)
            await EndsWithinAsync(shutdown, farewell, cancellationToken).ConfigureAwait(false);

        foreach (Connection connection in connections)
            connection.Close(null);
        await Task.WhenAll(connections.Select(connection => connection.Completion)).ConfigureAwait(false);
        await shutdown.ConfigureAwait(false);
        if (_watch is not null)
            await _watch.DisposeAsync().ConfigureAwait(false);
        _relief?.Dispose();
        if (_acceptLoops.Count > 0)
            Log.Stopped(_logger, LocalEndPoint, connections.Length);
        _logger.Dispose();
    }

    private async Task<bool> EndsWithinAsync(Task work, TimeSpan timeout, CancellationToken cancellationToken)
    {
        if (work.IsCompleted)
            return true;
        if (timeout <= TimeSpan.Zero)
            return false;
        try
        {
            await work.WaitAsync(timeout, _time, cancellationToken).ConfigureAwait(false);
            return true;
        }
        catch (Exception exception) when (exception is TimeoutException or OperationCanceledException)
        {
            return false;
        }
    }
}
