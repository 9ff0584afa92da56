using System.Net.Sockets;

namespace EQueue.Remoting;

/// <content>The receive loop: reads frames and hands them to the handler, one after the other.</content>
public sealed partial class ServerConnection
{
    private const int ReceivesPerTurn = 64;

    private bool _isHandlerConnected;
    private bool _isSecured;
    private bool _hasReceived;
    private bool _isInHandler;
    private int _receives;

    /// <summary>Completes when the connection has ended and the handler was told.</summary>
    internal Task Completion => _loop;

    /// <summary>Starts the loop on the thread pool; <paramref name="onEnded"/> is called last.</summary>
    internal void Start(Action<ServerConnection> onEnded) => _loop = Task.Run(() => RunAsync(onEnded));

    private async Task RunAsync(Action<ServerConnection> onEnded)
    {
        try
        {
            await ProcessAsync().ConfigureAwait(false);
            Close(null);
        }
        catch (Exception exception) when (_isInHandler)
        {
            if (exception is not OperationCanceledException || Volatile.Read(ref _isClosed) == 0)
                Log.HandlerFailed(_logger, Id, RemoteEndPoint, exception);
            Close(exception);
        }
        catch (RemotingException exception)
        {
            if (Volatile.Read(ref _isClosed) == 0)
                Log.BadFrame(_logger, Id, RemoteEndPoint, exception.Message);

            // Something that is no TLS tells a TLS client at once that it is at the wrong port.
            if (_reader.HasSeenTls)
                SendPing(0, FrameFlags.None, inline: true);
            Close(exception);
        }
        catch (Exception exception)
        {
            if (_tls is not null && exception is IOException && !_hasReceived && Volatile.Read(ref _isClosed) == 0)
            {
                Log.HandshakeFailed(_logger, Id, RemoteEndPoint, "it went away before its first frame");
            }
            else if (exception is not (SocketException or IOException or ObjectDisposedException
                or OperationCanceledException))
            {
                Log.LoopFailed(_logger, Id, RemoteEndPoint, exception);
            }

            Close(exception);
        }

        PollerThread.Leave();
        await _sender.WhenIdle().ConfigureAwait(false);
        _reader.Dispose();
        _wire.Dispose();
        TellHandler();
        onEnded(this);
    }

    private async Task ProcessAsync()
    {
        if (_tls is not null && !await SecureAsync(_tls).ConfigureAwait(false))
            return;
        Volatile.Write(ref _lastReceived, _time.GetTimestamp());
        Volatile.Write(ref _isSecured, true);
        _isInHandler = true;
        _handler.OnConnected(this);
        _isHandlerConnected = true;
        _isInHandler = false;
        while (await _reader.FillAsync().ConfigureAwait(false))
            await HandleFramesAsync().ConfigureAwait(false);
    }

    /// <summary>Handles the frames at hand. Their answers leave together behind them.</summary>
    private async ValueTask HandleFramesAsync()
    {
        _hasReceived = true;
        if (!IsDraining)
            Volatile.Write(ref _lastReceived, _time.GetTimestamp());
        bool hasFrame = false;
        BeginBurst();
        try
        {
            while (_reader.TryRead(out FrameHeader header, out ReadOnlyMemory<byte> payload))
            {
                hasFrame = true;
                if (IsDraining)
                    continue;
                ValueTask handling = DispatchAsync(header, payload);
                if (handling.IsCompletedSuccessfully && _sender.IsWritable)
                    continue;
                await PauseAsync(handling).ConfigureAwait(false);
            }

            _partial.Note(_reader.HasUnread, hasFrame);
        }
        finally
        {
            // Also what was answered before a frame that ends the connection.
            EndBurst();
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
            _requests++;
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
        _sender.Uncork();
        Volatile.Write(ref _pausedSince, _time.GetTimestamp());
        await handling.ConfigureAwait(false);
        _isInHandler = false;
        await _sender.WhenWritable().ConfigureAwait(false);
        Volatile.Write(ref _lastReceived, _time.GetTimestamp());
        Volatile.Write(ref _pausedSince, 0);
        _sender.Cork();
    }

    private void SendPing(uint correlationId, FrameFlags flags, bool inline)
    {
        var ping = FrameBuffer.Rent();
        ping.Seal(FrameHeader.PingOpcode, 0, flags, correlationId, 0);
        _sender.Enqueue(ping, inline);
    }

    private void TellHandler()
    {
        if (!_isHandlerConnected)
            return;
        try
        {
            _handler.OnDisconnected(this, _cause);
        }
        catch (Exception exception)
        {
            Log.HandlerFailed(_logger, Id, RemoteEndPoint, exception);
        }
    }
}
