namespace EQueue.Protocol;

/// <summary>
/// Changes what <paramref name="Settings"/> names and leaves the rest. Answers with what the topic became.
/// </summary>
/// <remarks>Errors: UnknownTopic, InvalidArgument (fewer queues among them), TooManyQueues, StorageFull.</remarks>
public sealed record AlterTopicRequest(string Topic, TopicSettings Settings)
    : IRequest<AlterTopicRequest, TopicDescription>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.AlterTopic;

    /// <inheritdoc/>
    public static AlterTopicRequest Read(ref PayloadReader reader) =>
        new(reader.ReadString(), TopicSettings.Read(ref reader));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Topic);
        Settings.Write(writer);
    }
}
