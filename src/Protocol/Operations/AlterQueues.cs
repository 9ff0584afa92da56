namespace EQueue.Protocol;

/// <summary>Says which queues of a topic may be written and read. Answers with what the topic became.</summary>
/// <param name="Topic">Its name.</param>
/// <param name="Numbers">The queues, by number; null = all that the topic has now.</param>
/// <param name="Mask">What is to be set: <see cref="QueueState.Writable"/>, <see cref="QueueState.Readable"/> or both;
/// the rest stays as it is.</param>
/// <param name="State">To what; nothing outside <paramref name="Mask"/>.</param>
/// <remarks>Errors: UnknownTopic, InvalidArgument (a number that the topic does not have among them).</remarks>
public sealed record AlterQueuesRequest(
    string Topic, IReadOnlyList<int>? Numbers, QueueState Mask, QueueState State)
    : IRequest<AlterQueuesRequest, TopicDescription>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.AlterQueues;

    /// <inheritdoc/>
    public static AlterQueuesRequest Read(ref PayloadReader reader) => new(
        reader.ReadString(),
        QueueNumbers.Read(ref reader),
        (QueueState)reader.ReadUInt16(),
        (QueueState)reader.ReadUInt16());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Topic);
        QueueNumbers.Write(writer, Numbers);
        writer.WriteUInt16((ushort)Mask);
        writer.WriteUInt16((ushort)State);
    }
}
