namespace EQueue.Protocol;

/// <summary>Asks for the rules in ordinal order of their texts, a page at a time.</summary>
/// <param name="After">Rules after the one that <see cref="AccessRule.ToString"/> writes so; null from the
/// first.</param>
/// <param name="Limit">Rules per page, 1 or more; the broker may give fewer.</param>
public sealed record ListRulesRequest(string? After, int Limit) : IRequest<ListRulesRequest, ListRulesResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.ListRules;

    /// <inheritdoc/>
    public static ListRulesRequest Read(ref PayloadReader reader) =>
        new(reader.ReadNullableString(), reader.ReadInt32());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(After);
        writer.WriteInt32(Limit);
    }
}

/// <summary>A page of rules.</summary>
/// <param name="Rules">In ordinal order of their texts.</param>
/// <param name="HasMore">Whether another page follows.</param>
public sealed record ListRulesResponse(IReadOnlyList<AccessRule> Rules, bool HasMore) : IPayload<ListRulesResponse>
{
    /// <inheritdoc/>
    public static ListRulesResponse Read(ref PayloadReader reader) =>
        new(reader.ReadList<AccessRule>(AccessRule.MinSize), reader.ReadBool());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteList(Rules);
        writer.WriteBool(HasMore);
    }
}
