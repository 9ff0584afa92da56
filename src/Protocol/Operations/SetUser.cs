namespace EQueue.Protocol;

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
