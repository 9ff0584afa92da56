using EQueue.Load.Limit;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.MessageStore;

namespace EQueue.Load.Scenarios;

/// <summary>What consumers far behind do to a producer, and how fast the broker feeds them from its disk.</summary>
internal sealed class ColdReadScenario : IScenario
{
    private const int StandardSize = 1024;
    private const int StandardRate = 10_000;
    private const int StandardReaders = 3;
    private const double StandardGB = 1;

    /// <summary>So long a virtual machine may be busy with the pages that it got back.</summary>
    private const double StandardWarmup = 8;

    private const string RestNote = "this scenario does not measure it";

    private static readonly int[] StandardQueues = [4, 1000];

    public string Name => "coldread";

    public string Summary =>
        "a paced producer while consumers replay from disk (1 KB; 10,000/s; 10 s; 3 readers; 1 GB; 4,1000 queues)";

    public LoadFlags Flags => LoadFlags.Size | LoadFlags.Load | LoadFlags.Topics | LoadFlags.Rate | LoadFlags.LogGB;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        if (LimitRun.Unavailable is not null)
            throw LoadException.MachineLimit("system", "the page cache is dropped on Linux only");
        LoadOptions options = session.Options;
        int size = options.Sizes?[0] ?? StandardSize;
        if (size < BodyStamp.SizeWithTimestamp)
            throw LoadException.Usage($"coldread needs bodies of at least {BodyStamp.SizeWithTimestamp} bytes");
        long messages = options.Messages ?? (long)((options.LogGB ?? StandardGB) * 1e9 / size);
        long leastBytes = 2 * new StoreOptions { DataDirectory = "." }.TailMemoryBytes;
        if (messages * size < leastBytes)
            throw LoadException.Usage($"{messages} messages of {size} bytes: under {leastBytes} bytes stay in memory");
        int[] queueCounts = options.Queues is { } given ? [given] : StandardQueues;
        foreach (int queues in queueCounts)
        {
            RunPlan plan = RunPlan.From(options with { Messages = messages }, size) with
            {
                Consumers = options.Consumers ?? StandardReaders,
                Queues = queues,
                Rate = options.Rates?[0] ?? StandardRate,
                Warmup = options.Warmup ?? StandardWarmup,
                WithLimit = false,
            };
            await MeasureAsync(session, plan, cancellationToken);
        }
    }

    private static async Task MeasureAsync(LoadSession session, RunPlan plan, CancellationToken cancellationToken)
    {
        await using var run = new ColdReadRun(session, plan);
        await run.PrepareAsync(cancellationToken);
        IReadOnlyList<(string Name, object? Value)> parameters = Describe(session.Options, plan);
        var runs = new List<Figures>();
        for (int number = 1; number <= plan.Repeat; number++)
        {
            Figures figures = await run.MeasureAsync(cancellationToken);
            Verdict.Demand(session, parameters, figures, RestNote);
            figures[FigureNames.LimitMBps] = await run.ReadBareAsync(cancellationToken);
            figures[FigureNames.RatioToLimit] = figures[FigureNames.ConsumeMBps] / figures[FigureNames.LimitMBps];
            runs.Add(figures);
            LoadSession.Say(
                $"{plan.Queues} queues, run {number}: {figures[FigureNames.SendPerSecond]:N0} msg/s, ack p99 "
                + $"{figures[FigureNames.Of(FigureNames.AckLatency, "p99")]:N0} us, without readers "
                + $"{figures[FigureNames.ReferenceP99]:N0} us; {plan.Consumers} readers "
                + $"{figures[FigureNames.ConsumeMBps]:N0} MB/s, bare read {figures[FigureNames.LimitMBps]:N0} MB/s");
        }

        session.Report.Add(new ReportRow(parameters, runs, RestNote));
    }

    private static IReadOnlyList<(string Name, object? Value)> Describe(LoadOptions options, RunPlan plan) =>
    [
        ("size", plan.Size),
        ("producers", plan.Producers),
        ("consumers", plan.Consumers),
        ("queues", plan.Queues),
        ("topics", plan.Topics),
        ("flush", plan.Flush.ToString().ToLowerInvariant()),
        ("rate", plan.Rate),
        ("messages", plan.Messages),
        ("seconds", plan.Seconds),
        ("warmup", plan.Warmup),
        ("repeat", plan.Repeat),
        ("seed", options.Seed),
    ];
}
