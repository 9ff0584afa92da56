namespace EQueue.Protocol;

/// <summary>Makes a token of a user. Errors: InvalidArgument (no such user, a time that is over, a long note),
/// LimitReached.</summary>
/// <param name="User">Whose it will be.</param>
/// <param name="ExpiresMs">When it ends, Unix milliseconds; 0 = never.</param>
/// <param name="Note">What it is for.</param>
public sealed record CreateTokenRequest(string User, long ExpiresMs, string Note)
    : IRequest<CreateTokenRequest, CreateTokenResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.CreateToken;

    /// <inheritdoc/>
    public static CreateTokenRequest Read(ref PayloadReader reader) =>
        new(reader.ReadString(), reader.ReadInt64(), reader.ReadString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(User);
        writer.WriteInt64(ExpiresMs);
        writer.WriteString(Note);
    }
}

/// <summary>The token: the broker cannot tell it again.</summary>
/// <param name="Id">Its public half.</param>
/// <param name="Token">The whole, to be kept secret.</param>
public sealed record CreateTokenResponse(string Id, string Token) : IPayload<CreateTokenResponse>
{
    /// <inheritdoc/>
    public static CreateTokenResponse Read(ref PayloadReader reader) => new(reader.ReadString(), reader.ReadString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Id);
        writer.WriteString(Token);
    }

    /// <summary>Its public half alone.</summary>
    public override string ToString() => $"token {Id}";
}
