namespace EQueue.Protocol;

/// <summary>Asks for a group's members, queues and lag.</summary>
/// <param name="Group">Its name.</param>
/// <param name="Topic">Only this topic's queues; null = all.</param>
/// <param name="WithAges">Whether the lag is wanted in time too: it costs a look into the index per queue.</param>
/// <remarks>Errors: InvalidName, UnknownGroup, UnknownTopic.</remarks>
public sealed record DescribeGroupRequest(string Group, string? Topic, bool WithAges)
    : IRequest<DescribeGroupRequest, GroupDescription>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.DescribeGroup;

    /// <inheritdoc/>
    public static DescribeGroupRequest Read(ref PayloadReader reader) =>
        new(reader.ReadString(), reader.ReadNullableString(), reader.ReadBool());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Group);
        writer.WriteString(Topic);
        writer.WriteBool(WithAges);
    }
}
