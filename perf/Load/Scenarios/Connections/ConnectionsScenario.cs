using EQueue.Load.Measuring;
using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>
/// As many idle connections as a broker's process may have: what each costs it, and whether those that work notice.
/// </summary>
internal sealed class ConnectionsScenario : IScenario
{
    private const int StandardSize = 128;
    private const int StandardProducers = 128;
    private const int InFlightOfEach = 1_000;
    private const double StandardSeconds = 4;
    private const double StandardWarmup = 1;

    /// <summary>Descriptors of the broker that are left for its files and the connections that work.</summary>
    private const int KeptDescriptors = 1_000;

    /// <summary>No more than that are tried where descriptors allow it.</summary>
    private const int MostConnections = 200_000;

    private const int FewestConnections = 10;
    private const string RestNote = "this scenario does not measure it";

    public string Name => "connections";

    public string Summary =>
        $"memory of each idle connection, and {StandardProducers} producers without and with all of them (128 B; 4 s)";

    public LoadFlags Flags =>
        LoadFlags.Sizes | LoadFlags.Load | LoadFlags.Topics | LoadFlags.Api | LoadFlags.InFlight
        | LoadFlags.Connections;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        if (!OperatingSystem.IsLinux())
            throw LoadException.MachineLimit("system", "idle connections are measured on Linux only");
        LoadOptions options = session.Options;
        var plans = (options.Sizes ?? [StandardSize]).Select(size => Plan(options, size)).ToList();
        plans.ForEach(plan => plan.Validate(options.Faults));
        foreach (RunPlan? plan in plans)
            await MeasureAsync(session, plan, cancellationToken);
    }

    private static RunPlan Plan(LoadOptions options, int size) => RunPlan.From(options, size) with
    {
        Producers = options.Producers ?? StandardProducers,
        InFlight = options.InFlight?[0] ?? InFlightOfEach,
        Seconds = options.Seconds ?? StandardSeconds,
        Warmup = options.Warmup ?? StandardWarmup,
        WithLimit = false,
        MaxConnections = MostConnections + KeptDescriptors,
    };

    /// <summary>Runs without and with the idle ones in turns; the first one of a pair changes.</summary>
    private static async Task MeasureAsync(LoadSession session, RunPlan plan, CancellationToken cancellationToken)
    {
        IReadOnlyList<(string Name, object? Value)> parameters = plan.Describe(session.Options);
        var runs = new List<Figures>();
        string endedBy = string.Empty;
        for (int number = 1; number <= plan.Repeat; number++)
        {
            bool isAloneFirst = number % 2 == 1;
            Figures? alone = isAloneFirst ? await RunAsync(session, plan, cancellationToken) : null;
            await using var holders = new IdleHolders(session);
            Figures figures = await RunBesideAsync(session, plan, holders, text => endedBy = text, cancellationToken);
            alone ??= await RunAsync(session, plan, cancellationToken);
            figures.AddCheck(alone);
            Verdict.Demand(session, parameters, figures, RestNote);
            double rate = alone[FigureNames.SendPerSecond] ?? double.NaN;
            figures.SetReference("messages sent a second without idle connections", rate);
            figures[FigureNames.ReferenceRatio] = figures[FigureNames.SendPerSecond] / rate;
            runs.Add(figures);
            LoadSession.Say(
                $"run {number}: {holders.Count:N0} idle connections, {holders.BytesPerConnection:N0} bytes each, "
                + $"opened at {holders.PerSecond:N0}/s; sent {figures[FigureNames.SendPerSecond]:N0} msg/s beside them, "
                + $"{rate:N0} without: {figures[FigureNames.ReferenceRatio]:F2}; consumed "
                + $"{figures[FigureNames.ConsumePerSecond]:N0} and {alone[FigureNames.ConsumePerSecond]:N0}");
        }

        LoadSession.Say($"what ended the opening: {endedBy}");
        session.Report.Add(new ReportRow([.. parameters, ("endedBy", endedBy)], runs, RestNote));
    }

    private static async Task<Figures> RunAsync(LoadSession session, RunPlan plan, CancellationToken cancellationToken)
    {
        await using var run = new BrokerRun(session, plan);
        return await run.RunAsync(cancellationToken);
    }

    private static async Task<Figures> RunBesideAsync(
        LoadSession session,
        RunPlan plan,
        IdleHolders holders,
        Action<string> ended,
        CancellationToken cancellationToken)
    {
        await using var run = new BrokerRun(session, plan)
        {
            BeforeClients = async broker =>
            {
                (int wanted, string why) = Wanted(session.Options, broker.ProcessId);
                await holders.OpenAsync(broker.Server, broker.ProcessId, wanted, cancellationToken);
                ended(holders.EndedBy ?? why);
                if (holders.Count < Math.Min(wanted, FewestConnections))
                    throw LoadException.MachineLimit("connections", $"{holders.Count} of {wanted}: {holders.EndedBy}");
            },
        };
        Figures figures = await run.RunAsync(cancellationToken);
        await holders.CheckAsync(cancellationToken);
        figures[FigureNames.IdleConnections] = holders.Count;
        figures[FigureNames.BytesPerConnection] = holders.BytesPerConnection;
        figures[FigureNames.ConnectionsPerSecond] = holders.PerSecond;
        return figures;
    }

    private static (int Count, string Why) Wanted(LoadOptions options, int processId)
    {
        if (options.Connections is { } asked)
            return (asked, $"--connections {asked}");
        long most = OtherProcess.ReadMostDescriptors(processId) ?? long.MaxValue;
        return most - KeptDescriptors > MostConnections
            ? (MostConnections, $"{MostConnections} connections, the most that are tried")
            : ((int)Math.Max(0, most - KeptDescriptors),
                $"file descriptors of the broker's process: {most}, {KeptDescriptors} of them kept for other things");
    }
}
