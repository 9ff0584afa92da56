namespace EQueue.Remoting;

/// <content>
/// Calls that cannot be sent at once: no connection, no room in the queue, no free slot. They wait in one line, so
/// that what one thread calls leaves in the order of its calls; the first in the line waits for whatever is missing.
/// </content>
public sealed partial class RemotingClient
{
    private readonly SemaphoreSlim _turn = new(1, 1);
    private int _waiting;

    private async ValueTask SendOnewaySlowAsync(
        FrameBuffer request, byte opcode, byte version, CancellationToken cancellationToken)
    {
        bool isHandedOver = false;
        long deadline = DeadlineOf(TimeSpan.Zero);
        await WaitTurnAsync(request, deadline, cancellationToken).ConfigureAwait(false);
        try
        {
            ClientConnection connection =
                await WaitWritableAsync(isCall: false, deadline, cancellationToken).ConfigureAwait(false);
            isHandedOver = true;
            request.Seal(opcode, version, FrameFlags.Oneway, 0, 0);
            if (!connection.Sender.Enqueue(request, inline: false))
                throw Failures.ConnectionLost(_name, connection.Cause);
        }
        finally
        {
            EndTurn();
            if (!isHandedOver)
                request.Dispose();
        }
    }

    private async ValueTask<ResponseFrame> InvokeSlowAsync(
        FrameBuffer request, byte opcode, byte version, long deadline, CancellationToken cancellationToken)
    {
        ValueTask<ResponseFrame> response;
        await WaitTurnAsync(request, deadline, cancellationToken).ConfigureAwait(false);
        try
        {
            (ClientConnection connection, uint id, PendingCall call) =
                await TakeSlotAsync(request, null, 0, deadline, cancellationToken).ConfigureAwait(false);
            response = connection.SendAwaited(
                request, opcode, version, id, call, inline: false, cancellationToken);
        }
        finally
        {
            EndTurn();
        }

        return await response.ConfigureAwait(false);
    }

    /// <summary>The callback form has no awaiter: every outcome, and so every exception, goes to the
    /// sink.</summary>
    private async Task InvokeSlowAsync(
        FrameBuffer request, byte opcode, byte version, long deadline, IResponseSink sink, long token)
    {
        try
        {
            await WaitTurnAsync(request, deadline, CancellationToken.None).ConfigureAwait(false);
            try
            {
                (ClientConnection connection, uint id, _) =
                    await TakeSlotAsync(request, sink, token, deadline, CancellationToken.None).ConfigureAwait(false);
                connection.Send(request, opcode, version, id, inline: false);
            }
            finally
            {
                EndTurn();
            }
        }
        catch (RemotingException exception)
        {
            _ring.Tell(sink, token, exception);
        }
    }

    /// <summary>Waits until all earlier waiters are through; disposes the request when that takes too long, or when an
    /// attempt to connect is refused meanwhile: that is told to all who wait, not to the first of them alone.</summary>
    private async ValueTask WaitTurnAsync(FrameBuffer request, long deadline, CancellationToken cancellationToken)
    {
        EnsureStarted();
        Interlocked.Increment(ref _waiting);
        bool isIn = false;
        try
        {
            Task ready = Volatile.Read(ref _ready).Task;
            isIn = await _turn.WaitAsync(TimeLeft(deadline), cancellationToken).ConfigureAwait(false);
            if (!isIn)
                throw NotInTime("earlier calls still wait");
            if (!ready.IsFaulted)
                return;
            _turn.Release();
            isIn = false;
            await ready.ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            throw Failures.Cancelled(cancellationToken);
        }
        finally
        {
            if (!isIn)
            {
                Interlocked.Decrement(ref _waiting);
                request.Dispose();
            }
        }
    }

    private void EndTurn()
    {
        _turn.Release();
        Interlocked.Decrement(ref _waiting);
    }

    /// <summary>Waits for a connection with room and for a free slot; disposes the request when there is none in
    /// time.</summary>
    private async ValueTask<(ClientConnection Connection, uint Id, PendingCall Call)> TakeSlotAsync(
        FrameBuffer request, IResponseSink? sink, long token, long deadline, CancellationToken cancellationToken)
    {
        bool isTaken = false;
        try
        {
            while (true)
            {
                ClientConnection connection =
                    await WaitWritableAsync(isCall: true, deadline, cancellationToken).ConfigureAwait(false);
                isTaken = _ring.TryTake(
                    sink, token, connection, deadline, cancellationToken, out uint id, out PendingCall? call);
                if (isTaken)
                    return (connection, id, call!);
                await WithinAsync(
                    _ring.WhenFree(), deadline, $"{_options.MaxInFlight} requests wait for answers", cancellationToken)
                    .ConfigureAwait(false);
            }
        }
        finally
        {
            if (!isTaken)
                request.Dispose();
        }
    }

    private async ValueTask<ClientConnection> WaitWritableAsync(
        bool isCall, long deadline, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
            throw Failures.Cancelled(cancellationToken);
        while (true)
        {
            ClientConnection connection = await WaitReadyAsync(deadline, cancellationToken).ConfigureAwait(false);
            if (HasRoom(connection, isCall))
                return connection;
            await WithinAsync(
                connection.Sender.WhenWritable().AsTask(), deadline, "the peer takes too little of what waits for it",
                cancellationToken).ConfigureAwait(false);
        }
    }

    private async ValueTask<ClientConnection> WaitReadyAsync(long deadline, CancellationToken cancellationToken)
    {
        EnsureStarted();
        Task<ClientConnection?> ready = Volatile.Read(ref _ready).Task;
        if (_isDisposed)
            throw Failures.Disposed();
        if (_permanentFailure is not null)
            throw Failures.Unreachable(_name, _permanentFailure);
        await WithinAsync(ready, deadline, "no connection came about", cancellationToken).ConfigureAwait(false);
        return await ready.ConfigureAwait(false) ?? throw Ended();
    }

    private async ValueTask WithinAsync(Task work, long deadline, string what, CancellationToken cancellationToken)
    {
        try
        {
            await work.WaitAsync(TimeLeft(deadline), _time, cancellationToken).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            throw NotInTime(what);
        }
        catch (OperationCanceledException)
        {
            throw Failures.Cancelled(cancellationToken);
        }
    }

    private RemotingException NotInTime(string what)
    {
        Exception? cause = _lastFault?.Cause;
        return IsConnected || cause is null ? Failures.TimedOut(what) : Failures.Unreachable(_name, cause);
    }

    private RemotingException Ended() =>
        _isDisposed ? Failures.Disposed() : Failures.Unreachable(_name, _permanentFailure);
}
