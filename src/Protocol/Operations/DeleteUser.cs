namespace EQueue.Protocol;

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
