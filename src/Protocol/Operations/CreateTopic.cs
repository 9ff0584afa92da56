namespace EQueue.Protocol;

/// <summary>Makes a topic. Answers with what it became.</summary>
/// <param name="Topic">Its name (see <see cref="NameRules"/>).</param>
/// <param name="Settings">What is not set is the broker's own.</param>
/// <remarks>Errors: TopicExists, InvalidName, InvalidArgument, TooManyQueues, StorageFull.</remarks>
public sealed record CreateTopicRequest(string Topic, TopicSettings Settings)
    : IRequest<CreateTopicRequest, TopicDescription>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.CreateTopic;

    /// <inheritdoc/>
    public static CreateTopicRequest Read(ref PayloadReader reader) =>
        new(reader.ReadString(), TopicSettings.Read(ref reader));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Topic);
        Settings.Write(writer);
    }
}
