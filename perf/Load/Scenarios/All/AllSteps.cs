namespace EQueue.Load.Scenarios;

/// <summary>One scenario of <c>all</c>, with what it is asked for.</summary>
/// <param name="Title">As the report calls it.</param>
/// <param name="Change">Makes the step's options of those that the command line gave.</param>
internal sealed record MeasuringStep(string Scenario, string Title, Func<LoadOptions, LoadOptions> Change)
{
    private const int ComparingRounds = 5;

    /// <summary>The same with five rounds at least: its targets compare rows of a round with each other, and of two
    /// rounds one in which the machine changed halfway decides.</summary>
    public MeasuringStep Comparing() => this with
    {
        Change = options => Change(options) with { Repeat = Math.Max(options.Repeat ?? 0, ComparingRounds) },
    };
}

/// <summary>What <c>all</c> goes through.</summary>
internal static class AllSteps
{
    private const string Throughput = "throughput";
    private const int QuickLimitMB = 512;
    private const double VariantSeconds = 5;
    private const double VariantWarmup = 1;
    private const int ChangesOfGroup = 16;
    private const int ChangesOfLeader = 10;

    private static readonly SendApi[] OtherApis =
        [SendApi.Callback, SendApi.Sync, SendApi.Oneway, SendApi.Batch, SendApi.Span];

    /// <summary>Every scenario as it measures when nothing else is asked for; but what varies <c>throughput</c> takes
    /// half as long, the APIs two sizes of four, and groups change less often.</summary>
    public static IReadOnlyList<MeasuringStep> Full { get; } =
    [
        Step("limit"),
        Step(Throughput, "throughput", options => options with { Pairs = [1, 2] }).Comparing(),
        Variant("sync flush", options => options with { Pairs = [1, 2], Flush = FlushMode.Sync }),
        Variant("1,000 queues", options => options with { Pairs = [1, 2], Queues = 1000 }),
        .. OtherApis.Select(
            api => Variant(NameOf(api), options => options with { Sizes = [128, 1024], Api = api })),
        Step("sync"),
        Step("latency"),
        Step("remoting").Comparing(),
        Step("store"),
        Step("packing"),
        Step("recovery"),
        Step("coldread"),
        Step("backpressure"),
        Step("filter"),
        Step("groups", "groups", options => options with { Changes = ChangesOfGroup }),
        Step("topics"),
        Step("admin"),
        Step("connections"),
        Step("fanout"),
        Step("tiny-messages"),
        Step("several-brokers"),
        Step("failover", "failover", options => options with { Changes = ChangesOfLeader }),
        Step("cluster"),
    ];

    /// <summary>Every scenario with little of everything, once unless asked otherwise.</summary>
    public static IReadOnlyList<MeasuringStep> Quick { get; } =
    [
        Short("limit", 0, options => options with { Seconds = null, Warmup = null }),
        Short(Throughput, 2, options => options with { Pairs = [1, 2] }),
        Short(
            Throughput, "throughput, sync flush", 2,
            options => options with { Sizes = [128, 1024], Flush = FlushMode.Sync, NoLimit = true }),
        Short(
            Throughput, "throughput, 1,000 queues", 2,
            options => options with { Sizes = [128], Queues = 1000, NoLimit = true }),
        .. OtherApis.Select(api => Short(
            Throughput, $"throughput, {NameOf(api)}", 2,
            options => options with { Sizes = [128], Api = api, NoLimit = true })),
        Short("sync", 1, options => options),
        Short("latency", 2, options => options with { Rates = [1000, 10_000], Warmup = 4 }),
        Short("remoting", 0.7, options => options with { Sizes = [1024], Warmup = 1.5 }),
        Short("store", 1, options => options with { Sizes = [128, 1024] }),
        Short("packing", 2, options => options),
        Short(
            "recovery", 0,
            options => options with { Seconds = null, Warmup = null, LogGB = 1, Queues = 2000, Messages = 200_000 }),
        Short("coldread", 2, options => options with { LogGB = 0.3, Queues = 4, Warmup = 3 }),
        Short("backpressure", 2, options => options),
        Short("filter", 0, options => options with { Seconds = null, Warmup = null, Messages = 1_000_000 }),
        Short("groups", 2, options => options with { Consumers = 4, Changes = 4 }),
        Short("topics", 1, options => options with { Topics = 500 }),
        Short("admin", 2, options => options),
        Short("connections", 1, options => options with { Connections = 2000 }),
        Short(
            "fanout", 0,
            options => options with
            {
                Seconds = null,
                Warmup = null,
                Sizes = [2000],
                Messages = 20_000,
                Parts = ["sizes", "direct", "proxy"],
            }),
        Short("tiny-messages", 1, options => options with { Connections = 400 }),
        Short("several-brokers", 1, options => options),
        Short(
            "failover", 0,
            options => options with { Seconds = null, Warmup = null, Queues = 100, Changes = 4, Parts = ["kill", "pause"] }),
        Short("cluster", 1, options => options with { Sizes = [128], Parts = ["async"] }),
    ];

    private static MeasuringStep Step(string scenario) => Step(scenario, scenario, options => options);

    private static MeasuringStep Step(string scenario, string title, Func<LoadOptions, LoadOptions> change) =>
        new(scenario, title, change);

    private static MeasuringStep Variant(string title, Func<LoadOptions, LoadOptions> change) =>
        Step(Throughput, $"throughput, {title}", options => change(
            options with { Seconds = VariantSeconds, Warmup = VariantWarmup }));

    private static MeasuringStep Short(string scenario, double seconds, Func<LoadOptions, LoadOptions> change) =>
        Short(scenario, scenario, seconds, change);

    private static MeasuringStep Short(
        string scenario, string title, double seconds, Func<LoadOptions, LoadOptions> change) =>
        new(scenario, title, options => change(options with
        {
            Repeat = options.Repeat ?? 1,
            Seconds = seconds,
            Warmup = seconds / 2,
            LimitTotalMB = Math.Min(options.LimitTotalMB, QuickLimitMB),
        }));

    private static string NameOf(SendApi api) => api.ToString().ToLowerInvariant();
}
