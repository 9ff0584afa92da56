using EQueue.Broker;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>
/// What sharing queues in a group costs beside splitting them by hand, and how soon a group has settled after a change.
/// </summary>
internal sealed class GroupsScenario : IScenario
{
    private const int StandardSize = 128;
    private const int StandardQueues = 16;
    private const int StandardRate = 10_000;
    private const int StandardChanges = 40;
    private const string RestNote = "this scenario does not measure it";

    private static readonly int[] StandardMembers = [1, 4, 16];

    public string Name => "groups";

    public string Summary =>
        "1,4,16 members of a group beside queues split by hand; settling after join, leave, kill (128 B; 16 queues; 10,000/s)";

    public LoadFlags Flags => LoadFlags.Size | LoadFlags.Load | LoadFlags.InFlight | LoadFlags.Rate | LoadFlags.Changes;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        RunPlan load = RunPlan.From(options with { Rates = null }, options.Sizes?[0] ?? StandardSize) with
        {
            Queues = options.Queues ?? StandardQueues,
            WithLimit = false,
        };
        int[] counts = options.Consumers is { } given ? [given] : StandardMembers;
        foreach (int members in counts)
        {
            RunPlan plan = load with { Consumers = members, InGroup = true };
            plan.Validate(options.Faults);
            if (plan.Queues < 2)
                throw LoadException.Usage($"--queues {plan.Queues}: 2 or more, one for the member that comes and goes");
        }

        foreach (int members in counts)
            await MeasureAsync(session, load with { Consumers = members, InGroup = true }, cancellationToken);
    }

    private static async Task MeasureAsync(LoadSession session, RunPlan plan, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        var changes = new GroupChangesPlan(
            plan with { Rate = options.Rates?[0] ?? StandardRate, Api = SendApi.Callback },
            Math.Max(1, plan.Consumers - 1),
            options.Changes ?? StandardChanges,
            (int)new ConsumerOptions().SessionTimeout.TotalMilliseconds);
        IReadOnlyList<(string Name, object? Value)> parameters =
        [
            ("members", plan.Consumers),
            .. plan.Describe(options).Where(each => each.Name is not ("rate" or "consume" or "consumers")),
            ("changes", changes.Changes),
            ("changesRate", changes.Load.Rate),
            ("sessionTimeoutMs", changes.SessionTimeoutMs),
            ("reconnectGraceMs", (long)new GroupOptions().ReconnectGrace.TotalMilliseconds),
        ];
        var runs = new List<Figures>();
        Dictionary<MemberChange, LatencyHistogram> times = Enum.GetValues<MemberChange>().ToDictionary(change => change, _ => new LatencyHistogram());
        for (int number = 1; number <= plan.Repeat; number++)
        {
            Figures figures = await MeasureRatesAsync(session, plan, number % 2 == 1, cancellationToken);
            GroupChanges changed = await ChangeAsync(session, changes, cancellationToken);
            AddChanges(figures, changed);
            Verdict.Demand(session, parameters, figures, RestNote);
            foreach ((MemberChange change, LatencyHistogram histogram) in changed.Times)
                times[change].Add(histogram.ToCounts());
            runs.Add(figures);
            LoadSession.Say(Describe(plan, number, figures));
        }

        var row = new ReportRow(parameters, runs, RestNote);
        foreach ((MemberChange change, LatencyHistogram histogram) in times)
            row.Medians.SetRebalance(NameOf(change), histogram);
        session.Report.Add(row);
    }

    /// <summary>The group and the queues split by hand, one after the other; the first one of a run takes turns.</summary>
    private static async Task<Figures> MeasureRatesAsync(
        LoadSession session, RunPlan plan, bool isGroupFirst, CancellationToken cancellationToken)
    {
        RunPlan byHand = plan with { InGroup = false };
        Figures first = await MeasureRateAsync(session, isGroupFirst ? plan : byHand, cancellationToken);
        Figures second = await MeasureRateAsync(session, isGroupFirst ? byHand : plan, cancellationToken);
        (Figures group, Figures manual) = isGroupFirst ? (first, second) : (second, first);
        double rate = manual[FigureNames.ConsumePerSecond] ?? double.NaN;
        group.SetReference("queues split by hand, messages/s", rate);
        group[FigureNames.ReferenceRatio] = group[FigureNames.GroupToManual] =
            group[FigureNames.ConsumePerSecond] / rate;
        group.AddCheck(manual);

        return group;
    }

    private static async Task<Figures> MeasureRateAsync(
        LoadSession session, RunPlan plan, CancellationToken cancellationToken)
    {
        await using var run = new BrokerRun(session, plan);
        return await run.RunAsync(cancellationToken);
    }

    private static async Task<GroupChanges> ChangeAsync(
        LoadSession session, GroupChangesPlan plan, CancellationToken cancellationToken)
    {
        await using var run = new GroupChangesRun(session, plan);
        return await run.RunAsync(session.Options.ConsumerFaults, cancellationToken);
    }

    /// <summary>What came again after a change is no fault; it is counted apart.</summary>
    private static void AddChanges(Figures figures, GroupChanges changed)
    {
        figures[FigureNames.Missing] += changed.Check.Missing;
        figures[FigureNames.Reordered] += changed.Check.Reordered;
        figures[FigureNames.Damaged] += changed.Check.Damaged;
        figures[FigureNames.Repeated] = changed.Check.Duplicated;
        foreach ((MemberChange change, LatencyHistogram histogram) in changed.Times)
            figures.SetRebalance(NameOf(change), histogram);
    }

    private static string NameOf(MemberChange change) => change.ToString().ToLowerInvariant();

    private static string Describe(RunPlan plan, int number, Figures figures)
    {
        IEnumerable<string> settled = FigureNames.Changes.Select(change =>
        {
            string group = FigureNames.Of(FigureNames.Rebalance, change);
            return $"{change} p50 {figures[FigureNames.Of(group, "p50")]:N0} p99 {figures[FigureNames.Of(group, "p99")]:N0}";
        });
        return $"{plan.Consumers} members, run {number}: {figures[FigureNames.ConsumePerSecond]:N0} msg/s, by hand "
            + $"{figures[FigureNames.ReferenceValue]:N0}: {figures[FigureNames.GroupToManual]:F2}; settled after ms: "
            + $"{string.Join(", ", settled)}; {figures[FigureNames.Repeated]} came again";
    }
}
