namespace EQueue.Load.Scenarios;

/// <summary>
/// A topic whose backlog is bounded: one producer and one consumer at full speed beside the same without a bound, then
/// ten times as many producers as a slow consumer can follow.
/// </summary>
internal sealed class BackPressureScenario : IScenario
{
    private const int Depth = 128;
    private const int StandardSize = 128;
    private const int StandardProducers = 10;
    private const int SlowConsumer = 20_000;
    private const int InFlightOfMany = 1_000;

    public string Name => "backpressure";

    public string Summary =>
        $"a backlog bounded at {Depth} messages: 1 + 1, the same unbounded, 10 producers and a slow consumer (128 B; 10 s)";

    public LoadFlags Flags =>
        LoadFlags.Sizes | LoadFlags.Producers | LoadFlags.Queues | LoadFlags.Topics | LoadFlags.Seconds
        | LoadFlags.Messages | LoadFlags.Repeat | LoadFlags.Warmup | LoadFlags.Api | LoadFlags.Flush
        | LoadFlags.InFlight | LoadFlags.Rate | LoadFlags.Server;

    public LoadFlags Unused => LoadFlags.NoLimit | LoadFlags.Consumers;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        foreach (int size in options.Sizes ?? [StandardSize])
        {
            RunPlan bounded = RunPlan.From(options, size) with
            {
                Producers = 1,
                Consumers = 1,
                MaxBacklog = Depth,
                WithLimit = false,
            };
            RunPlan[] plans =
            [
                bounded,
                bounded with { MaxBacklog = null },
                bounded with
                {
                    Producers = options.Producers ?? StandardProducers,
                    ConsumeRate = SlowConsumer,
                    InFlight = options.InFlight?[0] ?? InFlightOfMany,
                },
            ];
            foreach (RunPlan plan in plans)
            {
                plan.Validate(options.Faults);
                await BrokerRuns.MeasureAsync(session, plan, afterRun: null, cancellationToken);
            }
        }
    }
}
