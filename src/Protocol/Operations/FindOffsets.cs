namespace EQueue.Protocol;

/// <summary>Asks for offsets of queues.</summary>
public sealed record FindOffsetsRequest(IReadOnlyList<OffsetQuestion> Questions)
    : IRequest<FindOffsetsRequest, FindOffsetsResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.FindOffsets;

    /// <inheritdoc/>
    public static FindOffsetsRequest Read(ref PayloadReader reader) =>
        new(reader.ReadList<OffsetQuestion>(OffsetQuestion.Size));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer) => writer.WriteList(Questions);
}

/// <summary>A queue and the moment whose offset is wanted.</summary>
/// <param name="Queue">Which queue.</param>
/// <param name="TimeMs"><see cref="Begin"/>, <see cref="End"/>, or a stored time in Unix milliseconds, 0 or
/// more.</param>
public readonly record struct OffsetQuestion(QueueKey Queue, long TimeMs) : IPayload<OffsetQuestion>
{
    /// <summary>The offset after the last visible message.</summary>
    public const long End = -1;

    /// <summary>The first offset.</summary>
    public const long Begin = -2;

    internal const int Size = QueueKey.Size + 8;

    /// <inheritdoc/>
    public static OffsetQuestion Read(ref PayloadReader reader) =>
        new(QueueKey.Read(ref reader), reader.ReadInt64());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        Queue.Write(writer);
        writer.WriteInt64(TimeMs);
    }
}

/// <summary>One answer per question, in order.</summary>
public sealed record FindOffsetsResponse(IReadOnlyList<OffsetAnswer> Answers) : IPayload<FindOffsetsResponse>
{
    /// <inheritdoc/>
    public static FindOffsetsResponse Read(ref PayloadReader reader) =>
        new(reader.ReadList<OffsetAnswer>(OffsetAnswer.Size));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer) => writer.WriteList(Answers);
}

/// <summary>An offset, or why there is none.</summary>
/// <param name="Error">UnknownQueue, DamagedData.</param>
/// <param name="Offset">By time: the first message stored then or later, else the end.</param>
public readonly record struct OffsetAnswer(ErrorCode Error, QueueOffset Offset) : IPayload<OffsetAnswer>
{
    internal const int Size = 2 + 8;

    /// <inheritdoc/>
    public static OffsetAnswer Read(ref PayloadReader reader) =>
        new((ErrorCode)reader.ReadUInt16(), new QueueOffset(reader.ReadInt64()));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteUInt16((ushort)Error);
        writer.WriteInt64(Offset.Value);
    }
}
