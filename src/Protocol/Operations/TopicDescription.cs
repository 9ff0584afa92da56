using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A topic as it is.</summary>
/// <param name="Topic">Its name.</param>
/// <param name="Id">Its id, never reused.</param>
/// <param name="CreatedMs">When it was made, Unix milliseconds.</param>
/// <param name="Settings">All settings, the broker's own filled in.</param>
/// <param name="Queues">This broker's queues of the topic, by number.</param>
public sealed record TopicDescription(
    string Topic,
    TopicId Id,
    long CreatedMs,
    TopicSettings Settings,
    IReadOnlyList<QueueDescription> Queues) : IPayload<TopicDescription>
{
    /// <inheritdoc/>
    public static TopicDescription Read(ref PayloadReader reader) => new(
        reader.ReadString(),
        new TopicId(reader.ReadGuid()),
        reader.ReadInt64(),
        TopicSettings.Read(ref reader),
        reader.ReadList<QueueDescription>(QueueDescription.Size));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Topic);
        writer.WriteGuid(Id.Value);
        writer.WriteInt64(CreatedMs);
        Settings.Write(writer);
        writer.WriteList(Queues);
    }
}

/// <summary>A queue as it is.</summary>
/// <param name="Number">0 to the topic's queue count - 1.</param>
/// <param name="Log">The log it lives in.</param>
/// <param name="Id">Its id in that log.</param>
/// <param name="State">Whether it may be written and read, and whether it is drained.</param>
/// <param name="Start">Its first offset.</param>
/// <param name="End">The offset after its last visible message.</param>
/// <param name="StoredBytes">Bytes of its entries still stored.</param>
/// <param name="LastStoredMs">When its last message was stored, Unix milliseconds; 0 when it never had one.</param>
public sealed record QueueDescription(
    int Number,
    ushort Log,
    QueueId Id,
    QueueState State,
    QueueOffset Start,
    QueueOffset End,
    long StoredBytes,
    long LastStoredMs) : IPayload<QueueDescription>
{
    internal const int Size = 4 + 2 + 2 + 4 + 8 + 8 + 8 + 8;

    /// <inheritdoc/>
    public static QueueDescription Read(ref PayloadReader reader) => new(
        reader.ReadInt32(),
        reader.ReadUInt16(),
        State: (QueueState)reader.ReadUInt16(),
        Id: new QueueId(reader.ReadUInt32()),
        Start: new QueueOffset(reader.ReadInt64()),
        End: new QueueOffset(reader.ReadInt64()),
        StoredBytes: reader.ReadInt64(),
        LastStoredMs: reader.ReadInt64());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteInt32(Number);
        writer.WriteUInt16(Log);
        writer.WriteUInt16((ushort)State);
        writer.WriteUInt32(Id.Value);
        writer.WriteInt64(Start.Value);
        writer.WriteInt64(End.Value);
        writer.WriteInt64(StoredBytes);
        writer.WriteInt64(LastStoredMs);
    }
}

/// <summary>Whether a queue may be written and read now.</summary>
[Flags]
public enum QueueState : ushort
{
    /// <summary>Neither.</summary>
    None = 0,

    /// <summary>It takes messages.</summary>
    Writable = 1,

    /// <summary>It gives messages.</summary>
    Readable = 2,

    /// <summary>Its topic bounds the backlog: DescribeTopic tells how.</summary>
    Bounded = 4,

    /// <summary>It takes no messages, and every group that reads its topic has committed all that it holds. In
    /// descriptions only.</summary>
    Drained = 8,
}
