using System.ComponentModel;
using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>A page of topics.</summary>
internal sealed record TopicPage(
    IReadOnlyList<TopicSummary> Topics,
    [property: Description("Whether more come after the last one")] bool HasMore);

internal sealed record TopicSummary(
    string Topic,
    [property: Description("Never used again for another topic")] Guid Id,
    int QueueCount);

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

/// <summary>What can be set of a topic.</summary>
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

    public TopicSettings ToSettings(string at) => new()
    {
        QueueCount = QueueCount,
        RetentionAge = RetentionMs is { } age ? AgeOf(age, at) : null,
        RetentionBytes = RetentionBytes,
        RetentionCount = RetentionCount,
        MaxMessageBytes = MaxMessageBytes,
        MaxBacklogMessages = MaxBacklogMessages,
        MaxBacklogBytes = MaxBacklogBytes,
        BacklogPolicy = (BacklogPolicy?)BacklogPolicy,
        BacklogGroups = BacklogGroups is null ? null : string.Join(',', BacklogGroups),
    };

    private static TimeSpan AgeOf(long milliseconds, string at)
    {
        const long Most = long.MaxValue / TimeSpan.TicksPerMillisecond;
        return milliseconds is >= 0 and <= Most
            ? TimeSpan.FromMilliseconds(milliseconds)
            : throw ApiException.OfValue($"{at}retentionMs", $"{milliseconds}", $"0 to {Most}");
    }
}

internal sealed record CreateTopicBody(
    [property: Description("1 to 249 of A-Z a-z 0-9 . _ -")] string Topic,
    [property: Description("What is left out is the broker's own")] TopicSettingsBody? Settings = null);

internal sealed record AlterQueuesBody(
    [property: Description("Numbers of queues; null: all that the topic has now")] IReadOnlyList<int>? Queues = null,
    [property: Description("Whether they take messages; null: as it is")] bool? Writable = null,
    [property: Description("Whether they give messages; null: as it is")] bool? Readable = null);

/// <summary>A topic as it is.</summary>
internal sealed record TopicBody(
    string Topic, Guid Id, DateTime CreatedTime, TopicSettingsBody Settings, IReadOnlyList<QueueBody> Queues)
{
    public static TopicBody Of(TopicDescription topic) => new(
        topic.Topic,
        topic.Id.Value,
        ApiTime.Of(topic.CreatedMs),
        TopicSettingsBody.Of(topic.Settings),
        [.. topic.Queues.Select(QueueBody.Of)]);
}

/// <summary>A queue as it is.</summary>
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
        queue.LastStoredMs > 0 ? ApiTime.Of(queue.LastStoredMs) : null,
        queue.State.HasFlag(QueueState.Writable),
        queue.State.HasFlag(QueueState.Readable),
        queue.State.HasFlag(QueueState.Drained));
}

/// <summary>Offsets of a topic's queues.</summary>
internal sealed record OffsetsBody(IReadOnlyList<QueueOffsetBody> Queues);

internal sealed record QueueOffsetBody(
    int Queue,
    [property: Description("Null with an error")] long? Offset,
    [property: Description("Why there is none")] string? Error);
