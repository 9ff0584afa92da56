namespace EQueue.MessageStore;

/// <summary>Messages of a queue that go.</summary>
/// <param name="Queue">The queue.</param>
/// <param name="From">The first of them.</param>
/// <param name="To">Where the queue begins afterwards.</param>
/// <param name="Cause">Why.</param>
public readonly record struct DeletedRange(QueueId Queue, QueueOffset From, QueueOffset To, DeletionCause Cause)
{
    /// <summary>How many.</summary>
    public long Count => To.Value - From.Value;
}
