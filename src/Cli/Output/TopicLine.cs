using System.Text.Json.Serialization;

namespace EQueue.Cli.Output;

/// <summary>A topic as a line of JSON: its body, and its settings by the names that they have had here from the
/// first.</summary>
internal sealed record TopicLine : TopicBody
{
    public TopicLine(TopicDescription topic)
        : base(topic)
    {
        TopicSettings settings = topic.Settings;
        QueueCount = settings.QueueCount ?? topic.Queues.Count;
        RetentionAgeMs = (long)(settings.RetentionAge ?? TimeSpan.Zero).TotalMilliseconds;
        RetentionBytes = settings.RetentionBytes ?? 0;
        RetentionCount = settings.RetentionCount ?? 0;
        MaxMessageBytes = settings.MaxMessageBytes ?? 0;
        MaxBacklogMessages = settings.MaxBacklogMessages ?? 0;
        MaxBacklogBytes = settings.MaxBacklogBytes ?? 0;
        BacklogPolicy = TopicWriter.Word(settings.BacklogPolicy);
        BacklogGroups = settings.BacklogGroups ?? "";
    }

    [JsonPropertyOrder(1)]
    public int QueueCount { get; }

    [JsonPropertyOrder(1)]
    public long RetentionAgeMs { get; }

    [JsonPropertyOrder(1)]
    public long RetentionBytes { get; }

    [JsonPropertyOrder(1)]
    public long RetentionCount { get; }

    [JsonPropertyOrder(1)]
    public int MaxMessageBytes { get; }

    [JsonPropertyOrder(1)]
    public long MaxBacklogMessages { get; }

    [JsonPropertyOrder(1)]
    public long MaxBacklogBytes { get; }

    [JsonPropertyOrder(1)]
    public string BacklogPolicy { get; }

    [JsonPropertyOrder(1)]
    public string BacklogGroups { get; }
}
