namespace EQueue.Protocol;

/// <summary>A group's place in a queue.</summary>
/// <param name="Queue">Which queue.</param>
/// <param name="Next">The first message not processed; -1 in an answer: nothing committed.</param>
/// <param name="RecordEpoch">Epoch of the last processed entry; -1 = not known.</param>
/// <param name="Metadata">The committer's own words, at most 4,096 bytes; null = none.</param>
public sealed record CommittedOffset(QueueKey Queue, QueueOffset Next, int RecordEpoch, string? Metadata)
    : IPayload<CommittedOffset>
{
    /// <summary>Longest metadata, in bytes of UTF-8.</summary>
    public const int MaxMetadataBytes = 4096;

    internal const int MinSize = QueueKey.Size + 8 + 4 + 2;

    /// <inheritdoc/>
    public static CommittedOffset Read(ref PayloadReader reader) => new(
        QueueKey.Read(ref reader),
        new QueueOffset(reader.ReadInt64()),
        reader.ReadInt32(),
        reader.ReadNullableString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        Queue.Write(writer);
        writer.WriteInt64(Next.Value);
        writer.WriteInt32(RecordEpoch);
        writer.WriteString(Metadata);
    }
}

/// <summary>Asks how far a group has come.</summary>
/// <param name="Group">Its name, or <c>group/instance</c> for one instance of a broadcast group.</param>
/// <param name="Queues">Queues wanted; null = every queue the group has committed.</param>
/// <remarks>Errors: InvalidName. A group that never committed answers -1 for each queue.</remarks>
public sealed record ReadOffsetsRequest(string Group, IReadOnlyList<QueueKey>? Queues)
    : IRequest<ReadOffsetsRequest, ReadOffsetsResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.ReadOffsets;

    /// <inheritdoc/>
    public static ReadOffsetsRequest Read(ref PayloadReader reader) =>
        new(reader.ReadString(), reader.ReadNullableList<QueueKey>(QueueKey.Size));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Group);
        writer.WriteNullableList(Queues);
    }
}

/// <summary>A group's places.</summary>
public sealed record ReadOffsetsResponse(IReadOnlyList<CommittedOffset> Offsets) : IPayload<ReadOffsetsResponse>
{
    /// <inheritdoc/>
    public static ReadOffsetsResponse Read(ref PayloadReader reader) =>
        new(reader.ReadList<CommittedOffset>(CommittedOffset.MinSize));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer) => writer.WriteList(Offsets);
}
