using System.Net;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting;

/// <summary>One logical connection to one endpoint: connects at first use, reconnects by itself, carries calls in
/// three modes.</summary>
/// <remarks>
/// <para>Thread-safe. Every request's buffer belongs to the client from the call on, whatever the outcome.</para>
/// <para>While there is no connection, calls wait for one until their timeout and then fail with
/// <see cref="RemotingError.Unreachable"/> (or <see cref="RemotingError.Timeout"/> when no attempt has failed yet). A
/// request whose connection drops fails at once with <see cref="RemotingError.ConnectionLost"/> and is never sent
/// again: trying again is the caller's decision.</para>
/// <para>What one thread calls leaves in the order of its calls, also when it had to wait for a connection or for
/// room.</para>
/// </remarks>
public sealed partial class RemotingClient : IAsyncDisposable
{
    private readonly EndPoint _endPoint;
    private readonly RemotingClientOptions _options;
    private readonly GuardedLogger _logger;
    private readonly TimeProvider _time;
    private readonly InFlightRing _ring;
    private readonly CallClock _clock;
    private readonly Connector _connector;
    private readonly CallLine _line;
    private readonly CancellationTokenSource _stopping = new();
    private readonly Lock _lifetime = new();
    private Task _connectLoop = Task.CompletedTask;
    private WatchTimer? _watch;
    private bool _isStarted;

    /// <summary>Makes a client; it connects when it is first used.</summary>
    /// <param name="endPoint">An address, a <see cref="DnsEndPoint"/>, of which every address is tried, or a
    /// <see cref="System.Net.Sockets.UnixDomainSocketEndPoint"/>, or an <see cref="InMemoryEndPoint"/>.</param>
    /// <param name="options">How.</param>
    /// <param name="loggerFactory">Where to log.</param>
    /// <param name="timeProvider">Measures timeouts; the system's by default.</param>
    /// <exception cref="ArgumentException">A setting is out of range.</exception>
    public RemotingClient(
        EndPoint endPoint,
        RemotingClientOptions options,
        ILoggerFactory loggerFactory,
        TimeProvider? timeProvider = null)
    {
        ArgumentNullException.ThrowIfNull(endPoint);
        ArgumentNullException.ThrowIfNull(options);
        ArgumentNullException.ThrowIfNull(loggerFactory);
        options.Validate();
        _endPoint = endPoint;
        _options = options;
        _time = timeProvider ?? TimeProvider.System;
        _logger = new GuardedLogger(loggerFactory.CreateLogger("EQueue.Remoting.Client"), _time);
        _ring = new InFlightRing(
            options.MaxInFlight,
            thrown => Log.SinkFailed(_logger, Name, thrown),
            deadline => _watch?.At(deadline));
        _clock = new CallClock(_time, options.RequestTimeout);
        _connector = new Connector(endPoint, options, _ring, _logger, _clock, _stopping.Token);
        _line = new CallLine(_connector, _ring, options, _clock);
    }

    /// <summary>Where the client connects to, unless it has a plan.</summary>
    public EndPoint EndPoint => _endPoint;

    /// <summary>Whether there is a connection that has passed its handshake.</summary>
    public bool IsConnected => _connector.Current is not null;

    /// <summary>Rises by one with each connection that has passed its handshake; 0 = there was none yet.</summary>
    public long ConnectionGeneration => _connector.Generation;

    /// <summary>Why there is no connection; null while there is one, and before the first attempt has failed.</summary>
    public ConnectFault? LastFault => IsConnected ? null : _connector.LastFault;

    /// <summary>Requests that wait for answers now.</summary>
    public int InFlight => _ring.InFlight;

    /// <summary>Bytes that wait to be taken by the peer.</summary>
    public long QueuedBytes => _connector.Current?.Sender.QueuedBytes ?? 0;

    /// <summary>Completes when nothing waits to be taken by the peer, or the connection has ended; at once without a
    /// connection. While others go on sending it may take as long as they do.</summary>
    public Task WhenDrained() => _connector.Current?.Sender.WhenIdle() ?? Task.CompletedTask;

    /// <summary>Waits until there is a connection. Starts connecting.</summary>
    /// <exception cref="RemotingException">Cancelled, disposed, or the handshake failed for good.</exception>
    public async ValueTask WaitConnectedAsync(CancellationToken cancellationToken)
    {
        EnsureStarted();
        await _line.WaitReadyAsync(long.MaxValue, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Ends the connection, the attempt or the pause that there is, and connects again at once, to where the
    /// plan then says. Calls under way fail with <see cref="RemotingError.ConnectionLost"/>.</summary>
    /// <param name="cause">Why, for their exceptions.</param>
    public void ConnectAnew(Exception cause) => _connector.ConnectAnew(cause);

    /// <summary>Closes the connection; calls that wait fail with <see cref="RemotingError.Disposed"/>.</summary>
    public async ValueTask DisposeAsync()
    {
        lock (_lifetime)
        {
            if (_connector.IsEnded)
                return;
            _connector.End();
        }

        await _stopping.CancelAsync().ConfigureAwait(false);
        _connector.Current?.Close(Failures.Disposed());
        await _connectLoop.ConfigureAwait(false);
        _ring.FailAll(null, Failures.Disposed);
        if (_watch is not null)
            await _watch.DisposeAsync().ConfigureAwait(false);
        _stopping.Dispose();
        _logger.Dispose();
    }

    private string Name => _connector.Name;

    private void EnsureStarted()
    {
        if (Volatile.Read(ref _isStarted))
            return;
        lock (_lifetime)
        {
            if (_isStarted || _connector.IsEnded)
                return;
            Detached.Start(() =>
            {
                _watch = new WatchTimer(_time, _clock.NowMs, Watch);
                _connectLoop = Task.Run(() => _connector.RunAsync(_watch), CancellationToken.None);
            });
            Volatile.Write(ref _isStarted, true);
        }
    }

    /// <returns>When to look again.</returns>
    private long Watch(long nowMs)
    {
        _ring.FailOverdue(nowMs);
        long connectionDueMs = nowMs + (_connector.Current?.Watch() ?? WatchTimer.LongestMs);
        return Math.Min(_ring.EarliestDeadline, connectionDueMs);
    }
}
