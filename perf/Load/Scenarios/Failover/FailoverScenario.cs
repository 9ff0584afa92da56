using EQueue.Load.Clusters;
using EQueue.Load.Limit;
using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>How long no client is served when the node that leads a cluster dies, hangs or stops.</summary>
internal sealed class FailoverScenario : IScenario
{
    private const int StandardSize = 128;
    private const int StandardQueues = 1000;
    private const int StandardRate = 1000;
    private const int StandardCount = 100;
    private const string RestNote = "this scenario does not measure it";

    private static readonly string[] AllParts = [.. Enum.GetNames<NodeFault>().Select(name => name.ToLowerInvariant())];

    public string Name => "failover";

    public string Summary =>
        "three nodes and an etcd: from kill -9, SIGSTOP, a stop of the leader to the next acknowledgement, 100 times each "
        + "(1,000 queues; 1,000/s; sync flush)";

    public LoadFlags Flags =>
        LoadFlags.Size | LoadFlags.Producers | LoadFlags.Consumers | LoadFlags.Queues | LoadFlags.Warmup
        | LoadFlags.Flush | LoadFlags.Rate | LoadFlags.Changes;

    public IReadOnlyList<string> Parts => AllParts;

    public LoadFlags Unused => LoadFlags.NoLimit | LoadFlags.Repeat | LoadFlags.InFlight;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        IReadOnlyList<string> parts = options.Parts ?? AllParts;
        if (LimitRun.Unavailable is not null)
            throw LoadException.MachineLimit("system", "processes are paused on Linux only");
        RunPlan plan = RunPlan.From(options, options.Sizes?[0] ?? StandardSize) with
        {
            Queues = options.Queues ?? StandardQueues,
            Rate = options.Rates?[0] ?? StandardRate,
            Api = SendApi.Callback,
            Flush = options.Flush ?? FlushMode.Sync,
            Repeat = 1,
            InGroup = false,
            WithLimit = false,
        };
        plan.Validate(options.Faults);
        foreach (string part in parts)
            await MeasureAsync(session, plan, Enum.Parse<NodeFault>(part, ignoreCase: true), cancellationToken);
    }

    private static async Task MeasureAsync(
        LoadSession session, RunPlan plan, NodeFault fault, CancellationToken cancellationToken)
    {
        int count = session.Options.Changes ?? StandardCount;
        IReadOnlyList<(string Name, object? Value)> parameters =
        [
            ("fault", fault.ToString().ToLowerInvariant()),
            ("faults", count),
            .. plan.Describe(session.Options).Where(each => each.Name is not ("seconds" or "messages" or "repeat")),
        ];
        await using var run = new FailoverRun(session, plan, fault, count);
        Figures figures = await run.RunAsync(cancellationToken);
        Verdict.Demand(session, parameters, figures, RestNote);
        session.Report.Add(new ReportRow(parameters, [figures], RestNote));
        LoadSession.Say(
            $"{fault.ToString().ToLowerInvariant()}, {count} times: acknowledged again after p50 "
            + $"{figures[FigureNames.Of(FigureNames.Failover, "p50")]:N0} ms, p99 "
            + $"{figures[FigureNames.Of(FigureNames.Failover, "p99")]:N0}, max "
            + $"{figures[FigureNames.Of(FigureNames.Failover, "max")]:N0}; {figures[FigureNames.Epochs]} epochs, "
            + $"{figures[FigureNames.SingleEpochs]} times exactly one; {figures[FigureNames.Messages]:N0} messages");
    }
}
