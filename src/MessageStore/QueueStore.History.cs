using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <content>Which openings wrote the log, and where in each queue one ends and the next begins.</content>
public sealed partial class QueueStore
{
    /// <summary>The epochs of the log and where each began, this opening's last. Never changes.</summary>
    public LogHistory History => _log.History;

    /// <summary>Where a queue continues at a position of the log: the offset of its first message stored there or
    /// behind it and still kept, else the one that its next message gets. So at the start of an epoch it tells the end
    /// of the epoch before.</summary>
    /// <exception cref="EQueueException">UnknownQueue.</exception>
    public ValueTask<QueueOffset> FindOffsetAtAsync(
        QueueId queue, LogPosition position, CancellationToken cancellationToken) =>
        _diskReader.FindOffsetAtAsync(queue, position.Value, cancellationToken);
}
