namespace EQueue.Client;

/// <summary>Stored messages cannot be read: their bytes are damaged on the broker's disk, or no records that this
/// reader understands.</summary>
public sealed class DamagedDataException : EQueueException
{
    internal DamagedDataException(
        string topic, int queue, QueueOffset offset, QueueOffset next, string cause, ErrorCode reason)
        : base(
            ErrorCode.DamagedData,
            $"Messages {offset} to {next.Value - 1} of {topic}/{queue} are damaged ({cause}); "
            + $"seek to {next} to pass over them.")
    {
        Topic = topic;
        Queue = queue;
        Offset = offset;
        Next = next;
        Reason = reason;
    }

    /// <summary>The topic.</summary>
    public string Topic { get; }

    /// <summary>The queue's number in the topic.</summary>
    public int Queue { get; }

    /// <summary>The first message that cannot be read.</summary>
    public QueueOffset Offset { get; }

    /// <summary>The first message behind the damage.</summary>
    public QueueOffset Next { get; }

    /// <summary>The place of <see cref="Next"/>: where seeking to continues.</summary>
    public QueuePlace NextPlace => new(Topic, Queue, Next);

    /// <summary>What is wrong with them: DamagedData, on the broker's disk; CorruptBatch, their checksum; InvalidBatch,
    /// no records; UnsupportedCodec; MessageTooLarge, more than <see cref="ClientOptions.MaxFrameBytes"/> when
    /// uncompressed.</summary>
    public ErrorCode Reason { get; }
}
