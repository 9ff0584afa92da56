namespace EQueue.Load.Scenarios;

/// <summary>
/// Acknowledged when durable: how group commit grows with the messages in flight. Nothing is consumed.
/// </summary>
internal sealed class SyncScenario : IScenario
{
    private const int StandardSize = 128;
    private const double StandardSeconds = 5;

    private static readonly int[] StandardInFlight = [1, 16, 64, 256, 1000, 10_000];

    public string Name => "sync";

    public string Summary =>
        "produce only, fdatasync before each receipt (128 B; 5 s; 1,16,64,256,1000,10000 in flight)";

    public LoadFlags Flags =>
        LoadFlags.Sizes | LoadFlags.Producers | LoadFlags.Queues | LoadFlags.Topics | LoadFlags.Seconds
        | LoadFlags.Messages | LoadFlags.Repeat | LoadFlags.Warmup | LoadFlags.Api | LoadFlags.Flush
        | LoadFlags.InFlights | LoadFlags.Server;

    public LoadFlags Unused => LoadFlags.NoLimit | LoadFlags.Consumers;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        var plans =
            (from size in options.Sizes ?? [StandardSize]
             from inFlight in options.InFlight ?? StandardInFlight
             select RunPlan.From(options, size) with
             {
                 Consumers = 0,
                 InFlight = inFlight,
                 Flush = options.Flush ?? FlushMode.Sync,
                 Seconds = options.Seconds ?? StandardSeconds,
                 WithLimit = false,
             }).ToList();
        plans.ForEach(plan => plan.Validate(options.Faults));
        foreach (RunPlan? plan in plans)
            await BrokerRuns.MeasureAsync(session, plan, afterRun: null, cancellationToken);
    }
}
