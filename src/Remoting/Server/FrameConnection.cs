using System.Diagnostics.CodeAnalysis;
using System.Net.Sockets;

namespace EQueue.Remoting;

/// <summary>A connection of EQueue's own frames: hands them to a handler, one after the other, and sends the answers.
/// Made by the server; answered through its <c>Send</c> from any thread.</summary>
[SuppressMessage("Design", "CA1001", Justification = "The loop releases the reader.")]
public sealed class FrameConnection : Connection
{
    private const int ReceivesPerTurn = 64;

    private readonly FrameReader _reader;
    private readonly RemotingServerOptions _options;
    private readonly bool _isTls;
    private IConnectionHandler _handler;
    private bool _isHandlerConnected;
    private bool _hasReceived;
    private bool _isInHandler;
    private int _receives;

    internal FrameConnection(
        long id,
        Wire wire,
        ConnectionPeer peer,
        TlsAcceptor? tls,
        PeerShare share,
        ConnectionTerms terms,
        IConnectionHandler handler)
        : base(id, wire, peer, tls, share, terms)
    {
        _options = terms.Options;
        _handler = handler;
        _isTls = tls is not null;
        int maxFrameBytes = Stay.IsAdmitted
            ? _options.MaxFrameBytes
            : Math.Min(_options.MaxUnadmittedFrameBytes, _options.MaxFrameBytes);
        _reader = new FrameReader(Input, maxFrameBytes);
    }

    /// <summary>Whether more has come from the peer than the frame at hand. For
    /// <see cref="IConnectionHandler.OnFrameAsync"/>, before its first await.</summary>
    public bool HasMoreAtHand => _reader.HasUnread;

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
        Sender.Enqueue(frame, inlineAllowed);
        if (IsLastAnswer(flags))
            Requests.NoteAnswer();
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

        if (inlineAllowed && Sender.IsCorkedHere)
        {
            Sender.Hold(header, payload);
            if (IsLastAnswer(flags))
                Requests.NoteAnswerByLoop();
            return;
        }

        Sender.Enqueue(header, payload, inlineAllowed);
        if (IsLastAnswer(flags))
            Requests.NoteAnswer();
    }

    /// <summary>Whether a request is answered with that, and no more follows.</summary>
    private static bool IsLastAnswer(FrameFlags flags) =>
        (flags & (FrameFlags.Response | FrameFlags.More)) == FrameFlags.Response;

    internal override void SendSignOfLife() => SendPing(0, FrameFlags.None, inline: false);

    private protected override void OnAdmitted() => _reader.MaxFrameBytes = _options.MaxFrameBytes;

    private protected override async Task ReceiveAsync()
    {
        _isInHandler = true;
        _handler.OnConnected(this);
        _isHandlerConnected = true;
        _isInHandler = false;
        while (await _reader.FillAsync().ConfigureAwait(false))
            await HandleFramesAsync().ConfigureAwait(false);
    }

    private protected override void Report(Exception exception)
    {
        if (_isInHandler)
        {
            if (exception is not OperationCanceledException || !IsClosed)
                Log.HandlerFailed(Logger, Id, RemoteEndPoint, exception);
        }
        else if (exception is RemotingException)
        {
            if (!IsClosed)
                Log.BadFrame(Logger, Id, RemoteEndPoint, exception.Message);

            // Something that is no TLS tells a TLS client at once that it is at the wrong port.
            if (_reader.HasSeenTls)
                SendPing(0, FrameFlags.None, inline: true);
        }
        else if (_isTls && exception is IOException && !_hasReceived && !IsClosed)
        {
            Log.HandshakeFailed(Logger, Id, RemoteEndPoint, "it went away before its first frame");
        }
        else if (exception is not (SocketException or IOException or ObjectDisposedException
            or OperationCanceledException))
        {
            Log.LoopFailed(Logger, Id, RemoteEndPoint, exception);
        }
    }

    private protected override void OnEnded()
    {
        _reader.Dispose();
        if (!_isHandlerConnected)
            return;
        try
        {
            _handler.OnDisconnected(this, Cause);
        }
        catch (Exception exception)
        {
            Log.HandlerFailed(Logger, Id, RemoteEndPoint, exception);
        }
    }

    /// <summary>Handles the frames at hand. Their answers leave together behind them.</summary>
    private async ValueTask HandleFramesAsync()
    {
        _hasReceived = true;
        if (!Requests.IsDraining)
            Watching.NoteReceived();
        bool hasFrame = false;
        Requests.BeginHandling();
        Sender.Cork();
        try
        {
            while (_reader.TryRead(out FrameHeader header, out ReadOnlyMemory<byte> payload))
            {
                hasFrame = true;
                if (Requests.IsDraining)
                    continue;
                ValueTask handling = DispatchAsync(header, payload);
                if (handling.IsCompletedSuccessfully && Sender.IsWritable)
                    continue;
                await PauseAsync(handling).ConfigureAwait(false);
                Sender.Cork(); // By the thread that continues the loop, which need not be the one that ended the pause.
            }

            Watching.Partial.Note(_reader.HasUnread, hasFrame);
        }
        finally
        {
            // Also what was answered before a frame that ends the connection.
            Sender.Uncork();
            Requests.EndHandling();
        }

        // A peer that is always faster than this loop must not keep a pool thread that others wait for. The poller's
        // threads see to that themselves.
        if (++_receives % ReceivesPerTurn == 0 && !PollerThread.IsCurrent && ThreadPool.PendingWorkItemCount > 0)
            await Task.Yield();
    }

    private ValueTask DispatchAsync(FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        if (header.Opcode == FrameHeader.PingOpcode)
        {
            if (!header.IsResponse)
                SendPing(header.CorrelationId, FrameFlags.Response, inline: true);
            return ValueTask.CompletedTask;
        }

        if (!header.IsOneway && !header.IsResponse)
            Requests.NoteRequest();
        _isInHandler = true;
        ValueTask handling = _handler.OnFrameAsync(this, header, payload);
        if (handling.IsCompletedSuccessfully)
            _isInHandler = false;
        return handling;
    }

    /// <summary>Back-pressure: nothing more is read until the handler is done and the peer has taken its
    /// answers.</summary>
    private async ValueTask PauseAsync(ValueTask handling)
    {
        Sender.Uncork();
        Watching.Pause();
        await handling.ConfigureAwait(false);
        _isInHandler = false;
        await Sender.WhenWritable().ConfigureAwait(false);
        Watching.Resume();
    }

    private void SendPing(uint correlationId, FrameFlags flags, bool inline)
    {
        var ping = FrameBuffer.Rent();
        ping.Seal(FrameHeader.PingOpcode, 0, flags, correlationId, 0);
        Sender.Enqueue(ping, inline);
    }
}
