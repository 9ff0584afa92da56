namespace EQueue.Client;

/// <summary>How a <see cref="Consumer"/> of a group reads and commits.</summary>
public sealed record ConsumerOptions : ReaderOptions
{
    /// <summary>Where a queue begins for which the group has committed nothing.</summary>
    /// <remarks>
    /// The begin, so that a new group sees everything that is stored and nothing slips through between the first send
    /// and the first join. Kafka and RocketMQ begin at the end unless told otherwise; <see cref="StartPosition.End"/>
    /// gives that.
    /// </remarks>
    public StartPosition StartAt { get; init; } = StartPosition.Begin;

    /// <summary>
    /// Whether progress is committed behind the reader: every <see cref="AutoCommitInterval"/> and at the end.
    /// </summary>
    public bool AutoCommit { get; init; } = true;

    /// <summary>How often progress is committed; 10 ms or more.</summary>
    public TimeSpan AutoCommitInterval { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>Without a sign of life for this long the broker gives the queues to others; 1 s or more.</summary>
    public TimeSpan SessionTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>Whether topics that do not exist are made by subscribing to them, if the broker allows it.</summary>
    public bool AutoCreateTopics { get; init; } = true;

    /// <summary>A name of the member that outlives its process; null for none.</summary>
    public string? InstanceId { get; init; }

    /// <inheritdoc/>
    public override void Validate()
    {
        base.Validate();
        Option.RequireAtLeast(AutoCommitInterval, TimeSpan.FromMilliseconds(10), nameof(AutoCommitInterval));
        Option.RequireAtLeast(SessionTimeout, TimeSpan.FromSeconds(1), nameof(SessionTimeout));
    }
}
