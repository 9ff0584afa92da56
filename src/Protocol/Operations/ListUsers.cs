namespace EQueue.Protocol;

/// <summary>Asks for the users in ordinal order, a page at a time.</summary>
/// <param name="After">Users after this name; null from the first.</param>
/// <param name="Limit">Users per page, 1 or more; the broker may give fewer.</param>
public sealed record ListUsersRequest(string? After, int Limit) : IRequest<ListUsersRequest, ListUsersResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.ListUsers;

    /// <inheritdoc/>
    public static ListUsersRequest Read(ref PayloadReader reader) =>
        new(reader.ReadNullableString(), reader.ReadInt32());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(After);
        writer.WriteInt32(Limit);
    }
}

/// <summary>A page of users.</summary>
/// <param name="Users">In ordinal order of their names.</param>
/// <param name="HasMore">Whether another page follows.</param>
public sealed record ListUsersResponse(IReadOnlyList<UserListing> Users, bool HasMore) : IPayload<ListUsersResponse>
{
    /// <inheritdoc/>
    public static ListUsersResponse Read(ref PayloadReader reader) =>
        new(reader.ReadList<UserListing>(UserListing.MinSize), reader.ReadBool());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteList(Users);
        writer.WriteBool(HasMore);
    }
}
