namespace EQueue.Protocol;

/// <summary>Where a group is set to.</summary>
public enum ResetTarget : byte
{
    /// <summary>The first message of the queue.</summary>
    Begin = 0,

    /// <summary>The end of the queue.</summary>
    End = 1,

    /// <summary>An offset.</summary>
    Offset = 2,

    /// <summary>A time, Unix ms: the first batch stored then or later.</summary>
    Time = 3,

    /// <summary>So many messages on from what is committed; below 0: back.</summary>
    ShiftBy = 4,
}

/// <summary>Sets where a group without members continues.</summary>
/// <remarks>
/// Errors: InvalidName, UnknownTopic, UnknownGroup, InvalidArgument, GroupKindDiffers, LimitReached, GroupBusy; per
/// queue InvalidArgument, UnknownQueue, DamagedData.
/// </remarks>
public sealed record ResetOffsetsRequest : IRequest<ResetOffsetsRequest, ResetOffsetsResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.ResetOffsets;

    /// <summary>The group; with a topic it need not exist, except for a shift.</summary>
    public string Group { get; init; } = "";

    /// <summary>Whose progress, in a broadcast group; null = the group's own.</summary>
    public string? InstanceId { get; init; }

    /// <summary>The topic; null = every queue that has progress.</summary>
    public string? Topic { get; init; }

    /// <summary>Numbers of the topic's queues; null = all.</summary>
    public IReadOnlyList<int>? Numbers { get; init; }

    /// <summary>What <see cref="Value"/> means.</summary>
    public ResetTarget To { get; init; }

    /// <summary>Offset, Unix ms or messages; 0 for the begin and the end.</summary>
    public long Value { get; init; }

    /// <summary>Whether the answer only tells what would become of it.</summary>
    public bool IsPreview { get; init; }

    /// <inheritdoc/>
    public static ResetOffsetsRequest Read(ref PayloadReader reader) => new()
    {
        Group = reader.ReadString(),
        InstanceId = reader.ReadNullableString(),
        Topic = reader.ReadNullableString(),
        Numbers = QueueNumbers.Read(ref reader),
        To = (ResetTarget)reader.ReadByte(),
        Value = reader.ReadInt64(),
        IsPreview = reader.ReadBool(),
    };

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Group);
        writer.WriteString(InstanceId);
        writer.WriteString(Topic);
        QueueNumbers.Write(writer, Numbers);
        writer.WriteByte((byte)To);
        writer.WriteInt64(Value);
        writer.WriteBool(IsPreview);
    }
}

/// <summary>What became, or would become, of each queue.</summary>
public sealed record ResetOffsetsResponse(IReadOnlyList<ResetQueue> Queues) : IPayload<ResetOffsetsResponse>
{
    /// <inheritdoc/>
    public static ResetOffsetsResponse Read(ref PayloadReader reader) =>
        new(reader.ReadList<ResetQueue>(ResetQueue.MinSize));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer) => writer.WriteList(Queues);
}
