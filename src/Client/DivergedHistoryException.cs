namespace EQueue.Client;

/// <summary>The broker's log has another history than the one that was read: behind the next offset the queue holds
/// other messages than those that were handed out.</summary>
public sealed class DivergedHistoryException : EQueueException
{
    internal DivergedHistoryException(string topic, int queue, QueueOffset offset, QueueOffset next)
        : base(
            ErrorCode.DivergingEpoch,
            $"{topic}/{queue} was read up to {offset}, but the log's history is another one from {next} on (a backup "
            + $"restored, or its end lost with the power); seek to {next} to go on.")
    {
        Topic = topic;
        Queue = queue;
        Offset = offset;
        Next = next;
    }

    /// <summary>The topic.</summary>
    public string Topic { get; }

    /// <summary>The queue's number in the topic.</summary>
    public int Queue { get; }

    /// <summary>The first message that was not handed out, by the history that was read.</summary>
    public QueueOffset Offset { get; }

    /// <summary>Where the histories part.</summary>
    public QueueOffset Next { get; }

    /// <summary>The place of <see cref="Next"/>: where seeking to continues.</summary>
    public QueuePlace NextPlace => new(Topic, Queue, Next);
}
