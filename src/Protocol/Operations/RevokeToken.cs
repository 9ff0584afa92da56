namespace EQueue.Protocol;

/// <summary>Ends a token; to end one that does not exist changes nothing.</summary>
/// <param name="Id">Its public half.</param>
public sealed record RevokeTokenRequest(string Id) : IRequest<RevokeTokenRequest, Done>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.RevokeToken;

    /// <inheritdoc/>
    public static RevokeTokenRequest Read(ref PayloadReader reader) => new(reader.ReadString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer) => writer.WriteString(Id);
}
