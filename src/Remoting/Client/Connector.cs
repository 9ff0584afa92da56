using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Security.Cryptography;

namespace EQueue.Remoting;

/// <summary>Keeps a client connected: connect, handshake, publish, wait for the end, back off, again.</summary>
/// <remarks>One loop; what it knows is read by any thread.</remarks>
[SuppressMessage("Design", "CA1001", Justification = "What is cancelled last has no timer.")]
internal sealed class Connector
{
    private readonly EndPoint _endPoint;
    private readonly RemotingClientOptions _options;
    private readonly InFlightRing _ring;
    private readonly GuardedLogger _logger;
    private readonly CallClock _clock;
    private readonly Dialer _dialer;
    private readonly CancellationToken _stopping;
    private readonly Lock _publishing = new();
    private volatile string _name;
    private TaskCompletionSource<ClientConnection?> _ready = NewReady();
    private ClientConnection? _connection;
    private volatile ConnectFault? _lastFault;
    private volatile Exception? _permanentFailure;
    private long _generation;
    private volatile bool _isEnded;

    /// <summary>Cancelled = the present attempt, its connection and the pause behind it are over. It has no timer and
    /// is not disposed: another thread may be about to cancel it.</summary>
    private CancellationTokenSource _move = new();

    /// <param name="endPoint">Where to, unless the options have a plan.</param>
    /// <param name="options">The client's.</param>
    /// <param name="ring">The client's calls.</param>
    /// <param name="logger">Where to log.</param>
    /// <param name="clock">The client's.</param>
    /// <param name="stopping">The client is disposed.</param>
    public Connector(
        EndPoint endPoint,
        RemotingClientOptions options,
        InFlightRing ring,
        GuardedLogger logger,
        CallClock clock,
        CancellationToken stopping)
    {
        _endPoint = endPoint;
        _name = HostPort.Format(endPoint);
        _options = options;
        _ring = ring;
        _logger = logger;
        _clock = clock;
        _dialer = new Dialer(options, _clock.Time);
        _stopping = stopping;
    }

    /// <summary>Where it connects to now, for people.</summary>
    public string Name => _name;

    /// <summary>The connection on which calls go out; <see langword="null"/> = there is none.</summary>
    public ClientConnection? Current => Volatile.Read(ref _connection);

    /// <summary>The next connection, or this one; without a result when there will be none. It fails when an attempt is
    /// refused in a way that waiting does not mend.</summary>
    public Task<ClientConnection?> Ready => Volatile.Read(ref _ready).Task;

    /// <summary>Why the last attempt or connection ended.</summary>
    public ConnectFault? LastFault => _lastFault;

    /// <summary>Why there will be no further attempt.</summary>
    public Exception? PermanentFailure => _permanentFailure;

    /// <summary>Rises by one with each connection.</summary>
    public long Generation => Volatile.Read(ref _generation);

    /// <summary>Whether the client is disposed.</summary>
    public bool IsEnded => _isEnded;

    /// <summary>The client is disposed: callers are told so from here on.</summary>
    public void End() => _isEnded = true;

    /// <summary>Ends the connection, the attempt or the pause that there is, and connects again at once.</summary>
    public void ConnectAnew(Exception cause)
    {
        Volatile.Read(ref _move).Cancel();
        Current?.Close(cause);
    }

    /// <summary>Runs until the client is disposed or an attempt has failed for good.</summary>
    /// <param name="watch">The client's timer: told of each connection.</param>
    public async Task RunAsync(WatchTimer watch)
    {
        int failures = 0;
        while (!_stopping.IsCancellationRequested && _permanentFailure is null)
        {
            // Before the plan is asked: what changes behind that moves this attempt.
            var move = new CancellationTokenSource();
            Volatile.Write(ref _move, move);
            using var either = CancellationTokenSource.CreateLinkedTokenSource(_stopping, move.Token);
            ClientConnection? connection = await TryConnectAsync(failures, either.Token).ConfigureAwait(false);
            failures++;
            if (connection is not null)
            {
                long since = _clock.Time.GetTimestamp();
                await ServeAsync(connection, watch, either.Token).ConfigureAwait(false);

                // A server that accepts and then throws everybody out is not to be hammered.
                if (_clock.Time.GetElapsedTime(since) >= _options.MaxReconnectDelay)
                    failures = 0;
            }

            if (move.IsCancellationRequested)
                failures = 0;
            else if (_permanentFailure is null)
                await BackOffAsync(failures, either.Token).ConfigureAwait(false);
        }

        Volatile.Read(ref _ready).TrySetResult(null);
    }

    private static TaskCompletionSource<ClientConnection?> NewReady() =>
        new(TaskCreationOptions.RunContinuationsAsynchronously);

    private async Task<ClientConnection?> TryConnectAsync(int failures, CancellationToken ending)
    {
        ConnectTarget target = _options.Plan?.Next() ?? new ConnectTarget(_endPoint, Timeout.InfiniteTimeSpan);
        if (_options.Plan is not null)
            _name = HostPort.Format(target.EndPoint);
        using var patience = new CancellationTokenSource(target.Patience, _clock.Time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(ending, patience.Token);
        ClientConnection? connection = null;
        try
        {
            connection = await ConnectAsync(target.EndPoint, either.Token).ConfigureAwait(false);
            await HandshakeAsync(connection, either.Token).ConfigureAwait(false);
            return connection;
        }
        catch (Exception exception)
        {
            connection?.Close(exception);
            if (connection is not null)
                await connection.Completion.ConfigureAwait(false);
            if (ending.IsCancellationRequested)
                return null;
            bool isLate = patience.IsCancellationRequested && exception is not PermanentFailureException;
            NoteFailure(isLate ? NoAnswer(target.Patience) : exception, failures);
            return null;
        }
    }

    private TimeoutException NoAnswer(TimeSpan patience) =>
        new($"No answer from {_name} within {patience.TotalSeconds:0.###} s.");

    private async Task<ClientConnection> ConnectAsync(EndPoint endPoint, CancellationToken ending)
    {
        (Wire wire, EndPoint address) = await _dialer.DialAsync(endPoint, ending).ConfigureAwait(false);
        var connection = new ClientConnection(wire, address, _options, _ring, _clock, Withdraw);
        connection.Start();
        return connection;
    }

    private async Task HandshakeAsync(ClientConnection connection, CancellationToken ending)
    {
        if (_options.HandshakeAsync is null)
            return;
        using var timeout = new CancellationTokenSource(_options.ConnectTimeout, _clock.Time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(timeout.Token, ending);
        try
        {
            await _options.HandshakeAsync(connection, either.Token).ConfigureAwait(false);
            return;
        }
        catch (Exception exception) when (timeout.IsCancellationRequested && exception is not PermanentFailureException)
        {
            // Told below without this cause, which says cancelled: nothing was but this attempt.
        }

        throw new TimeoutException($"No handshake with {_name} within {_options.ConnectTimeout.TotalSeconds:0.###} s.");
    }

    private async Task ServeAsync(
        ClientConnection connection, WatchTimer watch, CancellationToken ending)
    {
        long generation = Interlocked.Increment(ref _generation);
        _lastFault = null;
        Publish(connection);
        watch.Soon();
        Log.Connected(_logger, _name, generation);
        if (_stopping.IsCancellationRequested)
            connection.Close(Failures.Disposed());
        else if (ending.IsCancellationRequested)
            connection.Close(null);

        await connection.Completion.ConfigureAwait(false);
        if (_stopping.IsCancellationRequested)
            return;
        _lastFault = ConnectFault.Of(connection.Cause, 0);
        Log.ConnectionLost(_logger, _name, connection.Cause?.Message ?? "the peer closed it.");
    }

    /// <summary>Calls go out on this connection, unless it is closed already.</summary>
    private void Publish(ClientConnection connection)
    {
        lock (_publishing)
        {
            if (connection.IsClosed)
                return;
            Volatile.Write(ref _connection, connection);
            _ready.TrySetResult(connection);
        }
    }

    /// <summary>Calls wait for the next connection from now on.</summary>
    private void Withdraw(ClientConnection closing)
    {
        lock (_publishing)
        {
            if (_connection != closing)
                return;
            Volatile.Write(ref _ready, NewReady());
            Volatile.Write(ref _connection, null);
        }
    }

    private void NoteFailure(Exception exception, int failures)
    {
        var fault = ConnectFault.Of(exception, failures + 1);
        _lastFault = fault;
        if (exception is PermanentFailureException)
        {
            _permanentFailure = exception;
            Log.RefusedForGood(_logger, _name, exception.Message);
        }
        else if (failures == 0 && _options.ConnectFailed is null)
        {
            Log.Unreachable(_logger, _name, fault.Reason);
        }
        else
        {
            Log.AttemptFailed(_logger, failures + 1, _name, fault.Reason);
        }

        _options.ConnectFailed?.Invoke(fault);
        if (TlsRefusedException.FindIn(exception) is { } refusal)
            FailWaiting(refusal);
        else if (HttpPeerException.FindIn(exception) is { } http)
            FailWaiting(http);
    }

    /// <summary>Tells those who wait for a connection that waiting is of no use; later calls wait for the next
    /// attempt.</summary>
    private void FailWaiting(Exception refusal)
    {
        TaskCompletionSource<ClientConnection?> waiting = Volatile.Read(ref _ready);
        Volatile.Write(ref _ready, NewReady());
        waiting.TrySetException(Failures.Unreachable(_name, refusal));

        // Perhaps there is no awaiter, and then the exception is not observed.
        _ = waiting.Task.Exception;
    }

    /// <summary>Full jitter: a random time up to a bound that doubles, so that a crowd of clients does not return as
    /// one.</summary>
    private async Task BackOffAsync(int failures, CancellationToken ending)
    {
        double bound = _options.ReconnectDelay.TotalMilliseconds * Math.Pow(2, Math.Min(Math.Max(failures - 1, 0), 30));
        int boundMs = (int)Math.Min(bound, _options.MaxReconnectDelay.TotalMilliseconds);
        TimeSpan delay = _options.Plan?.PauseAfter(failures)
            ?? TimeSpan.FromMilliseconds(RandomNumberGenerator.GetInt32(boundMs + 1));
        try
        {
            await Task.Delay(delay, _clock.Time, ending).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // Disposed or moved while waiting: the loop sees it.
        }
    }
}
