using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>
/// The ZeroMQ report's cases: one producer and 1 to 10 subscribers that get every message, directly and over a proxy.
/// </summary>
internal sealed class FanoutScenario : IScenario
{
    private const string Numbers = "numbers";
    private const string Sizes = "sizes";
    private const string Direct = "direct";
    private const string Proxy = "proxy";
    private const int StandardSize = 2000;
    private const int StandardMessages = 100_000;
    private const double StandardWarmup = 12;
    private const int StandardRepeat = 3;
    private const string RestNote = "this scenario does not measure it";

    private static readonly string[] AllParts = [Numbers, Sizes, Direct, Proxy];
    private static readonly int[] VariedMessages = [1_000, 10_000, 100_000, 1_000_000];
    private static readonly int[] VariedSizes = [.. Enumerable.Range(1, 10).Select(thousands => thousands * 1000)];
    private static readonly int[] DirectSubscribers = [1, 10];
    private static readonly int[] ProxiedSubscribers = [1, 5, 7, 10];

    public string Name => "fanout";

    public string Summary =>
        "one producer, 1 to 10 subscribers, directly and through equeue forward (1000 to 10000 B; 100,000 messages)";

    public LoadFlags Flags =>
        LoadFlags.Sizes | LoadFlags.Consumers | LoadFlags.Queues | LoadFlags.Messages | LoadFlags.Repeat
        | LoadFlags.Warmup | LoadFlags.Flush | LoadFlags.Curves;

    public IReadOnlyList<string> Parts => AllParts;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        if (options.Messages > int.MaxValue)
            throw LoadException.Usage($"fanout takes at most {int.MaxValue} --messages");
        foreach (FanoutPlan? plan in (options.Parts ?? AllParts).SelectMany(part => Plans(options, part)))
            await MeasureAsync(session, plan, cancellationToken);
    }

    private static IEnumerable<FanoutPlan> Plans(LoadOptions options, string part)
    {
        bool isProxied = part == Proxy;
        int[] counts = part switch
        {
            Direct => DirectSubscribers,
            Proxy => ProxiedSubscribers,
            _ => [1],
        };
        return
            from subscribers in options.Consumers is { } given ? [given] : counts
            from size in options.Sizes ?? (part == Sizes ? VariedSizes : [StandardSize])
            from messages in options.Messages is { } number
                ? [(int)number]
                : part == Numbers ? VariedMessages : [StandardMessages]
            select new FanoutPlan(
                part, subscribers, size, messages, isProxied, options.Queues ?? 1, options.Flush ?? FlushMode.Async,
                options.Warmup ?? StandardWarmup);
    }

    private static async Task MeasureAsync(LoadSession session, FanoutPlan plan, CancellationToken cancellationToken)
    {
        int repeat = session.Options.Repeat ?? StandardRepeat;
        IReadOnlyList<(string Name, object? Value)> parameters = plan.Describe(session.Options, repeat);
        var runs = new List<Figures>();
        for (int number = 1; number <= repeat; number++)
        {
            await using var run = new FanoutRun(session, plan);
            Figures figures = await run.RunAsync(cancellationToken);
            Verdict.Demand(session, parameters, figures, RestNote);
            runs.Add(figures);
            LoadSession.Say(
                $"{plan.Part}, 1:{plan.Subscribers}, {plan.Size} B, {plan.Messages:N0} messages, run {number}: "
                + $"ST {figures[FigureNames.SendWindowPerSecond]:N0}/s, "
                + $"RT {figures[FigureNames.ReceiveWindowPerSecond]:N0}/s; first to last {figures[FigureNames.ConsumePerSecond]:N0}/s, all subscribers "
                + $"{figures[FigureNames.SubscribersPerSecond]:N0}/s");
        }

        session.Report.Add(new ReportRow(parameters, runs, RestNote));
    }
}
