using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting;

/// <summary>One accepted connection, whatever its frames look like: its bytes, TLS, the limits of what it may hold and
/// how long it may take, its peer and its end. What a frame is, its subclass knows.</summary>
/// <remarks>Made by the server. The receive loop is one; all other members are thread-safe unless they say
/// otherwise.</remarks>
[SuppressMessage("Design", "CA1001", Justification = "The loop releases the reader; the token outlives it.")]
public abstract class Connection
{
    private readonly Wire _wire;
    private readonly ConnectionPeer _peer;
    private readonly TlsAcceptor? _tls;
    private readonly ConnectionTerms _terms;
    private readonly ConnectionStay _stay;
    private readonly CancellationTokenSource _closed = new();
    private Task _loop = Task.CompletedTask;
    private Task? _farewell;
    private int _isClosed;

    /// <param name="id">Its number in the server.</param>
    /// <param name="wire">Just accepted; the connection's own.</param>
    /// <param name="peer">The other end.</param>
    /// <param name="tls">What it must agree on first; null = nothing.</param>
    /// <param name="share">What its peer's address holds of the server.</param>
    /// <param name="terms">The server's.</param>
    private protected Connection(
        long id, Wire wire, ConnectionPeer peer, TlsAcceptor? tls, PeerShare share, ConnectionTerms terms)
    {
        Id = id;
        _wire = wire;
        _peer = peer;
        _tls = tls;
        _terms = terms;
        Share = share;
        Closed = _closed.Token;
        RemotingServerOptions options = terms.Options;
        _stay = new ConnectionStay(options.AdmissionTimeout, terms.Time);
        Sender = new FrameSender(wire, options.MaxQueuedSendBytes, terms.Time, Close, new Gate(), terms.SendBudget);
        Input = new WireReader(wire, options.ReceiveBufferBytes, terms.ReceiveBudget, share, Closed);
        Watching = new ConnectionWatch(this, Input, Sender, terms);
    }

    /// <summary>The connection's number in its server, from 1, never reused.</summary>
    public long Id { get; }

    /// <summary>The peer's address.</summary>
    public EndPoint RemoteEndPoint => _peer.EndPoint;

    /// <summary>Bounds what all connections of the server have not taken.</summary>
    public SendBudget SendBudget => _terms.SendBudget;

    /// <summary>Whatever the handler wants to keep with the connection.</summary>
    public object? State { get; set; }

    /// <summary>Cancelled when the connection closes. Its source is never disposed.</summary>
    public CancellationToken Closed { get; }

    /// <summary>Bytes that wait to be taken by the peer.</summary>
    public int QueuedBytes => (int)Math.Min(Sender.QueuedBytes, int.MaxValue);

    /// <summary>Where the peer is. Like all that is known of the peer it holds from the first frame on.</summary>
    public PeerPlace Place => _peer.Place;

    /// <summary>Whether TLS was agreed on.</summary>
    public bool IsEncrypted => _peer.IsEncrypted;

    /// <summary>The certificate that the peer showed and TLS checked; null: none was asked for, or shown. It is not
    /// disposed.</summary>
    public X509Certificate2? PeerCertificate => _peer.Proof?.Certificate;

    /// <summary>Whether nothing between the two ends can read what they send: it does not leave the machine, or is
    /// encrypted.</summary>
    public bool IsPrivate => IsEncrypted || Place != PeerPlace.Remote;

    /// <summary>What its peer's address holds of the server.</summary>
    internal PeerShare Share { get; }

    /// <summary>Whether the peer is known, and the connection's place.</summary>
    internal ConnectionStay Stay => _stay;

    /// <summary>Completes when the connection has ended and the handler was told.</summary>
    internal Task Completion => _loop;

    /// <summary>What leaves.</summary>
    private protected FrameSender Sender { get; }

    /// <summary>What comes.</summary>
    private protected WireReader Input { get; }

    /// <summary>What the server's timer looks at.</summary>
    private protected ConnectionWatch Watching { get; }

    /// <summary>What the handler owes the peer.</summary>
    private protected UnansweredRequests Requests { get; } = new();

    /// <summary>Whether it is closed, or about to be.</summary>
    private protected bool IsClosed => Volatile.Read(ref _isClosed) != 0;

    /// <summary>Why it closed.</summary>
    private protected Exception? Cause { get; private set; }

    /// <summary>Where to log.</summary>
    private protected ILogger Logger => _terms.Logger;

    /// <summary>Judges the peer's certificate again: files of trust change, and certificates end, while a connection
    /// lasts. It costs little while nothing has changed; the caller closes the connection.</summary>
    /// <returns>Why the certificate is not trusted any more, for people; null: it is, or none was shown.</returns>
    /// <remarks>Thread-safe. The files are looked at once a second at most.</remarks>
    public string? FindDistrust() => _peer.Proof is { } proof ? _tls?.FindDistrust(proof) : null;

    /// <summary>Finds the number of the user whose the peer's end of the connection is (Linux).</summary>
    /// <returns>In this process its own; over a Unix socket who connected (the effective user at that moment); over
    /// loopback who made the peer's socket; null when that is not known: the peer is elsewhere, its end is closed
    /// already, or the system does not tell. A peer can bring about null.</returns>
    /// <remarks>It proves whose process made the connection, not which process uses it now: sockets can be passed on,
    /// and a proxy's connection is the proxy's. <see cref="LoopbackPeer.FindUser"/> says more. Each call asks the
    /// system; keep the answer.</remarks>
    public uint? FindPeerUser() => _peer.FindUser();

    /// <summary>The handler knows who the peer is: from here on the connection may stay, and its frames may be as long
    /// as the server's options say. For the handler of a frame; a second call does nothing.</summary>
    public void Admit()
    {
        if (_stay.IsAdmitted)
            return;
        OnAdmitted();
        _stay.Admit();
    }

    /// <summary>Gives a peer that is not known more time: once the wait is over it has the admission timeout again. Its
    /// frames stay short, and it makes room when others need its place. For the handler of a frame.</summary>
    /// <param name="wait">How long the peer may be kept waiting for an answer.</param>
    public void Extend(TimeSpan wait) => _stay.Extend(wait);

    /// <summary>Completes when no more than the allowed bytes wait for the peer, or when the connection
    /// closes.</summary>
    public ValueTask WhenWritable() => Sender.WhenWritable();

    /// <summary>Closes at once: what is queued is dropped. Thread-safe; the first cause counts.</summary>
    /// <param name="cause">Handed to <see cref="IConnectionHandler.OnDisconnected"/>.</param>
    public void Close(Exception? cause)
    {
        if (Interlocked.Exchange(ref _isClosed, 1) != 0)
            return;
        Cause = cause;
        Sender.Close();
        _wire.Abort();
        Requests.Abandon();
        try
        {
            _closed.Cancel();
        }
        catch (AggregateException exception)
        {
            Log.HandlerFailed(Logger, Id, RemoteEndPoint, exception);
        }
    }

    /// <summary>Closes in order: handles no further frame, sends what is queued, ends the stream.</summary>
    /// <remarks>Thread-safe. The connection is gone when the peer has ended its side, or after the idle
    /// timeout.</remarks>
    public void CloseAfterFlush()
    {
        if (Interlocked.CompareExchange(ref _farewell, Task.CompletedTask, null) is null)
            Volatile.Write(ref _farewell, FarewellAsync());
    }

    /// <summary>Starts the loop on the thread pool; <paramref name="onEnded"/> is called last.</summary>
    internal void Start(Action<Connection> onEnded) => _loop = Task.Run(() => RunAsync(onEnded));

    /// <summary>Called by the server's timer.</summary>
    /// <param name="isPressed">Whether others have no memory for what they are to be sent.</param>
    internal void Watch(bool isPressed)
    {
        if (IsClosed)
            return;
        if (_stay.IsOver)
        {
            TimeSpan timeout = _terms.Options.AdmissionTimeout;
            Log.NotAdmitted(Logger, Id, RemoteEndPoint, timeout);
            Close(new RemotingException(
                RemotingError.Timeout, $"The peer did not say who it is within {timeout}."));
            return;
        }

        Watching.Look(isPressed);
    }

    /// <summary>The frame that the peer has begun, if it holds receive memory and the peer alone is to blame that it
    /// does not end. For one thread at a time.</summary>
    /// <param name="leastRate">Bytes per second below which it has stalled.</param>
    /// <param name="half">The frame.</param>
    internal bool TryFindHalfFrame(int leastRate, [NotNullWhen(true)] out HalfFrame? half)
    {
        int bytes = Input.HeldBytes;
        PartialFrame partial = Watching.Partial;
        bool isHeldUp = Watching.IsHeldUp || Requests.IsHandling;
        bool isPeers = bytes > 0 && partial.IsThere && !IsClosed && !isHeldUp;
        half = isPeers
            ? new HalfFrame(this, bytes, partial.Age, partial.Rate, partial.HasStalled(leastRate))
            : null;
        return isPeers;
    }

    /// <summary>Handles no further frame. The task completes when every request that was handled has its answer
    /// queued.</summary>
    internal Task BeginDrain() => Requests.BeginDrain();

    /// <summary>Ends the stream behind the queued answers; the loop ends when the peer ends its side.</summary>
    internal async Task FlushAndShutdownAsync()
    {
        await Sender.WhenIdle().ConfigureAwait(false);
        try
        {
            await _wire.EndSendingAsync().ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or IOException or ObjectDisposedException
            or InvalidOperationException or NotSupportedException)
        {
            Close(exception);
        }

        await _loop.ConfigureAwait(false);
    }

    /// <summary>Tells a peer that this end is there, although it has nothing else to say. Any thread.</summary>
    internal abstract void SendSignOfLife();

    /// <summary>The peer is known: its frames may be longer from here on.</summary>
    private protected abstract void OnAdmitted();

    /// <summary>Reads and handles frames until the peer ends the stream.</summary>
    private protected abstract Task ReceiveAsync();

    /// <summary>Logs why the loop ends, if it is worth that, and tells the peer, if that is due.</summary>
    private protected abstract void Report(Exception exception);

    /// <summary>The connection has ended and sends nothing: lets go of what was read, and tells the handler.</summary>
    private protected abstract void OnEnded();

    private async Task RunAsync(Action<Connection> onEnded)
    {
        try
        {
            if (_tls is null || await SecureAsync(_tls).ConfigureAwait(false))
            {
                Watching.Begin();
                await ReceiveAsync().ConfigureAwait(false);
            }

            Close(null);
        }
        catch (Exception exception)
        {
            Report(exception);
            Close(exception);
        }

        PollerThread.Leave();
        await Sender.WhenIdle().ConfigureAwait(false);
        _wire.Dispose();
        OnEnded();
        onEnded(this);
    }

    /// <summary>Whether frames may be read; if not, the connection is closed and the log says why.</summary>
    private async ValueTask<bool> SecureAsync(TlsAcceptor tls)
    {
        using var limit = new CancellationTokenSource(tls.HandshakeTimeout, _terms.Time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, Closed);
        var handshake = new TlsHandshake(_wire, _peer, tls);
        string? reason = await handshake.TryRunAsync(either.Token).ConfigureAwait(false);
        if (reason is null)
            return !IsClosed;
        if (limit.IsCancellationRequested)
            reason = $"it was not complete after {tls.HandshakeTimeout}";
        if (reason.Length > 0 && !IsClosed)
        {
            Log.HandshakeFailed(Logger, Id, RemoteEndPoint, reason);
            await handshake.LingerAsync(either.Token).ConfigureAwait(false);
        }

        Close(new RemotingException(RemotingError.ProtocolViolation, $"The TLS handshake failed: {reason}."));
        return false;
    }

    private async Task FarewellAsync()
    {
        await BeginDrain().ConfigureAwait(false);
        await FlushAndShutdownAsync().ConfigureAwait(false);
    }
}
