namespace EQueue.Client;

/// <summary>How far a reader has come in a queue.</summary>
/// <param name="Topic">The topic.</param>
/// <param name="Queue">The queue's number in the topic.</param>
/// <param name="Next">The first message whose turn is not over.</param>
/// <param name="Committed">What the group has committed through this consumer; -1 for nothing.</param>
/// <param name="End">The end of the queue when last heard of; -1 before the first answer.</param>
public readonly record struct QueueProgress(
    string Topic, int Queue, QueueOffset Next, QueueOffset Committed, QueueOffset End)
{
    /// <summary>The place of the first message whose turn is not over.</summary>
    public QueuePlace NextPlace => new(Topic, Queue, Next);
}
