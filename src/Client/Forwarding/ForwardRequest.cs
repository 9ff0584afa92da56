namespace EQueue.Client;

/// <summary>What <c>forward</c> was asked for.</summary>
internal sealed record ForwardRequest
{
    public required TopicAddress From { get; init; }

    public required TopicAddress To { get; init; }

    /// <summary>The group whose progress says what is forwarded.</summary>
    public required string Group { get; init; }

    /// <summary>Where a queue begins for which the group has committed nothing.</summary>
    public StartPosition Start { get; init; }

    public Durability Durability { get; init; }

    /// <summary>Messages after which to end; <see langword="null"/> for no bound.</summary>
    public long? Count { get; init; }

    public bool Follow { get; init; }

    /// <summary>How long to wait for the next message before ending; <see langword="null"/> without end.</summary>
    public TimeSpan? IdleExit { get; init; }

    /// <summary>How long the target may take, when the command is to end, to acknowledge what is under way.</summary>
    public TimeSpan Patience { get; init; }
}
