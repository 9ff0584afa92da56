using System.Diagnostics;

namespace EQueue.Remoting;

/// <content>The call modes. The usual call finds a connection and a free slot and allocates nothing; the rest waits
/// its turn.</content>
public sealed partial class RemotingClient
{
    private const int RestMs = 2;

    private long _lastOnewayMs;

    /// <summary>Sends a request that gets no answer; completes when the bounded send queue has accepted it.</summary>
    /// <param name="request">Owned by the client from here on.</param>
    /// <param name="opcode">1..255.</param>
    /// <param name="version">The version of the opcode's payload.</param>
    /// <param name="cancellationToken">Ends the wait for a connection or for room.</param>
    /// <exception cref="RemotingException">No connection or no room within
    /// <see cref="RemotingClientOptions.RequestTimeout"/>, cancelled, disposed, or too large. What was accepted may
    /// still be lost with the connection.</exception>
    public ValueTask SendOnewayAsync(
        FrameBuffer request, byte opcode, byte version, CancellationToken cancellationToken)
    {
        Check(request, opcode);
        ClientConnection? connection = Unhindered(isCall: false);
        if (connection is null || cancellationToken.IsCancellationRequested)
            return SendOnewaySlowAsync(request, opcode, version, cancellationToken);

        request.Seal(opcode, version, FrameFlags.Oneway, 0, 0);
        if (connection.Sender.Enqueue(request, IsPrompt(request.FrameBytes)))
            return ValueTask.CompletedTask;
        return ValueTask.FromException(Failures.ConnectionLost(Name, connection.Cause));
    }

    /// <summary>Sends a request that gets no answer: <paramref name="payload"/> is copied once, to where it leaves
    /// from.</summary>
    /// <param name="payload">May be used again as soon as the method returns, whether its task is complete or
    /// not.</param>
    /// <param name="opcode">1..255.</param>
    /// <param name="version">The version of the opcode's payload.</param>
    /// <param name="cancellationToken">Ends the wait for a connection or for room.</param>
    /// <exception cref="RemotingException">As for a <see cref="FrameBuffer"/>.</exception>
    public ValueTask SendOnewayAsync(
        ReadOnlySpan<byte> payload, byte opcode, byte version, CancellationToken cancellationToken)
    {
        ClientConnection? connection = Unhindered(isCall: false);
        if (connection is null || cancellationToken.IsCancellationRequested || !IsPlain(payload, opcode))
            return SendOnewayAsync(FrameBuffer.Of(payload), opcode, version, cancellationToken);

        var header = FrameHeader.Of(payload, opcode, version, FrameFlags.Oneway, 0, 0);
        if (connection.Sender.Enqueue(header, payload, IsPrompt((int)header.Length)))
            return ValueTask.CompletedTask;
        return ValueTask.FromException(Failures.ConnectionLost(Name, connection.Cause));
    }

    /// <summary>Sends a request and waits for its answer.</summary>
    /// <param name="request">Owned by the client from here on.</param>
    /// <param name="opcode">1..255.</param>
    /// <param name="version">The version of the opcode's payload.</param>
    /// <param name="timeout">From now to the answer, the wait for a connection included; zero =
    /// <see cref="RemotingClientOptions.RequestTimeout"/>. Kept to within about 50 ms.</param>
    /// <param name="cancellationToken">Ends the wait; the peer is not told.</param>
    /// <returns>The answer, which the caller disposes. Await the task once.</returns>
    /// <exception cref="RemotingException">See the type's remarks.</exception>
    public ValueTask<ResponseFrame> InvokeAsync(
        FrameBuffer request, byte opcode, byte version, TimeSpan timeout, CancellationToken cancellationToken)
    {
        Check(request, opcode);
        long deadline = _clock.DeadlineOf(timeout);
        ClientConnection? connection = Unhindered(isCall: true);
        if (connection is null || cancellationToken.IsCancellationRequested
            || !_ring.TryTake(null, 0, connection, deadline, cancellationToken, out uint id, out PendingCall? call))
        {
            return InvokeSlowAsync(request, opcode, version, deadline, cancellationToken);
        }

        return connection.SendAwaited(
            request, opcode, version, id, call, inline: _ring.InFlight <= 1, cancellationToken);
    }

    /// <summary>Sends a request and waits for its answer: <paramref name="payload"/> is copied once, to where it leaves
    /// from.</summary>
    /// <param name="payload">May be used again as soon as the method returns.</param>
    /// <param name="opcode">1..255.</param>
    /// <param name="version">The version of the opcode's payload.</param>
    /// <param name="timeout">As for a <see cref="FrameBuffer"/>.</param>
    /// <param name="cancellationToken">Ends the wait; the peer is not told.</param>
    /// <returns>The answer, which the caller disposes. Await the task once.</returns>
    /// <exception cref="RemotingException">See the type's remarks.</exception>
    public ValueTask<ResponseFrame> InvokeAsync(
        ReadOnlySpan<byte> payload, byte opcode, byte version, TimeSpan timeout, CancellationToken cancellationToken)
    {
        ClientConnection? connection = Unhindered(isCall: true);
        if (connection is null || cancellationToken.IsCancellationRequested || !IsPlain(payload, opcode)
            || !connection.TryInvoke(
                payload, opcode, version, _clock.DeadlineOf(timeout), cancellationToken,
                out ValueTask<ResponseFrame> call))
        {
            return InvokeAsync(FrameBuffer.Of(payload), opcode, version, timeout, cancellationToken);
        }

        return call;
    }

    /// <summary>Sends a request and blocks this thread until its answer is there. Safe on any thread.</summary>
    /// <param name="request">Owned by the client from here on.</param>
    /// <param name="opcode">1..255.</param>
    /// <param name="version">The version of the opcode's payload.</param>
    /// <param name="timeout">As for an awaited call.</param>
    /// <returns>The answer, which the caller disposes.</returns>
    /// <exception cref="RemotingException">See the type's remarks.</exception>
    public ResponseFrame Invoke(FrameBuffer request, byte opcode, byte version, TimeSpan timeout)
    {
        // A blocked pool thread is made known to the pool by waiting on a task: it adds a thread in its place.
        if (Thread.CurrentThread.IsThreadPoolThread)
        {
            return InvokeAsync(request, opcode, version, timeout, CancellationToken.None)
                .AsTask().GetAwaiter().GetResult();
        }

        Check(request, opcode);
        long deadline = _clock.DeadlineOf(timeout);
        BlockingCall call = BlockingCall.OfThread;
        ClientConnection? connection = Unhindered(isCall: true);
        if (connection is null
            || !_ring.TryTake(call, 0, connection, deadline, CancellationToken.None, out uint id, out _))
        {
            return InvokeSlowAsync(request, opcode, version, deadline, CancellationToken.None)
                .AsTask().GetAwaiter().GetResult();
        }

        connection.Send(request, opcode, version, id, inline: true);
        return call.Wait(_ring, id, _clock.TimeLeft(deadline));
    }

    /// <summary>Sends a request; its outcome is told to <paramref name="sink"/>, exactly once.</summary>
    /// <param name="request">Owned by the client from here on.</param>
    /// <param name="opcode">1..255.</param>
    /// <param name="version">The version of the opcode's payload.</param>
    /// <param name="timeout">As for an awaited call.</param>
    /// <param name="sink">Told of the answer or the failure; must neither block nor throw.</param>
    /// <param name="token">Handed to the sink.</param>
    /// <param name="inlineAllowed">Whether this thread may send it although other calls wait for their answers: for
    /// those that are made one after the other beside calls which the peer keeps waiting.</param>
    public void Invoke(
        FrameBuffer request,
        byte opcode,
        byte version,
        TimeSpan timeout,
        IResponseSink sink,
        long token,
        bool inlineAllowed)
    {
        ArgumentNullException.ThrowIfNull(sink);
        long deadline;
        try
        {
            Check(request, opcode);
            deadline = _clock.DeadlineOf(timeout);
        }
        catch (RemotingException exception)
        {
            _ring.Tell(sink, token, exception);
            return;
        }

        ClientConnection? connection = Unhindered(isCall: true);
        if (connection is null
            || !_ring.TryTake(sink, token, connection, deadline, CancellationToken.None, out uint id, out _))
        {
            Task slow = InvokeSlowAsync(request, opcode, version, deadline, sink, token);
            Debug.Assert(!slow.IsFaulted, "Every outcome goes to the sink.");
            return;
        }

        connection.Send(request, opcode, version, id, inlineAllowed || _ring.InFlight <= 1, sink);
    }

    /// <summary>The connection, if a request may use it at once: no caller waits whom it would overtake, and there is
    /// room.</summary>
    private ClientConnection? Unhindered(bool isCall)
    {
        ClientConnection? connection = _connector.Current;
        bool isFree = _line.IsEmpty && connection is not null && HasRoom(connection, isCall);
        return isFree ? connection : null;
    }

    /// <summary>Whether the connection takes another request now.</summary>
    internal static bool HasRoom(ClientConnection connection, bool isCall) =>
        isCall ? connection.Sender.IsWritableForCalls : connection.Sender.IsWritable;

    /// <summary>Whether there is nothing to refuse and the sender takes a copy.</summary>
    private bool IsPlain(ReadOnlySpan<byte> payload, byte opcode)
    {
        int bytes = FrameHeader.Size + payload.Length;
        return bytes <= Math.Min(FrameQueue.SmallFrameBytes, _options.MaxFrameBytes)
            && opcode != FrameHeader.PingOpcode && !_connector.IsEnded;
    }

    /// <summary>A small oneway call, if the options say so, and one after a pause are sent by their own thread; those
    /// of a stream by the pool, which takes many at a time.</summary>
    private bool IsPrompt(int bytes)
    {
        if (bytes <= _options.PromptOnewayBytes)
            return true;
        long nowMs = Environment.TickCount64;
        bool isAtRest = nowMs - Volatile.Read(ref _lastOnewayMs) >= RestMs;
        Volatile.Write(ref _lastOnewayMs, nowMs);
        return isAtRest;
    }

    private void Check(FrameBuffer request, byte opcode)
    {
        ArgumentNullException.ThrowIfNull(request);
        ArgumentOutOfRangeException.ThrowIfEqual(opcode, FrameHeader.PingOpcode);
        int bytes = request.FrameBytes;
        if (!_connector.IsEnded && bytes <= _options.MaxFrameBytes)
            return;
        request.Dispose();
        throw _connector.IsEnded ? Failures.Disposed() : Failures.TooLarge(bytes, _options.MaxFrameBytes);
    }
}
