using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A topic that a member reads, and which of its messages.</summary>
/// <param name="Topic">Its name.</param>
/// <param name="Tags">Tags wanted; empty = every message.</param>
public sealed record TopicSubscription(string Topic, IReadOnlyList<string> Tags) : IPayload<TopicSubscription>
{
    internal const int MinSize = 2 + 4;

    /// <inheritdoc/>
    public static TopicSubscription Read(ref PayloadReader reader) => new(reader.ReadString(), reader.ReadStrings());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Topic);
        writer.WriteStrings(Tags);
    }
}
