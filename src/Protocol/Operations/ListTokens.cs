namespace EQueue.Protocol;

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
