using System.ComponentModel;

namespace EQueue.Server.Http;

/// <summary>A page of groups.</summary>
internal sealed record GroupPage(
    IReadOnlyList<GroupSummary> Groups,
    [property: Description("Whether more come after the last one")] bool HasMore);

/// <summary>Where a group is set to.</summary>
internal enum ResetPlace
{
    /// <summary>The first message.</summary>
    Begin = 0,

    /// <summary>The end.</summary>
    End = 1,

    /// <summary>An offset.</summary>
    Offset = 2,

    /// <summary>A time.</summary>
    Time = 3,

    /// <summary>So many messages on, or back.</summary>
    ShiftBy = 4,
}

internal sealed record ResetBody(
    [property: Description("Where to")] ResetPlace To,
    [property: Description("Null: every queue that has progress")] string? Topic = null,
    [property: Description("Numbers of the topic's queues; null: all")] IReadOnlyList<int>? Queues = null,
    [property: Description("The instance of a broadcast group")] string? InstanceId = null,
    [property: Description("The offset, or the messages to shift by")] long? Value = null,
    [property: Description("With to = time: the first batch stored then or later")] DateTimeOffset? Time = null,
    [property: Description("Only tell what would become of it")] bool Preview = false);

internal sealed record ResetResultBody(
    [property: Description("Whether nothing was stored")] bool Preview, IReadOnlyList<ResetQueueBody> Queues);
