using EQueue.Load.Limit;
using EQueue.Load.Measuring;

namespace EQueue.Load.Scenarios;

/// <summary>What three copies cost: a cluster of three nodes beside one broker, by turns.</summary>
internal sealed class ReplicationScenario : IScenario
{
    private const int Nodes = 3;
    private const int StandardRate = 1000;
    private const int SyncInFlight = 1000;
    private const double StandardSeconds = 4;

    private static readonly int[] StandardSizes = [128, 1024];
    private static readonly string[] AllParts = ["async", "sync"];

    public string Name => "cluster";

    public string Summary =>
        "three nodes and an etcd beside one broker, by turns: full speed, and 1,000/s (128, 1024 B; async, sync; 4 s)";

    public LoadFlags Flags =>
        LoadFlags.Sizes | LoadFlags.Producers | LoadFlags.Consumers | LoadFlags.Queues | LoadFlags.Topics
        | LoadFlags.Seconds | LoadFlags.Messages | LoadFlags.Repeat | LoadFlags.Warmup | LoadFlags.InFlight
        | LoadFlags.Rate;

    public IReadOnlyList<string> Parts => AllParts;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        IReadOnlyList<string> parts = options.Parts ?? AllParts;
        if (LimitRun.Unavailable is not null)
            throw LoadException.MachineLimit("system", "what processes use is told on Linux only");
        IReadOnlyList<int> sizes = options.Sizes ?? StandardSizes;
        if (sizes.Any(size => size < BodyStamp.SizeWithTimestamp))
            throw LoadException.Usage($"cluster needs bodies of at least {BodyStamp.SizeWithTimestamp} bytes");
        var cases =
            (from part in parts
             from size in sizes
             from rate in new int?[] { null, options.Rates?[0] ?? StandardRate }
             select PlanOf(options, Enum.Parse<FlushMode>(part, ignoreCase: true), size, rate)).ToList();
        cases.ForEach(plan => plan.Validate(options.Faults));
        foreach (RunPlan? plan in cases)
        {
            await BrokerRuns.MeasureByTurnsAsync(
                session, [Of(plan, 1), Of(plan, Nodes)], (_, _) => Task.CompletedTask, cancellationToken);
        }
    }

    private static RunPlan PlanOf(LoadOptions options, FlushMode flush, int size, int? rate)
    {
        var plan = RunPlan.From(options with { Rates = null }, size);
        return plan with
        {
            Flush = flush,
            Rate = rate,
            Api = rate is null ? SendApi.Message : SendApi.Callback,
            InFlight = options.InFlight?[0] ?? (flush == FlushMode.Sync ? SyncInFlight : plan.InFlight),
            Seconds = options.Seconds ?? StandardSeconds,
            WithLimit = false,
            WithAdmin = true,
        };
    }

    private static RunPlan Of(RunPlan plan, int replicas) =>
        plan with { Replicas = replicas, Labels = [("replicas", replicas)] };
}
