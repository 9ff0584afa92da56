using System.ComponentModel;

namespace EQueue.Server.Http;

/// <summary>A page of topics.</summary>
internal sealed record TopicPage(
    IReadOnlyList<TopicSummary> Topics,
    [property: Description("Whether more come after the last one")] bool HasMore);

internal sealed record CreateTopicBody(
    [property: Description("1 to 249 of A-Z a-z 0-9 . _ -")] string Topic,
    [property: Description("What is left out is the broker's own")] TopicSettingsBody? Settings = null);

internal sealed record AlterQueuesBody(
    [property: Description("Numbers of queues; null: all that the topic has now")] IReadOnlyList<int>? Queues = null,
    [property: Description("Whether they take messages; null: as it is")] bool? Writable = null,
    [property: Description("Whether they give messages; null: as it is")] bool? Readable = null);

/// <summary>Offsets of a topic's queues.</summary>
internal sealed record OffsetsBody(IReadOnlyList<QueueOffsetBody> Queues);

internal sealed record QueueOffsetBody(
    int Queue,
    [property: Description("Null with an error")] long? Offset,
    [property: Description("Why there is none")] string? Error);
