using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Producers and consumers at the same time, as fast as they go: a row per body size, beside what the original EQueue
/// reported of the same case. Different numbers of producers and consumers are run by turns.
/// </summary>
internal sealed class ThroughputScenario : IScenario
{
    private static readonly int[] StandardSizes = [128, 512, 1024, 2048];

    public string Name => "throughput";

    public string Summary =>
        "send and consume at the same time, every message checked (128,512,1024,2048 B; 10 s; async)";

    public LoadFlags Flags =>
        LoadFlags.Sizes | LoadFlags.Load | LoadFlags.Pairs | LoadFlags.Topics | LoadFlags.Api | LoadFlags.InFlight
        | LoadFlags.Rate | LoadFlags.Server | LoadFlags.NoLimit | LoadFlags.LimitRun | LoadFlags.Curves;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        if (options.Rates is { Count: > 1 })
            throw LoadException.Usage("throughput takes one --rate; 'latency' goes through several");
        if (options.Pairs is not null && (options.Producers ?? options.Consumers) is not null)
            throw LoadException.Usage("--pairs takes the place of --producers and --consumers");
        IEnumerable<LoadOptions> cases = options.Pairs?.Select(pair => options with { Producers = pair, Consumers = pair }) ?? [options];
        var sizes =
            (from size in options.Sizes ?? StandardSizes
             select cases.Select(each => RunPlan.From(each, size)).ToList()).ToList();
        foreach (RunPlan? plan in sizes.SelectMany(plans => plans))
            plan.Validate(options.Faults);
        foreach (List<RunPlan>? plans in sizes)
            await BrokerRuns.MeasureByTurnsAsync(session, plans, AddReferenceAsync, cancellationToken);
    }

    private static Task AddReferenceAsync(RunPlan plan, Figures figures)
    {
        if (PublishedReports.MessagesPerSecond(plan.Producers, plan.Consumers, plan.Size) is { } old)
        {
            figures.SetReference(PublishedReports.EQueue2, old);
            figures[FigureNames.ReferenceRatio] = figures[FigureNames.ConsumePerSecond] / old;
        }
        else
        {
            figures.Note("reference", "the old report does not have this case");
        }

        return Task.CompletedTask;
    }
}
