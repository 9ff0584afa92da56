using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>How long an administrator waits for answers while producers and consumers take all they get.</summary>
internal sealed class AdminScenario : IScenario
{
    private const int StandardSize = 128;
    private const int StandardRate = 100;
    private const int StandardTopics = 100;
    private const int StandardPairs = 2;
    private const string All = "all";
    private const string RestNote = "this scenario does not measure it";
    private const string OnceNote = "see the row of all kinds";

    public string Name => "admin";

    public string Summary =>
        "answers over HTTP and the clients' port beside 2 + 2 at full speed (128 B; 100 topics; 100 requests/s)";

    public LoadFlags Flags =>
        LoadFlags.Size | LoadFlags.Producers | LoadFlags.Consumers | LoadFlags.Queues | LoadFlags.Topics
        | LoadFlags.Seconds | LoadFlags.Repeat | LoadFlags.Warmup | LoadFlags.Api | LoadFlags.Flush
        | LoadFlags.InFlight | LoadFlags.Rate;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        RunPlan plan = RunPlan.From(options with { Rates = null }, options.Sizes?[0] ?? StandardSize) with
        {
            Topics = options.Topics ?? StandardTopics,
            Producers = options.Producers ?? StandardPairs,
            Consumers = options.Consumers ?? StandardPairs,
            InGroup = true,
            WithLimit = false,
            WithAdmin = true,
        };
        plan.Validate(options.Faults);
        if (plan.Consumers == 0 || plan.Warmup <= 0)
            throw LoadException.Usage("admin needs consumers and a --warmup: it asks for the group's lag");
        await MeasureAsync(session, plan, options.Rates?[0] ?? StandardRate, cancellationToken);
    }

    private static async Task MeasureAsync(
        LoadSession session, RunPlan plan, int rate, CancellationToken cancellationToken)
    {
        IReadOnlyList<(string Name, object? Value)> ParametersOf(string kind) =>
            [("kind", kind), ("adminRate", rate), .. plan.Describe(session.Options).Where(each => each.Name != "rate")];

        var kinds = new Dictionary<string, (List<Figures> Runs, LatencyHistogram Beside)>();
        for (int number = 1; number <= plan.Repeat; number++)
        {
            await using var asker = new RunAsker(session, plan, rate);
            await using var run = new BrokerRun(session, plan)
            {
                WhileSending = asker.AskBesideAsync,
                BeforeCounting = asker.AskAtRestAsync,
            };
            Figures figures = await run.RunAsync(cancellationToken);
            Verdict.Demand(session, ParametersOf(All), figures, RestNote);
            Add(All, figures, asker.Beside.Values, asker.AtRest.Values);
            foreach (string kind in asker.Beside.Keys)
                Add(kind, new Figures(), [asker.Beside[kind]], [asker.AtRest[kind]]);
            LoadSession.Say(
                $"run {number}: {figures[FigureNames.ConsumePerSecond]:N0} msg/s; answers after ms p50 "
                + $"{figures[FigureNames.Of(FigureNames.Admin, "p50")]:F2}, p99 "
                + $"{figures[FigureNames.Of(FigureNames.Admin, "p99")]:F2}, max "
                + $"{figures[FigureNames.Of(FigureNames.Admin, "max")]:F2}; at rest p50 "
                + $"{figures[FigureNames.ReferenceValue]:F2}, p99 {figures[FigureNames.ReferenceP99]:F2}");
        }

        foreach ((string kind, (List<Figures> runs, LatencyHistogram? beside)) in kinds)
        {
            var row = new ReportRow(ParametersOf(kind), runs, kind == All ? RestNote : OnceNote);
            row.Medians.SetAdmin(beside);
            session.Report.Add(row);
        }

        void Add(
            string kind, Figures figures, IEnumerable<LatencyCounts> beside, IEnumerable<LatencyCounts> atRest)
        {
            if (!kinds.TryGetValue(kind, out (List<Figures> Runs, LatencyHistogram Beside) known))
                kinds[kind] = known = ([], new LatencyHistogram());
            known.Runs.Add(figures);
            (LatencyHistogram loaded, LatencyHistogram quiet) = (Together(beside), Together(atRest));
            known.Beside.Add(loaded.ToCounts());
            figures.SetAdmin(loaded);
            figures.SetReference("the same requests without load, p50 ms", quiet.PercentileNs(50) / 1e6);
            figures[FigureNames.ReferenceP99] = quiet.PercentileNs(99) / 1e6;
        }
    }

    private static LatencyHistogram Together(IEnumerable<LatencyCounts> kinds)
    {
        var all = new LatencyHistogram();
        foreach (LatencyCounts counts in kinds)
            all.Add(counts);
        return all;
    }

    /// <summary>
    /// The process that asks: beside the load that warms up, which counts for nothing, then at rest, then beside the
    /// load that counts.
    /// </summary>
    private sealed class RunAsker(LoadSession session, RunPlan plan, int rate) : IAsyncDisposable
    {
        private readonly RoleProcess _process = session.Start(RoleList.Asker);
        private bool _isPrepared;

        public IReadOnlyDictionary<string, LatencyCounts> AtRest { get; private set; } =
            new Dictionary<string, LatencyCounts>();

        public IReadOnlyDictionary<string, LatencyCounts> Beside { get; private set; } =
            new Dictionary<string, LatencyCounts>();

        public async Task AskBesideAsync(RunTalk run, CancellationToken cancellationToken)
        {
            if (!_isPrepared)
            {
                var order = new AskerOrder(run.Broker.Server, run.Broker.Admin!, run.Topics, run.Group);
                await _process.CallAsync("prepare", order, cancellationToken);
            }

            Beside = await AskAsync(_isPrepared ? plan.Seconds : plan.Warmup, cancellationToken);
            _isPrepared = true;
        }

        public async Task AskAtRestAsync(CancellationToken cancellationToken) =>
            AtRest = await AskAsync(plan.Seconds, cancellationToken);

        public ValueTask DisposeAsync() => _process.DisposeAsync();

        private async Task<Dictionary<string, LatencyCounts>> AskAsync(
            double seconds, CancellationToken cancellationToken)
        {
            AskResult result = await _process.CallAsync<AskResult>("ask", new AskOrder(seconds, rate), cancellationToken);
            return result.Kinds.ToDictionary(kind => kind.Kind, kind => kind.Latency);
        }
    }
}
