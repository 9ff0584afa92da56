using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>How a <see cref="Consumer"/> of a group reads and commits.</summary>
public sealed record ConsumerOptions : ReaderOptions
{
    /// <summary>Where a queue begins for which the group has committed nothing. Default: Begin.</summary>
    /// <remarks>
    /// The begin, so that a new group sees everything that is stored and nothing slips through between the first send
    /// and the first join. Kafka and RocketMQ begin at the end unless told otherwise; <see cref="StartPosition.End"/>
    /// gives that.
    /// </remarks>
    public StartPosition StartAt { get; init; } = StartPosition.Begin;

    /// <summary>
    /// Whether progress is committed behind the reader: every <see cref="AutoCommitInterval"/> and at the end.
    /// Default: true.
    /// </summary>
    public bool AutoCommit { get; init; } = true;

    /// <summary>How often progress is committed; 10 ms or more. Default: 1 s.</summary>
    public TimeSpan AutoCommitInterval { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>Without a sign of life for this long the broker gives the queues to others; 1 s to 30 min.
    /// Default: 30 s.</summary>
    public TimeSpan SessionTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// How long the member may take to give up a queue, the application's work on a message of it included; then the
    /// broker puts the member out. 1 s to 1 h. Default: 5 min.
    /// </summary>
    public TimeSpan ReleaseTimeout { get; init; } = TimeSpan.FromMinutes(5);

    /// <summary>How often brokers are asked where the queues are; 10 ms or more. Default: 1 min.</summary>
    public TimeSpan RouteRefreshInterval { get; init; } = TimeSpan.FromMinutes(1);

    /// <summary>
    /// Whether topics that do not exist when the member first joins are made, if the broker allows it. A member never
    /// makes a topic again that was deleted; without this it waits for topics until they are made. Default: false.
    /// </summary>
    public bool AutoCreateTopics { get; init; }

    /// <summary>
    /// A name within the group that outlives the process, which makes the member static: back within its session
    /// timeout, it has the queues that it had. A second live process with the name takes over; the first one's loop
    /// ends with MemberReplaced. Null for none. Default: null.
    /// </summary>
    public string? InstanceId { get; init; }

    /// <summary>
    /// Whether every member of the group reads everything. Progress is kept by <see cref="InstanceId"/>; without one
    /// none is kept, and each start begins at <see cref="StartAt"/>. Default: false.
    /// </summary>
    public bool IsBroadcast { get; init; }

    /// <summary>
    /// Told of queues that are given to this member, before their messages come. May seek in them; must not wait for
    /// the reading loop. Default: null.
    /// </summary>
    public Func<IReadOnlyList<QueueProgress>, CancellationToken, ValueTask>? Assigned { get; init; }

    /// <summary>
    /// Told of queues that are to be another member's, when the loop has gone on from them and before they are
    /// released: the place to commit with <see cref="AutoCommit"/> off. Must not wait for the reading loop. Not told
    /// when queues are lost without asking. Default: null.
    /// </summary>
    public Func<IReadOnlyList<QueueProgress>, CancellationToken, ValueTask>? Revoking { get; init; }

    /// <inheritdoc/>
    public override void Validate()
    {
        base.Validate();
        var second = TimeSpan.FromSeconds(1);
        Option.Require(
            Tags.All(static tag => NameRules.IsText(tag)), nameof(Tags), "not a list of tags",
            "texts without control characters");
        Option.RequireAtLeast(AutoCommitInterval, TimeSpan.FromMilliseconds(10), nameof(AutoCommitInterval));
        Option.Require(
            SessionTimeout >= second && SessionTimeout <= TimeSpan.FromMinutes(30),
            nameof(SessionTimeout),
            SessionTimeout,
            "1 s to 30 min");
        Option.Require(
            ReleaseTimeout >= second && ReleaseTimeout <= TimeSpan.FromHours(1),
            nameof(ReleaseTimeout),
            ReleaseTimeout,
            "1 s to 1 h");
        Option.RequireAtLeast(RouteRefreshInterval, TimeSpan.FromMilliseconds(10), nameof(RouteRefreshInterval));
        Option.Require(
            InstanceId is null || NameRules.IsValid(InstanceId), nameof(InstanceId), InstanceId, "a valid name");
    }
}
