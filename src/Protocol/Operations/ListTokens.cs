namespace EQueue.Protocol;

/// <summary>What may be seen of a token.</summary>
/// <param name="Id">Its public half, 8 characters.</param>
/// <param name="User">Whose it is.</param>
/// <param name="CreatedMs">When it was made, Unix milliseconds.</param>
/// <param name="ExpiresMs">When it ends, Unix milliseconds; 0 = never.</param>
/// <param name="Note">What its maker wrote about it.</param>
public sealed record TokenListing(string Id, string User, long CreatedMs, long ExpiresMs, string Note)
    : IPayload<TokenListing>
{
    internal const int MinSize = 2 + 2 + 8 + 8 + 2;

    /// <inheritdoc/>
    public static TokenListing Read(ref PayloadReader reader) => new(
        reader.ReadString(), reader.ReadString(), reader.ReadInt64(), reader.ReadInt64(), reader.ReadString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Id);
        writer.WriteString(User);
        writer.WriteInt64(CreatedMs);
        writer.WriteInt64(ExpiresMs);
        writer.WriteString(Note);
    }
}

/// <summary>Asks for the tokens in ordinal order of their ids, a page at a time.</summary>
/// <param name="After">Tokens after this id; null from the first.</param>
/// <param name="Limit">Tokens per page, 1 or more; the broker may give fewer.</param>
public sealed record ListTokensRequest(string? After, int Limit) : IRequest<ListTokensRequest, ListTokensResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.ListTokens;

    /// <inheritdoc/>
    public static ListTokensRequest Read(ref PayloadReader reader) =>
        new(reader.ReadNullableString(), reader.ReadInt32());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(After);
        writer.WriteInt32(Limit);
    }
}

/// <summary>A page of tokens.</summary>
/// <param name="Tokens">In ordinal order of their ids.</param>
/// <param name="HasMore">Whether another page follows.</param>
public sealed record ListTokensResponse(IReadOnlyList<TokenListing> Tokens, bool HasMore)
    : IPayload<ListTokensResponse>
{
    /// <inheritdoc/>
    public static ListTokensResponse Read(ref PayloadReader reader) =>
        new(reader.ReadList<TokenListing>(TokenListing.MinSize), reader.ReadBool());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteList(Tokens);
        writer.WriteBool(HasMore);
    }
}
