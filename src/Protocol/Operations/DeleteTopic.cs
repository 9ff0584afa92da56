namespace EQueue.Protocol;

/// <summary>Removes a topic, its messages and its groups' progress.</summary>
/// <remarks>Errors: UnknownTopic.</remarks>
public sealed record DeleteTopicRequest(string Topic) : IRequest<DeleteTopicRequest, Done>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.DeleteTopic;

    /// <inheritdoc/>
    public static DeleteTopicRequest Read(ref PayloadReader reader) => new(reader.ReadString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer) => writer.WriteString(Topic);
}
