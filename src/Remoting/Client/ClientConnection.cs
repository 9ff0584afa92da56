using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Text;

namespace EQueue.Remoting;

/// <summary>One connection of a client, from connect to close; never used again.</summary>
/// <remarks>Its receive loop hands answers to the ring; the thread that closes it fails the calls that went out on
/// it.</remarks>
[SuppressMessage("Design", "CA1001", Justification = "The receive loop releases the reader.")]
internal sealed class ClientConnection : IHandshakeChannel
{
    private readonly Wire _wire;
    private readonly RemotingClientOptions _options;
    private readonly InFlightRing _ring;
    private readonly AnswerBurst _burst;
    private readonly CallClock _clock;
    private readonly Action<ClientConnection> _onClosing;
    private readonly FrameReader _reader;
    private Task _loop = Task.CompletedTask;
    private long _lastReceived;
    private long _pingSent;
    private int _isClosed;

    /// <param name="wire">Just made; the connection's own.</param>
    /// <param name="remote">Where it leads.</param>
    /// <param name="options">The client's.</param>
    /// <param name="ring">The client's calls.</param>
    /// <param name="clock">The client's; measures silence too.</param>
    /// <param name="onClosing">Told once that no more calls are to go out here, before those that did are failed: who
    /// calls again at once shall not meet this connection again.</param>
    public ClientConnection(
        Wire wire,
        EndPoint remote,
        RemotingClientOptions options,
        InFlightRing ring,
        CallClock clock,
        Action<ClientConnection> onClosing)
    {
        _wire = wire;
        _options = options;
        _ring = ring;
        _burst = new AnswerBurst(ring);
        _clock = clock;
        _onClosing = onClosing;
        RemoteEndPoint = remote;
        Sender = new FrameSender(wire, options.MaxQueuedSendBytes, _clock.Time, Close, ring.Gate);
        _reader = new FrameReader(new WireReader(wire, options.ReceiveBufferBytes), options.MaxFrameBytes);
        _lastReceived = _clock.Time.GetTimestamp();
    }

    /// <inheritdoc/>
    public EndPoint RemoteEndPoint { get; }

    /// <summary>Where requests go out.</summary>
    public FrameSender Sender { get; }

    /// <summary>Why the connection closed; <see langword="null"/> while it is open, or when the peer ended it in an
    /// orderly way.</summary>
    public Exception? Cause { get; private set; }

    /// <summary>Whether it is closed, or about to be.</summary>
    public bool IsClosed => Volatile.Read(ref _isClosed) != 0;

    /// <summary>Completes when the connection is closed and its loop has ended. Never faults.</summary>
    public Task Completion => _loop;

    /// <summary>Starts to receive; once.</summary>
    public void Start() => _loop = Task.Run(RunAsync, CancellationToken.None);

    /// <inheritdoc/>
    public ValueTask<ResponseFrame> InvokeAsync(
        FrameBuffer request, byte opcode, byte version, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(request);
        if (request.FrameBytes > _options.MaxFrameBytes)
        {
            int bytes = request.FrameBytes;
            request.Dispose();
            return ValueTask.FromException<ResponseFrame>(Failures.TooLarge(bytes, _options.MaxFrameBytes));
        }

        if (!_ring.TryTake(null, 0, this, long.MaxValue, cancellationToken, out uint id, out PendingCall? call))
        {
            request.Dispose();
            return ValueTask.FromException<ResponseFrame>(Failures.TimedOut("too many requests wait for answers"));
        }

        return SendAwaited(request, opcode, version, id, call, inline: true, cancellationToken);
    }

    /// <summary>Sends the request of an armed slot; fails its call when the connection is closed.</summary>
    /// <param name="request">The connection's from here on.</param>
    /// <param name="opcode">1..255.</param>
    /// <param name="version">The version of the opcode's payload.</param>
    /// <param name="id">Of the slot.</param>
    /// <param name="inline">Whether this thread may send it.</param>
    /// <param name="sink">Whom the answer is told; null = the slot's own.</param>
    public void Send(
        FrameBuffer request, byte opcode, byte version, uint id, bool inline, IResponseSink? sink = null)
    {
        FrameFlags flags = InFlightRing.PauseOf(sink) is null ? FrameFlags.None : FrameFlags.More;
        request.Seal(opcode, version, flags, id, 0);
        if (!Sender.Enqueue(request, inline))
            FailUnsent(id);
    }

    /// <summary>The same for a slot that is its own sink.</summary>
    /// <returns>The call, to be awaited once.</returns>
    public ValueTask<ResponseFrame> SendAwaited(
        FrameBuffer request,
        byte opcode,
        byte version,
        uint id,
        PendingCall call,
        bool inline,
        CancellationToken cancellationToken)
    {
        ValueTask<ResponseFrame> response = call.Task;
        Send(request, opcode, version, id, inline);
        _ring.FailIfCancelled(id, cancellationToken);
        return response;
    }

    /// <summary>Takes a slot and sends a copy of a payload that the sender takes, both under one lock.</summary>
    /// <returns><see langword="false"/> when there is no slot.</returns>
    public bool TryInvoke(
        ReadOnlySpan<byte> payload,
        byte opcode,
        byte version,
        long deadline,
        CancellationToken cancellationToken,
        out ValueTask<ResponseFrame> response)
    {
        var watch = CallWatch.Begin(_ring, cancellationToken);
        response = default;
        uint id;
        PendingCall? call;
        FrameSender.Queued queued = FrameSender.Queued.Refused;
        using (_ring.Gate.Enter())
        {
            if (_ring.TryTake(null, 0, this, deadline, watch, out id, out call))
            {
                response = call.Task;
                var header = FrameHeader.Of(payload, opcode, version, FrameFlags.None, id, 0);
                queued = Sender.Queue(header, payload, inline: _ring.InFlight <= 1);
            }
        }

        if (call is null)
        {
            watch?.End();
            return false;
        }

        if (queued == FrameSender.Queued.Refused)
            FailUnsent(id);
        else
            Sender.Follow(queued);
        _ring.FailIfCancelled(id, cancellationToken);
        return true;
    }

    private void FailUnsent(uint id) => _ring.Fail(id, Failures.ConnectionLost(RemoteEndPoint, Cause));

    /// <summary>Called by the client's timer: pings a silent peer, and closes when nothing follows.</summary>
    /// <returns>In how many milliseconds there may be something to do again.</returns>
    public long Watch()
    {
        long lastReceived = Volatile.Read(ref _lastReceived);
        if (lastReceived >= _pingSent)
            _pingSent = 0;
        TimeSpan silent = _clock.Time.GetElapsedTime(lastReceived);
        TimeSpan left = _options.KeepAliveInterval - silent;
        if (left <= TimeSpan.Zero)
        {
            if (_pingSent == 0)
            {
                _pingSent = _clock.Time.GetTimestamp();
                SendPing(0, FrameFlags.None, inline: false);
            }

            left = _options.KeepAliveTimeout - _clock.Time.GetElapsedTime(_pingSent);
            if (left <= TimeSpan.Zero)
                Close(Failures.TimedOut($"the peer was silent for {silent} and did not answer a ping"));
        }

        return (long)Math.Ceiling(left.TotalMilliseconds);
    }

    /// <summary>Closes at once and fails the calls that wait for answers. Thread-safe; the first cause
    /// counts.</summary>
    public void Close(Exception? cause)
    {
        if (Interlocked.Exchange(ref _isClosed, 1) != 0)
            return;
        Cause = cause;
        Sender.Close();
        _wire.Abort();
        _onClosing(this);
        _ring.FailAll(this, () => cause is RemotingException { Error: RemotingError.Disposed }
            ? Failures.Disposed()
            : Failures.ConnectionLost(RemoteEndPoint, cause));
    }

    private async Task RunAsync()
    {
        Exception? cause = null;
        try
        {
            await ProcessAsync().ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            cause = exception;
        }

        PollerThread.Leave();
        Close(cause);
        await Sender.WhenIdle().ConfigureAwait(false);
        _reader.Dispose();
        _wire.Dispose();
    }

    private async Task ProcessAsync()
    {
        while (await _reader.FillAsync().ConfigureAwait(false))
            ReadFrames();
    }

    private void ReadFrames()
    {
        Volatile.Write(ref _lastReceived, _clock.Time.GetTimestamp());
        try
        {
            while (_reader.TryRead(out FrameHeader header, out ReadOnlyMemory<byte> payload))
                Dispatch(header, payload);
        }
        finally
        {
            _burst.Deliver();
        }
    }

    private void Dispatch(FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        if (header.Opcode == FrameHeader.PingOpcode)
        {
            if (header.Error != 0)
                throw Refused(payload);
            if (!header.IsResponse)
                SendPing(header.CorrelationId, FrameFlags.Response, inline: true);
        }
        else if (header.IsResponse && header.Flags.HasFlag(FrameFlags.More) && header.Error == 0
            && _ring.TryGoOn(header.CorrelationId, _clock, out InFlightRing.Ending goingOn))
        {
            // Those that came before it are told first.
            _burst.Deliver();
            _ring.Answer(goingOn, _reader.Lease(header, payload));
        }
        else if (header.IsResponse)
        {
            // An answer whose call is over (timeout, cancellation) is dropped here, before anything is leased.
            if (!_ring.TryDisarm(header.CorrelationId, out InFlightRing.Ending ending))
                return;
            if (ending.Sink is PendingCall call && header.Length <= CallCell.SmallBytes)
            {
                call.Keep(header, payload.Span);
                _burst.Add(header.CorrelationId, ending);
            }
            else
            {
                _burst.Add(header.CorrelationId, ending, _reader.Lease(header, payload));
            }
        }
        else if (!header.IsOneway)
        {
            throw new RemotingException(
                RemotingError.ProtocolViolation, $"The server sent a request (opcode {header.Opcode}) to a client.");
        }
    }

    private RemotingException Refused(ReadOnlyMemory<byte> reason)
    {
        string text = $"{RemoteEndPoint} refuses this client: {Encoding.UTF8.GetString(reason.Span)}";
        return new RemotingException(RemotingError.ProtocolViolation, text, new TlsRefusedException(text));
    }

    private void SendPing(uint correlationId, FrameFlags flags, bool inline)
    {
        var ping = FrameBuffer.Rent();
        ping.Seal(FrameHeader.PingOpcode, 0, flags, correlationId, 0);
        Sender.Enqueue(ping, inline);
    }
}
