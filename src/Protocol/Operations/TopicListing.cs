using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A topic in a list.</summary>
public sealed record TopicListing(string Topic, TopicId Id, int QueueCount) : IPayload<TopicListing>
{
    internal const int MinSize = 2 + TopicId.Size + 4;

    /// <inheritdoc/>
    public static TopicListing Read(ref PayloadReader reader) =>
        new(reader.ReadString(), new TopicId(reader.ReadGuid()), reader.ReadInt32());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Topic);
        writer.WriteGuid(Id.Value);
        writer.WriteInt32(QueueCount);
    }
}
