namespace EQueue.Client;

/// <summary>A place in a queue: of a message that is there, or of the next one.</summary>
/// <param name="Topic">The topic.</param>
/// <param name="Queue">The queue's number in the topic.</param>
/// <param name="Offset">The offset of the message.</param>
public readonly record struct QueuePlace(string Topic, int Queue, QueueOffset Offset)
{
    /// <summary>A place whose offset is given as a number.</summary>
    /// <param name="topic">The topic.</param>
    /// <param name="queue">The queue's number in the topic.</param>
    /// <param name="offset">The offset of the message.</param>
    public QueuePlace(string topic, int queue, long offset)
        : this(topic, queue, new QueueOffset(offset))
    {
    }

    /// <summary>The place behind it: what is committed when the message at this place is done.</summary>
    public QueuePlace Next => this with { Offset = new QueueOffset(Offset.Value + 1) };

    /// <summary>Topic, queue and offset: <c>orders/3/17</c>.</summary>
    public override string ToString() => $"{Topic}/{Queue}/{Offset.Value}";
}
