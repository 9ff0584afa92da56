namespace EQueue.Protocol;

/// <summary>Asks for a topic's settings and queues.</summary>
/// <remarks>Errors: UnknownTopic.</remarks>
public sealed record DescribeTopicRequest(string Topic) : IRequest<DescribeTopicRequest, TopicDescription>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.DescribeTopic;

    /// <inheritdoc/>
    public static DescribeTopicRequest Read(ref PayloadReader reader) => new(reader.ReadString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer) => writer.WriteString(Topic);
}
