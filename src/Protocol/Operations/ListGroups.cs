namespace EQueue.Protocol;

/// <summary>How the members of a group share queues.</summary>
public enum GroupKind : byte
{
    /// <summary>Each queue has one owner.</summary>
    Shared = 0,

    /// <summary>Each member reads everything.</summary>
    Broadcast = 1,
}

/// <summary>Where a group stands.</summary>
public enum GroupState : byte
{
    /// <summary>No members.</summary>
    Empty = 0,

    /// <summary>Waits, after a restart of the broker, for the members it had.</summary>
    Settling = 1,

    /// <summary>A queue is not yet where it shall be.</summary>
    Moving = 2,

    /// <summary>Every queue is with the member that shall have it.</summary>
    Stable = 3,
}

/// <summary>Names the groups, in ordinal order.</summary>
/// <param name="After">Only groups after this name; null = from the first.</param>
/// <param name="Limit">1 or more; the broker gives at most 1,000.</param>
/// <remarks>Errors: InvalidArgument.</remarks>
public sealed record ListGroupsRequest(string? After, int Limit) : IRequest<ListGroupsRequest, ListGroupsResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.ListGroups;

    /// <inheritdoc/>
    public static ListGroupsRequest Read(ref PayloadReader reader) =>
        new(reader.ReadNullableString(), reader.ReadInt32());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(After);
        writer.WriteInt32(Limit);
    }
}

/// <summary>Groups of one broker.</summary>
/// <param name="Groups">In ordinal order.</param>
/// <param name="HasMore">Whether more come after the last one.</param>
public sealed record ListGroupsResponse(IReadOnlyList<GroupListing> Groups, bool HasMore)
    : IPayload<ListGroupsResponse>
{
    /// <inheritdoc/>
    public static ListGroupsResponse Read(ref PayloadReader reader) =>
        new(reader.ReadList<GroupListing>(GroupListing.MinSize), reader.ReadBool());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteList(Groups);
        writer.WriteBool(HasMore);
    }
}

/// <summary>A group in a list.</summary>
public sealed record GroupListing(string Group, GroupKind Kind, GroupState State, uint MemberCount)
    : IPayload<GroupListing>
{
    internal const int MinSize = 2 + 1 + 1 + 4;

    /// <inheritdoc/>
    public static GroupListing Read(ref PayloadReader reader) =>
        new(reader.ReadString(), (GroupKind)reader.ReadByte(), (GroupState)reader.ReadByte(), reader.ReadUInt32());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Group);
        writer.WriteByte((byte)Kind);
        writer.WriteByte((byte)State);
        writer.WriteUInt32(MemberCount);
    }
}
