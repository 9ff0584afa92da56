namespace EQueue.Protocol;

/// <summary>Removes a group without members, or its progress in one topic.</summary>
/// <param name="Group">Its name.</param>
/// <param name="Topic">Only its progress in this topic; null = the whole group.</param>
/// <remarks>Errors: InvalidName, UnknownGroup, UnknownTopic, GroupBusy.</remarks>
public sealed record DeleteGroupRequest(string Group, string? Topic) : IRequest<DeleteGroupRequest, Done>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.DeleteGroup;

    /// <inheritdoc/>
    public static DeleteGroupRequest Read(ref PayloadReader reader) =>
        new(reader.ReadString(), reader.ReadNullableString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Group);
        writer.WriteString(Topic);
    }
}
