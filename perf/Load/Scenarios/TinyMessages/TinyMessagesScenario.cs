using EQueue.Load.Measuring;
using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Tiny messages over many connections: enqueued only, and from enqueue to dequeue; as many producers as the machine
/// allows; a queue that is kept at a depth; producers that are blocked, and go on.
/// </summary>
internal sealed class TinyMessagesScenario : IScenario
{
    private const string Enqueue = "enqueue";
    private const string Through = "through";
    private const string Many = "many";
    private const string Depth = "depth";
    private const string Blocked = "blocked";
    private const int StandardSize = 10;
    private const int StandardPairs = 128;
    private const int InFlightOfEach = 1_000;
    private const int InFlightOfMany = 20;
    private const int MessagesPerCall = 10;
    private const int Bound = 128;
    private const int MessagesOfBlocked = 200;
    private const double StandardSeconds = 3;
    private const double StandardWarmup = 5;

    /// <summary>Topics, and consumers, that very many producers share.</summary>
    private const int TopicsOfMany = 4;

    /// <summary>Of a producer with a client of its own: one to produce, one to ask.</summary>
    private const int ConnectionsOfProducer = 2;

    private const int ConnectAtATime = 16;
    private const int KeptDescriptors = 3_000;
    private const int MostProducers = 50_000;

    private static readonly string[] AllParts = [Enqueue, Through, Many, Depth, Blocked];

    public string Name => "tiny-messages";

    public string Summary =>
        "128 + 128 connections, 10 B singly and by ten; very many producers; a depth of 128; blocked producers (3 s)";

    public string FormerName => "jellyfish";

    public LoadFlags Flags =>
        LoadFlags.Size | LoadFlags.Producers | LoadFlags.Seconds | LoadFlags.Messages | LoadFlags.Repeat
        | LoadFlags.Warmup | LoadFlags.Flush | LoadFlags.Connections;

    public IReadOnlyList<string> Parts => AllParts;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        IReadOnlyList<string> parts = options.Parts ?? AllParts;
        var plans = parts.SelectMany(part => Plans(options, part)).ToList();
        plans.ForEach(plan => plan.Validate(Faults.None));
        foreach (string part in parts)
        {
            if (part == Blocked)
                await MeasureBlockedAsync(session, cancellationToken);
            foreach (RunPlan? plan in plans.Where(plan => Equals(plan.Labels[0].Value, part)))
            {
                await BrokerRuns.MeasureAsync(
                    session, plan, figures => AddReference(plan, part, figures), cancellationToken);
            }
        }
    }

    private static IEnumerable<RunPlan> Plans(LoadOptions options, string part)
    {
        int pairs = options.Producers ?? StandardPairs;
        int size = options.Sizes?[0] ?? StandardSize;
        RunPlan basic = RunPlan.From(options, size) with
        {
            Producers = pairs,
            Consumers = part == Enqueue ? 0 : pairs,
            Topics = pairs,
            Queues = 1,
            PinTopics = true,
            InFlight = InFlightOfEach,
            Seconds = options.Seconds ?? StandardSeconds,
            Warmup = options.Warmup ?? StandardWarmup,
            WithLimit = false,
            Labels = [("part", part)],
        };
        return part switch
        {
            Enqueue or Through => [basic, ByTen(basic)],
            Many => [AsMany(options, basic)],
            Depth => [AtDepth(basic, size), AtDepth(basic, Math.Max(size, BodyStamp.SizeWithTimestamp))],
            _ => [],
        };
    }

    private static RunPlan ByTen(RunPlan plan) =>
        plan with { Api = SendApi.Batch, MessagesPerCall = MessagesPerCall };

    private static RunPlan AsMany(LoadOptions options, RunPlan plan)
    {
        long descriptors = OtherProcess.ReadMostDescriptors(Environment.ProcessId) ?? long.MaxValue;
        long possible = (descriptors - KeptDescriptors) / ConnectionsOfProducer;
        (int count, string why) = options.Connections is { } asked
            ? (asked / ConnectionsOfProducer, $"--connections {asked}")
            : possible > MostProducers
                ? (MostProducers, $"{MostProducers} producers, the most that are tried")
                : ((int)possible,
                    $"file descriptors of the broker's process: {descriptors}, {KeptDescriptors} of them kept for "
                    + $"other things, {ConnectionsOfProducer} for each producer");
        return plan with
        {
            Producers = Math.Max(1, count),
            Consumers = TopicsOfMany,
            Topics = TopicsOfMany,
            InFlight = InFlightOfMany,
            ConnectAtATime = ConnectAtATime,
            MaxConnections = (MostProducers * ConnectionsOfProducer) + KeptDescriptors,
            Labels = [.. plan.Labels, ("endedBy", why)],
        };
    }

    private static RunPlan AtDepth(RunPlan plan, int size) => plan with
    {
        Size = size,
        Producers = 1,
        Consumers = 1,
        Topics = 1,
        InFlight = Bound,
        MaxBacklog = Bound,
    };

    private static Task AddReference(RunPlan plan, string part, Figures figures)
    {
        bool isByTen = plan.Api == SendApi.Batch;
        if (part == Depth)
        {
            bool isEndToEnd = plan.Size >= BodyStamp.SizeWithTimestamp;
            string latency = isEndToEnd ? FigureNames.EndToEndLatency : FigureNames.AckLatency;
            figures.SetReference(
                isEndToEnd ? PublishedReports.JellyfishEndToEnd : PublishedReports.JellyfishEnqueue,
                isEndToEnd ? PublishedReports.JellyfishEndToEndUs : PublishedReports.JellyfishEnqueueUs);
            figures[FigureNames.ReferenceRatio] =
                figures[FigureNames.Of(latency, "p50")] / figures[FigureNames.ReferenceValue];
        }
        else if (part != Many)
        {
            double old = PublishedReports.JellyfishPerSecond(isThrough: part == Through, isByTen);
            figures.SetReference(PublishedReports.Jellyfish, old);
            figures[FigureNames.ReferenceRatio] =
                (figures[FigureNames.ConsumePerSecond] ?? figures[FigureNames.SendPerSecond]) / old;
        }

        figures.Note("reference", "the old report does not have this case");
        return Task.CompletedTask;
    }

    private static async Task MeasureBlockedAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        var plan = new BlockedPlan(
            options.Producers ?? StandardPairs, options.Sizes?[0] ?? StandardSize, Bound, MessagesOfBlocked,
            options.Flush ?? FlushMode.Async);
        int repeat = options.Repeat ?? 3;
        IReadOnlyList<(string Name, object? Value)> parameters =
        [
            ("part", Blocked),
            .. plan.Describe(),
            ("repeat", repeat),
            ("seed", options.Seed),
        ];
        const string restNote = "blocked producers are not measured for their rate";
        var runs = new List<Figures>();
        for (int number = 1; number <= repeat; number++)
        {
            await using var run = new BlockedRun(session, plan);
            Figures figures = await run.RunAsync(cancellationToken);
            Verdict.Demand(session, parameters, figures, restNote);
            runs.Add(figures);
            LoadSession.Say(
                $"{plan.Producers} producers, run {number}: {figures[FigureNames.BlockedBatches]:N0} batches waited at "
                + $"a depth of {figures[FigureNames.MaxDepth]:N0}; all resumed and were consumed in "
                + $"{figures[FigureNames.ResumeSeconds]:F3} s");
        }

        session.Report.Add(new ReportRow(parameters, runs, restNote));
    }
}
