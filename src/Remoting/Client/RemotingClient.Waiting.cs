namespace EQueue.Remoting;

/// <content>The same calls where they have to wait: <see cref="CallLine"/>.</content>
public sealed partial class RemotingClient
{
    private async ValueTask SendOnewaySlowAsync(
        FrameBuffer request, byte opcode, byte version, CancellationToken cancellationToken)
    {
        bool isHandedOver = false;
        long deadline = _clock.DeadlineOf(TimeSpan.Zero);
        EnsureStarted();
        await _line.WaitTurnAsync(request, deadline, cancellationToken).ConfigureAwait(false);
        try
        {
            ClientConnection connection =
                await _line.WaitWritableAsync(isCall: false, deadline, cancellationToken).ConfigureAwait(false);
            isHandedOver = true;
            request.Seal(opcode, version, FrameFlags.Oneway, 0, 0);
            if (!connection.Sender.Enqueue(request, inline: false))
                throw Failures.ConnectionLost(Name, connection.Cause);
        }
        finally
        {
            _line.EndTurn();
            if (!isHandedOver)
                request.Dispose();
        }
    }

    private async ValueTask<ResponseFrame> InvokeSlowAsync(
        FrameBuffer request, byte opcode, byte version, long deadline, CancellationToken cancellationToken)
    {
        ValueTask<ResponseFrame> response;
        EnsureStarted();
        await _line.WaitTurnAsync(request, deadline, cancellationToken).ConfigureAwait(false);
        try
        {
            (ClientConnection connection, uint id, PendingCall call) =
                await _line.TakeSlotAsync(request, null, 0, deadline, cancellationToken).ConfigureAwait(false);
            response = connection.SendAwaited(
                request, opcode, version, id, call, inline: false, cancellationToken);
        }
        finally
        {
            _line.EndTurn();
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
            EnsureStarted();
            await _line.WaitTurnAsync(request, deadline, CancellationToken.None).ConfigureAwait(false);
            try
            {
                (ClientConnection connection, uint id, _) = await _line
                    .TakeSlotAsync(request, sink, token, deadline, CancellationToken.None).ConfigureAwait(false);
                connection.Send(request, opcode, version, id, inline: false, sink);
            }
            finally
            {
                _line.EndTurn();
            }
        }
        catch (RemotingException exception)
        {
            _ring.Tell(sink, token, exception);
        }
    }
}
