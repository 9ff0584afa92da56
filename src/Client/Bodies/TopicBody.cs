using System.ComponentModel;
using System.Text.Json.Serialization;

namespace EQueue.Client;

/// <summary>A topic in a list, as JSON.</summary>
internal sealed record TopicSummary(
    string Topic,
    [property: Description("Never used again for another topic")] Guid Id,
    int QueueCount)
{
    public static TopicSummary Of(TopicListing topic) => new(topic.Topic, topic.Id.Value, topic.QueueCount);
}

/// <summary>What is bounded when a topic's backlog is.</summary>
internal enum BacklogRule
{
    /// <summary>Senders wait.</summary>
    Block = 0,

    /// <summary>Senders get QueueFull.</summary>
    Reject = 1,

    /// <summary>The oldest messages go.</summary>
    DropOldest = 2,
}

/// <summary>What can be set of a topic, as JSON.</summary>
internal sealed record TopicSettingsBody(
    [property: Description("1 or more; grows only")] int? QueueCount = null,
    [property: Description("Messages older than so many ms may go; 0: without end")] long? RetentionMs = null,
    [property: Description("Bytes that are kept over all queues; 0: no bound")] long? RetentionBytes = null,
    [property: Description("Messages that are kept of each queue; 0: no bound")] long? RetentionCount = null,
    [property: Description("Largest body in bytes, within the broker's limit")] int? MaxMessageBytes = null,
    [property: Description("Messages that the slowest group may be behind; 0: no bound")]
    long? MaxBacklogMessages = null,
    [property: Description("The same in bytes of the log; 0: no bound")] long? MaxBacklogBytes = null,
    [property: Description("What happens at the bound")] BacklogRule? BacklogPolicy = null,
    [property: Description("The groups that count; none: every shared group that has committed")]
    IReadOnlyList<string>? BacklogGroups = null)
{
    public static TopicSettingsBody Of(TopicSettings settings) => new(
        settings.QueueCount,
        (long?)settings.RetentionAge?.TotalMilliseconds,
        settings.RetentionBytes,
        settings.RetentionCount,
        settings.MaxMessageBytes,
        settings.MaxBacklogMessages,
        settings.MaxBacklogBytes,
        (BacklogRule?)settings.BacklogPolicy,
        settings.BacklogGroups?.Split(',', StringSplitOptions.RemoveEmptyEntries));

    public TopicSettings ToSettings() => new()
    {
        QueueCount = QueueCount,
        RetentionAge = RetentionMs is { } age ? TimeSpan.FromMilliseconds(age) : null,
        RetentionBytes = RetentionBytes,
        RetentionCount = RetentionCount,
        MaxMessageBytes = MaxMessageBytes,
        MaxBacklogMessages = MaxBacklogMessages,
        MaxBacklogBytes = MaxBacklogBytes,
        BacklogPolicy = (BacklogPolicy?)BacklogPolicy,
        BacklogGroups = BacklogGroups is null ? null : string.Join(',', BacklogGroups),
    };
}

/// <summary>A topic as it is, as JSON.</summary>
[method: JsonConstructor]
internal record TopicBody(
    string Topic, Guid Id, DateTime CreatedTime, TopicSettingsBody Settings, IReadOnlyList<QueueBody> Queues)
{
    public TopicBody(TopicDescription topic)
        : this(
            topic.Topic,
            topic.Id.Value,
            BodyTime.Of(topic.CreatedMs),
            TopicSettingsBody.Of(topic.Settings),
            [.. topic.Queues.Select(QueueBody.Of)])
    {
    }
}

/// <summary>A queue as it is, as JSON.</summary>
internal sealed record QueueBody(
    int Queue,
    [property: Description("The first offset")] long Start,
    [property: Description("The offset after the last visible message")] long End,
    long StoredBytes,
    DateTime? LastStoredTime,
    bool Writable,
    bool Readable,
    [property: Description("Not writable, and every group that reads the topic has committed all of it")] bool Drained)
{
    public static QueueBody Of(QueueDescription queue) => new(
        queue.Number,
        queue.Start.Value,
        queue.End.Value,
        queue.StoredBytes,
        BodyTime.OfKnown(queue.LastStoredMs, least: 1),
        queue.State.HasFlag(QueueState.Writable),
        queue.State.HasFlag(QueueState.Readable),
        queue.State.HasFlag(QueueState.Drained));
}
