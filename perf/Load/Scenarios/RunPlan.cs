namespace EQueue.Load.Scenarios;

/// <summary>One case to measure against a broker: everything that its runs have in common.</summary>
internal sealed record RunPlan
{
    /// <summary>Bodies under way that a producer may hold in memory, bytes.</summary>
    private const long MaxBodiesBytes = 64L << 20;

    private const int MostInFlight = 10_000;

    private const int StandardQueues = 4;

    private const int PacedSlots = 65_536;

    public required int Size { get; init; }

    public required int Producers { get; init; }

    /// <summary>0: nothing is consumed; the queues' ends are compared with what was sent.</summary>
    public required int Consumers { get; init; }

    /// <summary>Of each topic, over all brokers.</summary>
    public required int Queues { get; init; }

    /// <summary>Brokers that share each topic's queues evenly.</summary>
    public int Brokers { get; init; } = 1;

    /// <summary>Nodes that keep a copy each, with an etcd; 1: a broker alone.</summary>
    public int Replicas { get; init; } = 1;

    public required int Topics { get; init; }

    public required double Seconds { get; init; }

    public long? Messages { get; init; }

    public required double Warmup { get; init; }

    public required int Repeat { get; init; }

    public required SendApi Api { get; init; }

    public required FlushMode Flush { get; init; }

    public required int InFlight { get; init; }

    public int? Rate { get; init; }

    public required bool WithLimit { get; init; }

    /// <summary>Messages that the backlog of each topic may have; null: no bound.</summary>
    public long? MaxBacklog { get; init; }

    /// <summary>Messages a second at which each consumer reads; null: at will.</summary>
    public int? ConsumeRate { get; init; }

    /// <summary>Connections that the broker takes; null: as many as the product's own setting.</summary>
    public int? MaxConnections { get; init; }

    /// <summary>Whether the broker is the server program with its admin port; else a broker alone.</summary>
    public bool WithAdmin { get; init; }

    /// <summary>
    /// Producers that connect at a time, each with a message, before anything else is sent; null: all as they begin.
    /// </summary>
    public int? ConnectAtATime { get; init; }

    /// <summary>What a scenario says about the case before all else.</summary>
    public IReadOnlyList<(string Name, object? Value)> Labels { get; init; } = [];

    /// <summary>
    /// Whether the consumers are members of one group; null: a single one is, several are given their queues.
    /// </summary>
    public bool? InGroup { get; init; }

    /// <summary>Whether each consumer keeps to one topic, its number modulo theirs, in a group of that topic.</summary>
    public bool GroupPerTopic { get; init; }

    public bool IsGroup => InGroup ?? Consumers == 1;

    /// <summary>Messages of one call with the batch API; null: up to 100, or 64 KB.</summary>
    public int? MessagesPerCall { get; init; }

    /// <summary>Whether each producer keeps to one topic, its number modulo theirs; else it takes all in turn.</summary>
    public bool PinTopics { get; init; }

    /// <summary>Messages of one call with the batch API.</summary>
    public int BatchCount => MessagesPerCall ?? Math.Clamp(64 * 1024 / Size, 1, 100);

    /// <summary>Bodies alive at a time.</summary>
    public int SlotCount => Rate is null
        ? Math.Max(InFlight, BatchCount) + BatchCount + 1
        : (int)Math.Clamp(MaxBodiesBytes / Size, 1024, PacedSlots);

    /// <summary>Which sends are timed: all when there are few, 1 in 16, or 1 in 1,024.</summary>
    public long SampleMask => InFlight switch
    {
        1 => 0,
        < 1000 => 15,
        _ => 1023,
    };

    public bool ReadsBatches => Api is SendApi.Batch or SendApi.Span;

    /// <summary>As many messages under way as 64 MB of bodies are, at most 10,000.</summary>
    public static int InFlightFor(int size, SendApi api) =>
        api == SendApi.Sync ? 1 : (int)Math.Clamp(MaxBodiesBytes / size, 1, MostInFlight);

    /// <summary>The plan that the command line asks for, for one size; scenarios change what is theirs.</summary>
    /// <remarks>
    /// A rate sends with callbacks unless another form is asked for, which <see cref="Validate"/> refuses.
    /// </remarks>
    public static RunPlan From(LoadOptions options, int size) => new()
    {
        Size = size,
        Producers = options.Producers ?? 1,
        Consumers = options.Consumers ?? 1,
        Queues = options.Queues ?? StandardQueues,
        Topics = options.Topics ?? 1,
        Seconds = options.Seconds ?? 10,
        Messages = options.Messages,
        Warmup = options.Warmup ?? 2,
        Repeat = options.Repeat ?? 3,
        Api = options.Rates is not null && options.Api == SendApi.Message ? SendApi.Callback : options.Api,
        Rate = options.Rates?[0],
        Flush = options.Flush ?? FlushMode.Async,
        InFlight = options.InFlight?[0] ?? InFlightFor(size, options.Api),
        WithLimit = !options.NoLimit,
    };

    /// <exception cref="LoadException">The parts of the plan do not fit together.</exception>
    public void Validate(Faults faults)
    {
        if (Consumers > Topics * Queues)
            throw LoadException.Usage($"--consumers {Consumers}: at most one for each of {Topics * Queues} queues");
        if (Api == SendApi.Sync && InFlight != 1)
            throw LoadException.Usage("--api sync sends one at a time: raise --producers in place of --in-flight");
        if ((long)Size * SlotCount > 1 << 30)
            throw LoadException.Usage($"--in-flight {InFlight} of {Size} bytes: more than 1 GB of bodies");
        if (Messages < Producers)
            throw LoadException.Usage($"--messages {Messages}: at least one for each of {Producers} producers");
        if (Rate is not null && Messages is not null)
            throw LoadException.Usage("a --rate runs by --seconds, not by --messages");
        if (Rate is not null && Api != SendApi.Callback)
            throw LoadException.Usage("a --rate sends with --api callback");
        if ((faults & ~Faults.Short) != Faults.None && Consumers == 0)
            throw LoadException.Usage("--inject needs a consumer to deceive");
    }

    /// <summary>What the report says about the case, in the order of reading.</summary>
    public IReadOnlyList<(string Name, object? Value)> Describe(LoadOptions options) =>
    [
        .. Labels,
        ("size", Size),
        ("producers", Producers),
        ("consumers", Consumers),
        ("queues", Queues),
        ("topics", Topics),
        ("api", Api.ToString().ToLowerInvariant()),
        ("flush", options.Server is null ? Flush.ToString().ToLowerInvariant() : "the server's"),
        ("inFlight", Rate is null && Api != SendApi.Oneway ? InFlight : null),
        ("batchMessages", Api == SendApi.Batch ? BatchCount : null),
        ("rate", Rate),
        ("maxBacklog", MaxBacklog),
        ("consumeRate", ConsumeRate),
        ("consume", Consumers == 0 ? "none" : IsGroup ? "group" : "assigned"),
        ("seconds", Messages is null ? Seconds : null),
        ("messages", Messages),
        ("warmup", Warmup),
        ("repeat", Repeat),
        ("seed", options.Seed),
        ("server", options.Server),
    ];
}
