namespace EQueue.Protocol;

/// <summary>Leaves a group at once: the release of everything.</summary>
/// <param name="Group">Its name.</param>
/// <param name="Member">Who leaves.</param>
/// <param name="Stays">Whether a static member will be back: its queues wait for its session timeout.</param>
/// <remarks>Errors: InvalidName, UnknownMember.</remarks>
public sealed record GroupLeaveRequest(string Group, Guid Member, bool Stays) : IRequest<GroupLeaveRequest, Done>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.GroupLeave;

    /// <inheritdoc/>
    public static GroupLeaveRequest Read(ref PayloadReader reader) =>
        new(reader.ReadString(), reader.ReadGuid(), reader.ReadBool());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Group);
        writer.WriteGuid(Member);
        writer.WriteBool(Stays);
    }
}
