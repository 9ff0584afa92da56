namespace EQueue.Protocol;

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
