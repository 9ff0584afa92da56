using System.Diagnostics.CodeAnalysis;
using System.Net;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting;

/// <summary>One accepted connection. Made by the server; answered through its <c>Send</c> from any
/// thread.</summary>
[SuppressMessage("Design", "CA1001", Justification = "The loop releases the reader; the token outlives it.")]
public sealed partial class ServerConnection
{
    private readonly Wire _wire;
    private readonly RemotingServerOptions _options;
    private IConnectionHandler _handler;
    private readonly ILogger _logger;
    private readonly TimeProvider _time;
    private readonly FrameSender _sender;
    private readonly WireReader _input;
    private readonly FrameReader _reader;
    private readonly PartialFrame _partial;
    private readonly CancellationTokenSource _closed = new();
    private Task _loop = Task.CompletedTask;
    private Exception? _cause;
    private int _isClosed;

    internal ServerConnection(
        long id,
        Wire wire,
        ConnectionPeer peer,
        TlsAcceptor? tls,
        RemotingServerOptions options,
        PeerShare share,
        ReceiveBudget budget,
        SendBudget sendBudget,
        IConnectionHandler handler,
        ILogger logger,
        TimeProvider time)
    {
        Id = id;
        _wire = wire;
        _tls = tls;
        _options = options;
        _handler = handler;
        _logger = logger;
        _time = time;
        _peer = peer;
        Share = share;
        Closed = _closed.Token;
        SendBudget = sendBudget;
        _sender = new FrameSender(
            wire, options.MaxQueuedSendBytes, time, Close, callersHelp: false, new Gate(), sendBudget);
        _input = new WireReader(wire, options.ReceiveBufferBytes, budget, share, Closed);
        _isAdmitted = options.AdmissionTimeout == TimeSpan.Zero;
        int maxFrameBytes = _isAdmitted
            ? options.MaxFrameBytes
            : Math.Min(options.MaxUnadmittedFrameBytes, options.MaxFrameBytes);
        _reader = new FrameReader(_input, maxFrameBytes);
        _partial = new PartialFrame(_input, time);
        _stayBegan = _lastReceived = _watchedAt = time.GetTimestamp();
    }

    /// <summary>The connection's number in its server, from 1, never reused.</summary>
    public long Id { get; }

    /// <summary>The peer's address.</summary>
    public EndPoint RemoteEndPoint => _peer.EndPoint;

    /// <summary>Bounds what all connections of the server have not taken.</summary>
    public SendBudget SendBudget { get; }

    /// <summary>Whatever the handler wants to keep with the connection.</summary>
    public object? State { get; set; }

    /// <summary>Cancelled when the connection closes. Valid without end.</summary>
    public CancellationToken Closed { get; }

    /// <summary>Whether more has come from the peer than the frame at hand. For
    /// <see cref="IConnectionHandler.OnFrameAsync"/>, before its first await.</summary>
    public bool HasMoreAtHand => _reader.HasUnread;

    /// <summary>Bytes that wait to be taken by the peer.</summary>
    public int QueuedBytes => (int)Math.Min(_sender.QueuedBytes, int.MaxValue);

    /// <summary>Gives the connection to another handler: it is told that the connection was opened, gets the next
    /// frames and is told the end. For <see cref="IConnectionHandler.OnFrameAsync"/>; the frame at hand stays the
    /// caller's.</summary>
    public void HandOver(IConnectionHandler handler)
    {
        ArgumentNullException.ThrowIfNull(handler);
        handler.OnConnected(this);
        _handler = handler;
    }

    /// <summary>Queues a frame; never blocks. On a closed connection the frame is dropped.</summary>
    /// <param name="frame">Owned by the connection from here on.</param>
    /// <param name="opcode">1..255; an answer carries its request's.</param>
    /// <param name="version">The version of the opcode's payload.</param>
    /// <param name="flags">With <see cref="FrameFlags.Response"/> for an answer.</param>
    /// <param name="correlationId">An answer carries its request's.</param>
    /// <param name="error">0 or the user's error code.</param>
    /// <param name="inlineAllowed">From within <see cref="IConnectionHandler.OnFrameAsync"/>: the receive loop sends
    /// the frame itself when it is through with the frames at hand. Elsewhere: this thread does the system call, unless
    /// another thread sends already. Otherwise one work item of the thread pool sends whatever is queued by
    /// then.</param>
    /// <exception cref="RemotingException">The frame is larger than <see cref="RemotingServerOptions.MaxFrameBytes"/>;
    /// it is dropped.</exception>
    /// <remarks>Thread-safe. What one thread sends leaves in the order of its calls.</remarks>
    public void Send(
        FrameBuffer frame,
        byte opcode,
        byte version,
        FrameFlags flags,
        uint correlationId,
        ushort error,
        bool inlineAllowed = false)
    {
        ArgumentNullException.ThrowIfNull(frame);
        int bytes = frame.FrameBytes;
        if (bytes > _options.MaxFrameBytes)
        {
            frame.Dispose();
            throw new RemotingException(
                RemotingError.TooLarge, $"A frame of {bytes} bytes exceeds the maximum of {_options.MaxFrameBytes}.");
        }

        frame.Seal(opcode, version, flags, correlationId, error);
        _sender.Enqueue(frame, inlineAllowed);
        if ((flags & FrameFlags.Response) != FrameFlags.None)
            CountAnswer();
    }

    /// <summary>Queues a frame with a copy of <paramref name="payload"/>, copied once, to where it leaves
    /// from.</summary>
    /// <param name="payload">May be used again as soon as the method returns.</param>
    /// <param name="opcode">As for a frame.</param>
    /// <param name="version">As for a frame.</param>
    /// <param name="flags">As for a frame.</param>
    /// <param name="correlationId">As for a frame.</param>
    /// <param name="error">As for a frame.</param>
    /// <param name="inlineAllowed">As for a frame.</param>
    /// <exception cref="RemotingException">As for a frame.</exception>
    /// <remarks>As for a frame.</remarks>
    public void Send(
        ReadOnlySpan<byte> payload,
        byte opcode,
        byte version,
        FrameFlags flags,
        uint correlationId,
        ushort error,
        bool inlineAllowed = false)
    {
        var header = FrameHeader.Of(payload, opcode, version, flags, correlationId, error);
        if (header.Length > Math.Min(FrameQueue.SmallFrameBytes, _options.MaxFrameBytes))
        {
            Send(FrameBuffer.Of(payload), opcode, version, flags, correlationId, error, inlineAllowed);
            return;
        }

        if (inlineAllowed && _sender.IsCorkedHere)
        {
            _sender.Hold(header, payload);
            if ((flags & FrameFlags.Response) != FrameFlags.None)
                _answeredByLoop++;
            return;
        }

        _sender.Enqueue(header, payload, inlineAllowed);
        if ((flags & FrameFlags.Response) != FrameFlags.None)
            CountAnswer();
    }

    /// <summary>Completes when no more than the allowed bytes wait for the peer, or when the connection
    /// closes.</summary>
    public ValueTask WhenWritable() => _sender.WhenWritable();

    /// <summary>Closes at once: what is queued is dropped. Thread-safe; the first cause counts.</summary>
    /// <param name="cause">Handed to <see cref="IConnectionHandler.OnDisconnected"/>.</param>
    public void Close(Exception? cause)
    {
        if (Interlocked.Exchange(ref _isClosed, 1) != 0)
            return;
        _cause = cause;
        _sender.Close();
        _wire.Abort();
        _drained.TrySetResult();
        try
        {
            _closed.Cancel();
        }
        catch (AggregateException exception)
        {
            Log.HandlerFailed(_logger, Id, RemoteEndPoint, exception);
        }
    }
}
