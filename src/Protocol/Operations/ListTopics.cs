namespace EQueue.Protocol;

/// <summary>Names topics in ordinal order, a page at a time.</summary>
/// <param name="After">Topics after this name; null from the first.</param>
/// <param name="Limit">Topics per page, 1 or more; the broker may give fewer.</param>
public sealed record ListTopicsRequest(string? After, int Limit) : IRequest<ListTopicsRequest, ListTopicsResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.ListTopics;

    /// <inheritdoc/>
    public static ListTopicsRequest Read(ref PayloadReader reader) =>
        new(reader.ReadNullableString(), reader.ReadInt32());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(After);
        writer.WriteInt32(Limit);
    }
}

/// <summary>A page of topics.</summary>
/// <param name="Topics">In ordinal order of their names.</param>
/// <param name="HasMore">Whether another page follows.</param>
public sealed record ListTopicsResponse(IReadOnlyList<TopicListing> Topics, bool HasMore) : IPayload<ListTopicsResponse>
{
    /// <inheritdoc/>
    public static ListTopicsResponse Read(ref PayloadReader reader) =>
        new(reader.ReadList<TopicListing>(TopicListing.MinSize), reader.ReadBool());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteList(Topics);
        writer.WriteBool(HasMore);
    }
}
