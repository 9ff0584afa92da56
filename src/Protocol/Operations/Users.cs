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

/// <summary>Makes a user or changes what is given. Errors: InvalidName, InvalidArgument, LimitReached.</summary>
/// <param name="Name">See <see cref="NameRules"/>.</param>
/// <param name="Secret">Of the password; null = stays as it is, none for a new user.</param>
/// <param name="IsDisabled">Null = stays as it is, false for a new user.</param>
/// <param name="Groups">Null = stay as they are.</param>
/// <param name="MustBeNew">Whether a user of that name is a mistake (InvalidArgument).</param>
/// <param name="MustExist">Whether it is one that there is none (InvalidArgument); not beside
/// <paramref name="MustBeNew"/>.</param>
public sealed record SetUserRequest(
    string Name,
    ScramSecret? Secret,
    bool? IsDisabled,
    IReadOnlyList<string>? Groups,
    bool MustBeNew,
    bool MustExist = false)
    : IRequest<SetUserRequest, Done>
{
    private const byte NotGiven = 2;

    /// <summary>What has to hold of a user before.</summary>
    private const byte Either = 0;
    private const byte New = 1;
    private const byte Known = 2;

    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.SetUser;

    /// <inheritdoc/>
    public static SetUserRequest Read(ref PayloadReader reader)
    {
        string name = reader.ReadString();
        ScramSecret? secret = reader.ReadBool() ? ScramSecret.Read(ref reader) : null;
        byte disabled = reader.ReadByte();
        if (disabled > NotGiven)
            reader.Fail();
        IReadOnlyList<string>? groups = reader.ReadBool() ? reader.ReadStrings() : null;
        byte before = reader.ReadByte();
        if (before > Known)
            reader.Fail();
        return new SetUserRequest(
            name, secret, disabled == NotGiven ? null : disabled == 1, groups, before == New, before == Known);
    }

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Name);
        writer.WriteBool(Secret is not null);
        Secret?.Write(writer);
        writer.WriteByte(IsDisabled is { } isDisabled ? (isDisabled ? (byte)1 : (byte)0) : NotGiven);
        writer.WriteBool(Groups is not null);
        if (Groups is not null)
            writer.WriteStrings(Groups);
        writer.WriteByte(MustBeNew ? New : MustExist ? Known : Either);
    }
}

/// <summary>Removes a user and its tokens; to remove one that does not exist changes nothing.</summary>
/// <param name="Name">Whose record goes.</param>
public sealed record DeleteUserRequest(string Name) : IRequest<DeleteUserRequest, Done>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.DeleteUser;

    /// <inheritdoc/>
    public static DeleteUserRequest Read(ref PayloadReader reader) => new(reader.ReadString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer) => writer.WriteString(Name);
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
