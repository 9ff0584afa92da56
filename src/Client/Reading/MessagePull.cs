namespace EQueue.Client;

/// <summary>Messages taken some at a time, as copies.</summary>
/// <remarks>A pull counts as a loop of the reader, of which there is one at a time.</remarks>
internal sealed class MessagePull(MessageStream stream)
{
    private readonly MessageReader _reader = stream.Reader;

    /// <summary>Copies what is at hand, waiting only for the first; it counts as processed.</summary>
    /// <exception cref="OperationCanceledException">The token ended the wait; nothing was taken.</exception>
    /// <exception cref="EQueueException">What cannot be ridden out; nothing was taken.</exception>
    public async ValueTask<IReadOnlyList<DetachedMessage>> PullAsync(
        int maxCount, CancellationToken cancellationToken)
    {
        List<DetachedMessage> messages = [];
        _reader.Begin(inBatches: false);
        try
        {
            while (await TryTakeAsync(messages, maxCount, cancellationToken).ConfigureAwait(false))
            {
                // As long as there is something at hand and room for it.
            }
        }
        catch (Exception exception) when (messages.Count > 0)
        {
            _reader.Owe(exception);
        }
        finally
        {
            _reader.MarkProcessed();
            _reader.End();
        }

        return messages;
    }

    /// <summary>Copies the next message, waiting for it only while there is none yet.</summary>
    /// <returns>Whether to ask for another.</returns>
    private async ValueTask<bool> TryTakeAsync(
        List<DetachedMessage> messages, int maxCount, CancellationToken cancellationToken)
    {
        switch (_reader.NextMessage())
        {
            case ReadStep.Found:
                messages.Add(_reader.CurrentMessage.Detach());
                return messages.Count < maxCount;
            case ReadStep.Trouble when messages.Count == 0:
                await _reader.TroubleAsync(cancellationToken).ConfigureAwait(false);
                return true;
            case ReadStep.Wait when messages.Count == 0:
                cancellationToken.ThrowIfCancellationRequested();
                await stream.WaitAsync(cancellationToken).ConfigureAwait(false);
                return true;
            default:
                return false;
        }
    }
}
