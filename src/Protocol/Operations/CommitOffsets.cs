namespace EQueue.Protocol;

/// <summary>Stores how far a group has come.</summary>
/// <param name="Group">Its name (see <see cref="NameRules"/>).</param>
/// <param name="Member">Who commits; empty = no member (manual assignment), allowed while the group has no live
/// member.</param>
/// <param name="Offsets">Where the group continues.</param>
/// <remarks>Errors: InvalidName, InvalidArgument, UnknownMember, GroupBusy, LimitReached; per queue UnknownQueue,
/// InvalidArgument, QueueNotOwned, FencedGeneration, OffsetBehind, StoreFaulted.</remarks>
public sealed record CommitOffsetsRequest(string Group, Guid Member, IReadOnlyList<OffsetCommit> Offsets)
    : IRequest<CommitOffsetsRequest, CommitOffsetsResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.CommitOffsets;

    /// <inheritdoc/>
    public static CommitOffsetsRequest Read(ref PayloadReader reader) => new(
        reader.ReadString(),
        reader.ReadGuid(),
        reader.ReadList<OffsetCommit>(OffsetCommit.MinSize));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Group);
        writer.WriteGuid(Member);
        writer.WriteList(Offsets);
    }
}

/// <summary>A place in a queue, to be committed.</summary>
/// <param name="Queue">Which queue.</param>
/// <param name="Grant">The generation in which the queue was given to the member; -1 without a member.</param>
/// <param name="Next">The first message not processed.</param>
/// <param name="RecordEpoch">Epoch of the last processed entry; -1 = not known.</param>
/// <param name="Metadata">The committer's own words, at most <see cref="CommittedOffset.MaxMetadataBytes"/>; null =
/// none.</param>
public sealed record OffsetCommit(
    QueueKey Queue, GroupGeneration Grant, QueueOffset Next, int RecordEpoch, string? Metadata)
    : IPayload<OffsetCommit>
{
    internal const int MinSize = QueueKey.Size + 8 + 8 + 4 + 2;

    /// <inheritdoc/>
    public static OffsetCommit Read(ref PayloadReader reader) => new(
        QueueKey.Read(ref reader),
        new GroupGeneration(reader.ReadInt64()),
        new QueueOffset(reader.ReadInt64()),
        reader.ReadInt32(),
        reader.ReadNullableString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        Queue.Write(writer);
        writer.WriteInt64(Grant.Value);
        writer.WriteInt64(Next.Value);
        writer.WriteInt32(RecordEpoch);
        writer.WriteString(Metadata);
    }
}

/// <summary>What became of each offset, in order.</summary>
public sealed record CommitOffsetsResponse(IReadOnlyList<ErrorCode> Errors) : IPayload<CommitOffsetsResponse>
{
    /// <inheritdoc/>
    public static CommitOffsetsResponse Read(ref PayloadReader reader)
    {
        var errors = new ErrorCode[reader.ReadCount(2)];
        for (int i = 0; i < errors.Length; i++)
            errors[i] = (ErrorCode)reader.ReadUInt16();
        return new CommitOffsetsResponse(errors);
    }

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteCount(Errors.Count);
        foreach (ErrorCode error in Errors)
            writer.WriteUInt16((ushort)error);
    }
}
