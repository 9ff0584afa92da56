using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Stored messages cannot be read: their bytes are damaged on the broker's disk.</summary>
public sealed class DamagedDataException : EQueueException
{
    internal DamagedDataException(string topic, int queue, QueueOffset offset, QueueOffset next, string cause)
        : base(
            ErrorCode.DamagedData,
            $"Messages {offset} to {next.Value - 1} of {topic}/{queue} are damaged ({cause}); "
            + $"seek to {next} to pass over them.")
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

    /// <summary>The first message that cannot be read.</summary>
    public QueueOffset Offset { get; }

    /// <summary>The first message behind the damage.</summary>
    public QueueOffset Next { get; }
}
