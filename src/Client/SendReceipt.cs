using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A message is stored: where, when, how safely.</summary>
/// <param name="Topic">The topic.</param>
/// <param name="Queue">The queue's number in the topic.</param>
/// <param name="Offset">The message's place in the queue; -1 for a oneway send, which has no answer.</param>
/// <param name="StoredTimeMs">When the broker stored it, Unix milliseconds.</param>
/// <param name="Durability">The level that was reached when the broker answered.</param>
public readonly record struct SendReceipt(
    string Topic, int Queue, QueueOffset Offset, long StoredTimeMs, Durability Durability)
{
    /// <summary>Where the message is.</summary>
    public QueuePlace Place => new(Topic, Queue, Offset);

    /// <summary>When the broker stored the message.</summary>
    public DateTimeOffset StoredTime => RecordTime.ToInstant(StoredTimeMs);
}
