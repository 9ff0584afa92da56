namespace EQueue.Client;

/// <summary>What a oneway send does when the producer's memory is used up.</summary>
public enum OnewayFullPolicy
{
    /// <summary>Blocks until there is room.</summary>
    Wait = 0,

    /// <summary>Throws <see cref="ErrorCode.LimitReached"/>.</summary>
    Throw = 1,
}

/// <summary>How a <see cref="Producer"/> gathers, sends and retries.</summary>
public sealed record ProducerOptions
{
    /// <summary>When a send is acknowledged: by the broker's flush policy, when written, or when durable.
    /// Default: Policy.</summary>
    public Durability Durability { get; init; } = Durability.Policy;

    /// <summary>
    /// Size at which a batch is full and leaves, in bytes: 1 KiB to 8 MiB. A larger message travels alone.
    /// Default: 128 KiB.
    /// </summary>
    public int BatchBytes { get; init; } = 128 * 1024;

    /// <summary>
    /// How batches are compressed, each at its codec's usual level; those that would not shrink are sent as they are.
    /// The broker looks into them, which costs it their decompression; it may refuse them with <see
    /// cref="ErrorCode.UnsupportedCodec"/>. Default: None.
    /// </summary>
    public RecordCodec Compression { get; init; }

    /// <summary>
    /// How long a batch that is not full waits for more although nothing is in flight; zero sends at once. Default: 0.
    /// </summary>
    public TimeSpan Linger { get; init; }

    /// <summary>Requests per broker that are not answered yet: 1 to 64. Default: 8.</summary>
    public int MaxInFlight { get; init; } = 8;

    /// <summary>Memory for messages that are not acknowledged yet, in bytes; at least four batches.
    /// Default: 64 MiB.</summary>
    public long BufferMemoryBytes { get; init; } = 64L * 1024 * 1024;

    /// <summary>
    /// From the batch that takes a message to its failure with <see cref="ErrorCode.Timeout"/>, retries included; the
    /// wait for memory or for the route before that may take as long again; 1 ms or more. Default: 2 min.
    /// </summary>
    public TimeSpan DeliveryTimeout { get; init; } = TimeSpan.FromSeconds(120);

    /// <summary>How long one request waits for its answer before it is sent again; 1 ms or more.
    /// Default: 30 s.</summary>
    public TimeSpan RequestTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// The first pause before something refused for now is sent again; doubles up to <see cref="RetryBackoffMax"/>.
    /// Default: 20 ms.
    /// </summary>
    public TimeSpan RetryBackoffMin { get; init; } = TimeSpan.FromMilliseconds(20);

    /// <summary>The longest pause before something refused for now is sent again. Default: 1 s.</summary>
    public TimeSpan RetryBackoffMax { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>How often routes are asked for again, so that queues that were added are used; 10 ms or more.
    /// Default: 1 min.</summary>
    public TimeSpan RouteRefreshInterval { get; init; } = TimeSpan.FromMinutes(1);

    /// <summary>Whether unknown topics are made by sending to them, if the broker allows it. Default: true.</summary>
    public bool AutoCreateTopics { get; init; } = true;

    /// <summary>
    /// Completes awaits and callbacks on the thread that receives answers: fastest, but code behind them must not
    /// block. Default: false.
    /// </summary>
    public bool InlineCompletions { get; init; }

    /// <summary>What a oneway send does when <see cref="BufferMemoryBytes"/> is used up. Default: Wait.</summary>
    public OnewayFullPolicy OnewayWhenFull { get; init; }

    /// <summary>Checks every value.</summary>
    /// <exception cref="ArgumentException">A setting is outside its range; the message names it.</exception>
    public void Validate()
    {
        Option.Require(Enum.IsDefined(Durability), nameof(Durability), Durability, "Policy, Written or Durable");
        Option.Require(Enum.IsDefined(OnewayWhenFull), nameof(OnewayWhenFull), OnewayWhenFull, "Wait or Throw");
        Option.Require(
            BatchBytes is >= 1024 and <= 8 * 1024 * 1024, nameof(BatchBytes), BatchBytes, "1 KiB to 8 MiB");
        Option.Require(
            Enum.IsDefined(Compression), nameof(Compression), Compression, "None, Gzip, Snappy, Lz4 or Zstd");
        Option.RequireAtLeast(Linger, TimeSpan.Zero, nameof(Linger));
        Option.Require(MaxInFlight is >= 1 and <= 64, nameof(MaxInFlight), MaxInFlight, "1 to 64");
        Option.Require(
            BufferMemoryBytes >= 4L * BatchBytes,
            nameof(BufferMemoryBytes),
            BufferMemoryBytes,
            "at least four batches");
        Option.RequireAtLeast(DeliveryTimeout, TimeSpan.FromMilliseconds(1), nameof(DeliveryTimeout));
        Option.RequireAtLeast(RequestTimeout, TimeSpan.FromMilliseconds(1), nameof(RequestTimeout));
        Option.RequireAtLeast(RouteRefreshInterval, TimeSpan.FromMilliseconds(10), nameof(RouteRefreshInterval));
        Option.RequireAtLeast(RetryBackoffMin, TimeSpan.FromMilliseconds(1), nameof(RetryBackoffMin));
        Option.RequireAtLeast(RetryBackoffMax, RetryBackoffMin, nameof(RetryBackoffMax));
    }
}
