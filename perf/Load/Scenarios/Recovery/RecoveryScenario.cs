using EQueue.Load.Limit;
using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>How soon the server serves again after it was killed: a large log, and many queues.</summary>
internal sealed class RecoveryScenario : IScenario
{
    private const int StandardRepeat = 3;
    private const double StandardGB = 20;
    private const int LogSize = 1024;
    private const int LogQueues = 4;
    private const int QueueSize = 128;
    private const int StandardQueues = 100_000;
    private const int MessagesPerQueue = 100;
    private const int BatchMessages = 10;

    /// <summary>Sent before each start, so that each finds a log that no orderly stop has ended.</summary>
    private const long TailBytes = 200_000_000;

    private const string RestNote = "a start is measured, no load";

    public string Name => "recovery";

    public string Summary =>
        "from a killed server to a ready one, page cache cold and warm (20 GB; 100,000 queues of 100 messages)";

    public LoadFlags Flags =>
        LoadFlags.Sizes | LoadFlags.Queues | LoadFlags.Messages | LoadFlags.Repeat | LoadFlags.Flush | LoadFlags.LogGB;

    public LoadFlags Unused =>
        LoadFlags.NoLimit | LoadFlags.Producers | LoadFlags.Consumers | LoadFlags.Topics | LoadFlags.Warmup
        | LoadFlags.Api | LoadFlags.InFlights;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        if (LimitRun.Unavailable is not null)
            throw LoadException.MachineLimit("system", "the page cache is dropped on Linux only");
        LoadOptions options = session.Options;
        if (options.Faults.HasFlag(Faults.Reorder))
            throw LoadException.Usage("recovery counts messages: --inject missing, duplicate or short");
        int queues = options.Queues ?? StandardQueues;
        if (options.Messages < queues)
            throw LoadException.Usage($"--messages {options.Messages}: at least one for each of {queues} queues");
        foreach (RecoveryPlan? plan in new[] { LogPlan(options), QueuesPlan(options, queues) })
            await MeasureAsync(session, plan, cancellationToken);
    }

    private static RecoveryPlan LogPlan(LoadOptions options)
    {
        int size = options.Sizes?[0] ?? LogSize;
        long messages = (long)((options.LogGB ?? StandardGB) * 1e9 / size);
        return new RecoveryPlan(
            "log", false, options.Flush ?? FlushMode.Async, size, LogQueues, messages,
            Math.Min(messages, TailBytes / size), 0, 0);
    }

    private static RecoveryPlan QueuesPlan(LoadOptions options, int queues)
    {
        int perQueue = (int)Math.Min(options.Messages / queues ?? MessagesPerQueue, int.MaxValue);
        int batchMessages = Math.Min(BatchMessages, perQueue);
        return new RecoveryPlan(
            "queues", true, options.Flush ?? FlushMode.Async, QueueSize, queues, (long)perQueue * queues, 0,
            perQueue / batchMessages, batchMessages);
    }

    private static async Task MeasureAsync(LoadSession session, RecoveryPlan plan, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        List<Figures> cold = [], warm = [];
        await using var directory = new RecoveryCase(session, plan);
        await directory.PrepareAsync(cancellationToken);
        for (int number = 1; number <= (options.Repeat ?? StandardRepeat); number++)
        {
            foreach (List<Figures>? runs in new[] { cold, warm })
            {
                bool isWarm = ReferenceEquals(runs, warm);
                Figures figures = await directory.MeasureAsync(isWarm, cancellationToken);
                Verdict.Demand(session, Describe(options, plan, isWarm), figures, RestNote);
                runs.Add(figures);
                LoadSession.Say(
                    $"{plan.Kind}, {figures[FigureNames.BytesWritten] / 1e9:F2} GB, {plan.Queues} queues, "
                    + $"{(isWarm ? "warm" : "cold")}, run {number}: ready in {figures[FigureNames.ReadySeconds]:F3} s "
                    + $"(empty {figures[FigureNames.ReferenceValue]:F3} s), "
                    + $"{figures[FigureNames.Of(FigureNames.Broker, FigureNames.ResidentBytes)] / 1e6:F0} MB");
            }
        }

        session.Report.Add(new ReportRow(Describe(options, plan, isWarm: false), cold, RestNote));
        session.Report.Add(new ReportRow(Describe(options, plan, isWarm: true), warm, RestNote));
    }

    private static IReadOnlyList<(string Name, object? Value)> Describe(
        LoadOptions options, RecoveryPlan plan, bool isWarm) =>
    [
        ("case", plan.Kind),
        ("cache", isWarm ? "warm" : "cold"),
        ("queues", plan.Queues),
        ("messages", plan.Messages),
        ("size", plan.Size),
        ("batchMessages", plan.IsByStore ? plan.BatchMessages : null),
        ("flush", plan.Flush.ToString().ToLowerInvariant()),
        ("repeat", options.Repeat ?? StandardRepeat),
        ("seed", options.Seed),
    ];
}
