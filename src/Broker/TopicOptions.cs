namespace EQueue.Broker;

/// <summary>What a topic is made of when its maker does not say.</summary>
public sealed record TopicOptions
{
    /// <summary>
    /// Whether a topic that a client routes to is made when it does not exist and the client wants that. Default: true.
    /// </summary>
    public bool AutoCreate { get; init; } = true;

    /// <summary>Queues of a new topic; 1 to <see cref="LimitOptions.MaxQueuesPerTopic"/>. Default: 4.</summary>
    public int QueueCount { get; init; } = 4;

    /// <summary>Messages older than this may be removed; zero keeps them without end. Default: 7 d.</summary>
    public TimeSpan RetentionAge { get; init; } = TimeSpan.FromDays(7);

    /// <summary>Bytes that a topic keeps; <see langword="null"/> or 0: no bound of its own. Default: null.</summary>
    public long? RetentionBytes { get; init; }

    /// <summary>How often topics are looked through for what they no longer keep; 100 ms to 1 h.
    /// Default: 10 s.</summary>
    public TimeSpan RetentionInterval { get; init; } = TimeSpan.FromSeconds(10);

    internal void Validate(LimitOptions limits)
    {
        int mostQueues = Math.Min(limits.MaxQueuesPerTopic, limits.MaxQueues);
        OptionRules.Require(
            QueueCount >= 1 && QueueCount <= mostQueues, "Topics.QueueCount", $"1 to {mostQueues}", QueueCount);
        OptionRules.Require(RetentionAge >= TimeSpan.Zero, "Topics.RetentionAge", "zero or more", RetentionAge);
        OptionRules.Require(
            RetentionInterval >= TimeSpan.FromMilliseconds(100) && RetentionInterval <= TimeSpan.FromHours(1),
            "Topics.RetentionInterval", "100 ms to 1 h", RetentionInterval);
        OptionRules.Require(RetentionBytes is null or >= 0, "Topics.RetentionBytes", "0 or more", RetentionBytes);
    }

    /// <summary>Every setting of a topic whose maker named none.</summary>
    internal TopicSettings ToSettings(LimitOptions limits) => new()
    {
        QueueCount = QueueCount,
        RetentionAge = RetentionAge,
        RetentionBytes = RetentionBytes ?? 0,
        RetentionCount = 0,
        MaxMessageBytes = limits.MaxMessageBytes,
        MaxBacklogMessages = 0,
        MaxBacklogBytes = 0,
        BacklogPolicy = BacklogPolicy.Block,
        BacklogGroups = "",
    };
}
