using EQueue.Broker;
using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>Very many topics: made, listed and described with <c>equeue</c>, and what they cost at rest.</summary>
internal sealed class TopicsScenario : IScenario
{
    private const int StandardTopics = 10_000;
    private const int StandardQueues = 10;
    private const int StandardRepeat = 3;
    private const double StandardWarmup = 2;
    private const double StandardSeconds = 10;
    private const string RestNote = "topics are measured, no load";

    public string Name => "topics";

    public string Summary =>
        "equeue makes, lists, describes topics; memory and CPU at rest and waited on; reopening (10,000 of 10 queues)";

    public LoadFlags Flags =>
        LoadFlags.Topics | LoadFlags.Queues | LoadFlags.Seconds | LoadFlags.Repeat | LoadFlags.Warmup
        | LoadFlags.Flush;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        var limits = new LimitOptions();
        int topics = options.Topics ?? StandardTopics;
        int queues = options.Queues ?? StandardQueues;
        if (topics < 2 || topics > limits.MaxTopics)
            throw LoadException.Usage($"--topics {topics}: 2 to {limits.MaxTopics}");
        if (queues > limits.MaxQueuesPerTopic || (long)topics * queues > limits.MaxQueues)
        {
            throw LoadException.Usage(
                $"--queues {queues}: at most {limits.MaxQueuesPerTopic}, and {limits.MaxQueues} of all topics");
        }

        var plan = new TopicsPlan(
            topics, queues, options.Flush ?? FlushMode.Sync, options.Warmup ?? StandardWarmup,
            options.Seconds ?? StandardSeconds);
        await MeasureAsync(session, plan, cancellationToken);
    }

    private static async Task MeasureAsync(LoadSession session, TopicsPlan plan, CancellationToken cancellationToken)
    {
        int repeat = session.Options.Repeat ?? StandardRepeat;
        IReadOnlyList<(string Name, object? Value)> parameters =
        [
            ("topics", plan.Topics),
            ("queues", plan.Queues),
            ("flush", plan.Flush.ToString().ToLowerInvariant()),
            ("warmup", plan.Warmup),
            ("seconds", plan.Seconds),
            ("repeat", repeat),
        ];
        var runs = new List<Figures>();
        for (int number = 1; number <= repeat; number++)
        {
            await using var run = new TopicsRun(session, plan);
            Figures figures = await run.RunAsync(cancellationToken);
            Verdict.Demand(session, parameters, figures, RestNote);
            runs.Add(figures);
            LoadSession.Say(
                $"{plan.Topics} topics of {plan.Queues} queues, run {number}: "
                + $"made in {figures[FigureNames.CreateSeconds]:F2} s, listed in {figures[FigureNames.ListSeconds]:F2} s, "
                + $"described in {figures[FigureNames.DescribeSeconds]:F2} s; at rest "
                + $"{figures[FigureNames.Of(FigureNames.Broker, FigureNames.ResidentBytes)] / 1e6:F0} MB, "
                + $"{figures[FigureNames.Of(FigureNames.Broker, FigureNames.CpuPercent)]:F2} % CPU, waited on "
                + $"{figures[FigureNames.WatchResidentBytes] / 1e6:F0} MB, {figures[FigureNames.WatchCpuPercent]:F2} %; "
                + $"ready again in {figures[FigureNames.ReadySeconds]:F2} s");
        }

        session.Report.Add(new ReportRow(parameters, runs, RestNote));
    }
}
