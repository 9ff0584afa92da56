using System.Diagnostics.CodeAnalysis;

namespace EQueue.Remoting;

/// <summary>Calls that cannot be sent at once: no connection, no room in the queue, no free slot. They wait in one
/// line, so that what one thread calls leaves in the order of its calls; the first in the line waits for whatever is
/// missing.</summary>
/// <param name="connector">Where connections come from.</param>
/// <param name="ring">Where slots come from.</param>
/// <param name="options">The client's.</param>
/// <param name="clock">Measures deadlines.</param>
[SuppressMessage("Design", "CA1001", Justification = "Its semaphore has no wait handle.")]
internal sealed class CallLine(
    Connector connector, InFlightRing ring, RemotingClientOptions options, CallClock clock)
{
    private readonly SemaphoreSlim _turn = new(1, 1);
    private int _waiting;

    /// <summary>Whether no call waits.</summary>
    public bool IsEmpty => Volatile.Read(ref _waiting) == 0;

    /// <summary>Waits until all earlier waiters are through; disposes the request when that takes too long, or when an
    /// attempt to connect is refused meanwhile: that is told to all who wait, not to the first of them alone.</summary>
    public async ValueTask WaitTurnAsync(FrameBuffer request, long deadline, CancellationToken cancellationToken)
    {
        Interlocked.Increment(ref _waiting);
        bool isIn = false;
        try
        {
            Task ready = connector.Ready;
            isIn = await _turn.WaitAsync(clock.TimeLeft(deadline), cancellationToken).ConfigureAwait(false);
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

    /// <summary>The caller is through.</summary>
    public void EndTurn()
    {
        _turn.Release();
        Interlocked.Decrement(ref _waiting);
    }

    /// <summary>Waits for a connection with room and for a free slot; disposes the request when there is none in
    /// time.</summary>
    public async ValueTask<(ClientConnection Connection, uint Id, PendingCall Call)> TakeSlotAsync(
        FrameBuffer request, IResponseSink? sink, long token, long deadline, CancellationToken cancellationToken)
    {
        bool isTaken = false;
        try
        {
            while (true)
            {
                ClientConnection connection =
                    await WaitWritableAsync(isCall: true, deadline, cancellationToken).ConfigureAwait(false);
                isTaken = ring.TryTake(
                    sink, token, connection, deadline, cancellationToken, out uint id, out PendingCall? call);
                if (isTaken)
                    return (connection, id, call!);
                await WithinAsync(
                    ring.WhenFree(), deadline, $"{options.MaxInFlight} requests wait for answers", cancellationToken)
                    .ConfigureAwait(false);
            }
        }
        finally
        {
            if (!isTaken)
                request.Dispose();
        }
    }

    /// <summary>Waits for a connection with room.</summary>
    public async ValueTask<ClientConnection> WaitWritableAsync(
        bool isCall, long deadline, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
            throw Failures.Cancelled(cancellationToken);
        while (true)
        {
            ClientConnection connection = await WaitReadyAsync(deadline, cancellationToken).ConfigureAwait(false);
            if (RemotingClient.HasRoom(connection, isCall))
                return connection;
            await WithinAsync(
                connection.Sender.WhenWritable().AsTask(), deadline, "the peer takes too little of what waits for it",
                cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Waits for a connection.</summary>
    public async ValueTask<ClientConnection> WaitReadyAsync(long deadline, CancellationToken cancellationToken)
    {
        Task<ClientConnection?> ready = connector.Ready;
        if (connector.IsEnded)
            throw Failures.Disposed();
        if (connector.PermanentFailure is not null)
            throw Failures.Unreachable(connector.Name, connector.PermanentFailure);
        await WithinAsync(ready, deadline, "no connection came about", cancellationToken).ConfigureAwait(false);
        return await ready.ConfigureAwait(false) ?? throw Ended();
    }

    private async ValueTask WithinAsync(Task work, long deadline, string what, CancellationToken cancellationToken)
    {
        try
        {
            await work.WaitAsync(clock.TimeLeft(deadline), clock.Time, cancellationToken).ConfigureAwait(false);
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
        Exception? cause = connector.LastFault?.Cause;
        return connector.Current is not null || cause is null
            ? Failures.TimedOut(what)
            : Failures.Unreachable(connector.Name, cause);
    }

    private RemotingException Ended() =>
        connector.IsEnded ? Failures.Disposed() : Failures.Unreachable(connector.Name, connector.PermanentFailure);
}
