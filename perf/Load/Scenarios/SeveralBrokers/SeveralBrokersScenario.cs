using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>
/// NSQ's bench: topics that lie over several brokers, produced only and produced while groups consume them, and one
/// broker with a few producers and consumers.
/// </summary>
internal sealed class SeveralBrokersScenario : IScenario
{
    private const string Produce = "produce";
    private const string Through = "through";
    private const string Single = "single";
    private const int StandardSize = 100;
    private const int SizeOfSingle = 200;
    private const int StandardTopics = 3;
    private const int StandardQueues = 24;
    private const int QueuesOfSingle = 4;
    private const int StandardConsumers = 24;
    private const int StandardProducers = 9;
    private const int ProducersOfFour = 16;
    private const int InFlightOfEach = 2_000;
    private const double StandardSeconds = 4;
    private const double StandardWarmup = 1;

    private static readonly string[] AllParts = [Produce, Through, Single];
    private static readonly int[] StandardBrokers = [1, 3, 4];
    private static readonly int[] StandardPairs = [1, 4];

    public string Name => "several-brokers";

    public string Summary =>
        "1,3,4 brokers, 3 topics over all of them: produce, and 24 consumers a topic; one broker 1 + 1, 4 + 4 (4 s)";

    public string FormerName => "cluster-bench";

    public LoadFlags Flags =>
        LoadFlags.Size | LoadFlags.Load | LoadFlags.Pairs | LoadFlags.Topics | LoadFlags.Brokers | LoadFlags.Api
        | LoadFlags.InFlight;

    public IReadOnlyList<string> Parts => AllParts;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        IReadOnlyList<string> parts = options.Parts ?? AllParts;
        var plans = parts.SelectMany(part => Plans(options, part)).ToList();
        plans.ForEach(plan => plan.Validate(plan.Consumers == 0 ? Faults.None : options.Faults));
        foreach (RunPlan? plan in plans)
            await BrokerRuns.MeasureAsync(session, plan, figures => AddFigures(plan, figures), cancellationToken);
    }

    private static IEnumerable<RunPlan> Plans(LoadOptions options, string part) => part == Single
        ? (options.Pairs ?? StandardPairs).Select(pairs => OfOneBroker(options, pairs))
        : (options.Brokers ?? StandardBrokers).Select(brokers => OfBrokers(options, brokers, part == Through));

    private static RunPlan OfBrokers(LoadOptions options, int brokers, bool isThrough)
    {
        RunPlan plan = Basic(options, StandardSize, isThrough ? Through : Produce, brokers);
        int topics = options.Topics ?? StandardTopics;
        int queuesOfBroker = ((options.Queues ?? StandardQueues) + brokers - 1) / brokers;
        return plan with
        {
            Brokers = brokers,
            Topics = topics,
            Queues = queuesOfBroker * brokers,
            Producers = options.Producers ?? (brokers == 4 ? ProducersOfFour : StandardProducers),
            Consumers = isThrough ? topics * (options.Consumers ?? StandardConsumers) : 0,
            PinTopics = true,
            GroupPerTopic = true,
            InGroup = true,
        };
    }

    private static RunPlan OfOneBroker(LoadOptions options, int pairs) =>
        Basic(options, SizeOfSingle, Single, brokers: 1) with
        {
            Topics = options.Topics ?? 1,
            Queues = options.Queues ?? QueuesOfSingle,
            Producers = pairs,
            Consumers = pairs,
            InGroup = true,
        };

    private static RunPlan Basic(LoadOptions options, int size, string part, int brokers) =>
        RunPlan.From(options, options.Sizes?[0] ?? size) with
        {
            Seconds = options.Seconds ?? StandardSeconds,
            Warmup = options.Warmup ?? StandardWarmup,
            InFlight = options.InFlight?[0] ?? (options.Api == SendApi.Sync ? 1 : InFlightOfEach),
            WithLimit = false,
            Labels = [("part", part), ("brokers", brokers)],
        };

    /// <summary>How long an operation takes, all clients together, and what the old report has of the case.</summary>
    private static Task AddFigures(RunPlan plan, Figures figures)
    {
        figures[FigureNames.SendUsPerOperation] = 1e6 / figures[FigureNames.SendPerSecond];
        figures[FigureNames.ConsumeUsPerOperation] = 1e6 / figures[FigureNames.ConsumePerSecond];
        figures.Note(FigureNames.ConsumeUsPerOperation, "nothing was consumed");
        bool isSingle = Equals(plan.Labels[0].Value, Single);
        (double Sent, double? Consumed)? old = PublishedReports.NsqPerSecond(isSingle, plan.Brokers, plan.Producers, plan.Consumers, plan.Size);
        if (old is (var sent, var consumed))
        {
            figures.SetReference(PublishedReports.Nsq, consumed ?? sent);
            figures[FigureNames.ReferenceSend] = sent;
            figures[FigureNames.ReferenceRatio] =
                (figures[FigureNames.ConsumePerSecond] ?? figures[FigureNames.SendPerSecond]) / (consumed ?? sent);
        }

        figures.Note("reference", "the old report does not have this case");
        return Task.CompletedTask;
    }
}
