namespace EQueue.Client;

/// <summary>Why a group did or did not consume a message, with the facts that say so.</summary>
internal sealed record Explanation
{
    public required string Topic { get; init; }

    public required string Group { get; init; }

    public required long Offset { get; init; }

    public required QueueDescription Queue { get; init; }

    public required ConsumptionStatus Status { get; init; }

    /// <summary>The message; null when it is not there or cannot be read.</summary>
    public DetachedMessage? Message { get; init; }

    /// <summary>Whose progress is told, in a broadcast group; null in a shared one.</summary>
    public string? Instance { get; init; }

    /// <summary>The group's progress in the queue; null when it has none.</summary>
    public GroupQueueDescription? Progress { get; init; }

    /// <summary>Who has the queue, or is to have it.</summary>
    public MemberDescription? Member { get; init; }

    /// <summary>The tags that the queue's reader wants; empty = all.</summary>
    public IReadOnlyList<string> Tags { get; init; } = [];

    /// <summary>Members of the group, whatever they read.</summary>
    public int MemberCount { get; init; }

    /// <summary>When the broker was asked, for ages.</summary>
    public DateTimeOffset AskedAt { get; init; }
}
