namespace EQueue.Protocol;

/// <summary>What may be seen of a user.</summary>
/// <param name="Name">As a topic's: see <see cref="NameRules"/>.</param>
/// <param name="IsDisabled">Whether the user may not log in.</param>
/// <param name="HasPassword">Whether the user can log in with one; tokens work without.</param>
/// <param name="Groups">Groups that rules may name, in ordinal order.</param>
public sealed record UserListing(string Name, bool IsDisabled, bool HasPassword, IReadOnlyList<string> Groups)
    : IPayload<UserListing>
{
    internal const int MinSize = 2 + 1 + 1 + 4;

    /// <inheritdoc/>
    public static UserListing Read(ref PayloadReader reader)
    {
        string name = reader.ReadString();
        bool isDisabled = reader.ReadBool();
        bool hasPassword = reader.ReadBool();
        return new UserListing(name, isDisabled, hasPassword, reader.ReadStrings());
    }

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Name);
        writer.WriteBool(IsDisabled);
        writer.WriteBool(HasPassword);
        writer.WriteStrings(Groups);
    }
}

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
