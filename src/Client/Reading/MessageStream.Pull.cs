using EQueue.Protocol;

namespace EQueue.Client;

/// <content>Messages taken some at a time, as copies.</content>
internal sealed partial class MessageStream
{
    /// <summary>What ended a pull that had messages to give first; thrown when reading begins again.</summary>
    private Exception? _owed;

    /// <summary>Copies what is at hand, waiting only for the first; it counts as processed.</summary>
    /// <exception cref="OperationCanceledException">The token ended the wait; nothing was taken.</exception>
    /// <exception cref="EQueueException">What cannot be ridden out; nothing was taken.</exception>
    public async ValueTask<IReadOnlyList<DetachedMessage>> PullAsync(
        int maxCount, CancellationToken cancellationToken)
    {
        List<DetachedMessage> messages = [];
        BeginReading(inBatches: false);
        try
        {
            while (await TryTakeAsync(messages, maxCount, cancellationToken).ConfigureAwait(false))
            {
                // As long as there is something at hand and room for it.
            }
        }
        catch (Exception exception) when (messages.Count > 0)
        {
            Owe(exception);
        }
        finally
        {
            MarkProcessed();
            EndReading();
        }

        return messages;
    }

    /// <summary>Copies the next message, waiting for it only while there is none yet.</summary>
    /// <returns>Whether to ask for another.</returns>
    private async ValueTask<bool> TryTakeAsync(
        List<DetachedMessage> messages, int maxCount, CancellationToken cancellationToken)
    {
        switch (NextMessage())
        {
            case Step.Found:
                messages.Add(CurrentMessage.Detach());
                return messages.Count < maxCount;
            case Step.Trouble when messages.Count == 0:
                await TroubleAsync(cancellationToken).ConfigureAwait(false);
                return true;
            case Step.Wait when messages.Count == 0:
                cancellationToken.ThrowIfCancellationRequested();
                await WaitAsync(cancellationToken).ConfigureAwait(false);
                return true;
            default:
                return false;
        }
    }

    /// <summary>Messages are given first; what is wrong is told to who reads on.</summary>
    private void Owe(Exception exception)
    {
        // What is wrong at a place is met there again, unless somebody seeks; a fault is forgotten when reading begins.
        lock (_gate)
            _owed = exception is EQueueException && exception != _fault ? null : exception;
    }

    /// <summary>What was handed out counts as processed.</summary>
    private void MarkProcessed()
    {
        if (_isInBatch)
            _cursor.Queue.Processed = _cursor.Queue.Delivered;
    }
}
