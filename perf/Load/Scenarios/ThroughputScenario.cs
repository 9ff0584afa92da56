namespace EQueue.Load.Scenarios;

/// <summary>Producers and consumers at the same time, as fast as they go; a row per body size.</summary>
internal sealed class ThroughputScenario : IScenario
{
    private static readonly int[] StandardSizes = [128, 512, 1024, 2048];

    public string Name => "throughput";

    public string Summary =>
        "send and consume at the same time, every message checked (128,512,1024,2048 B; 10 s; async)";

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        var options = session.Options;
        if (options.InFlight is { Count: > 1 })
            throw LoadException.Usage("throughput takes one --in-flight");
        if (options.Rates is { Count: > 1 })
            throw LoadException.Usage("throughput takes one --rate; 'latency' goes through several");
        var plans = (options.Sizes ?? StandardSizes).Select(size => RunPlan.From(options, size)).ToList();
        plans.ForEach(plan => plan.Validate(options.Plant));
        foreach (var plan in plans)
            await BrokerRuns.MeasureAsync(session, plan, afterRun: null, cancellationToken);
    }
}
