using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Sockets;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Messages sent when they are due, at rates far below the limit; beside each row a bare socket paced alike.
/// </summary>
internal sealed class LatencyScenario : IScenario
{
    private const int StandardSize = 128;
    private const double StandardSeconds = 5;

    /// <summary>In its first seconds a client is compiled anew beside its work: docs/notes/latency.md.</summary>
    private const double StandardWarmup = 12;

    private static readonly int[] StandardRates = [100, 1000, 10_000, 100_000];

    public string Name => "latency";

    public string Summary =>
        "open loop at fixed rates, from the time a message is due (128 B; 5 s after 12 s of warm-up; 100,1000,10000,100000/s)";

    public LoadFlags Flags =>
        LoadFlags.Sizes | LoadFlags.Producers | LoadFlags.Consumers | LoadFlags.Queues | LoadFlags.Topics
        | LoadFlags.Seconds | LoadFlags.Repeat | LoadFlags.Warmup | LoadFlags.Flush | LoadFlags.Rates
        | LoadFlags.Server | LoadFlags.Curves;

    public LoadFlags Unused => LoadFlags.NoLimit | LoadFlags.Api | LoadFlags.InFlights;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        if ((options.Sizes ?? []).Any(size => size < BodyStamp.SizeWithTimestamp))
            throw LoadException.Usage($"latency needs bodies of at least {BodyStamp.SizeWithTimestamp} bytes");
        IReadOnlyList<int> rates = options.Rates ?? StandardRates;
        FlushMode[] flushModes = options.Flush is { } flush ? [flush] : [FlushMode.Async, FlushMode.Sync];
        var plans =
            (from size in options.Sizes ?? [StandardSize]
             from mode in flushModes
             from rate in rates
             select RunPlan.From(options with { Rates = rates }, size) with
             {
                 Flush = mode,
                 Rate = rate,
                 Seconds = options.Seconds ?? StandardSeconds,
                 Warmup = options.Warmup ?? StandardWarmup,
                 WithLimit = false,
             }).ToList();
        plans.ForEach(plan => plan.Validate(options.Faults));
        foreach (RunPlan? plan in plans)
        {
            await BrokerRuns.MeasureAsync(session, plan, AddReferenceAsync, cancellationToken);

            async Task AddReferenceAsync(Figures figures)
            {
                var order = new EchoOrder(0, plan.Size, plan.Rate, plan.Seconds, plan.Warmup);
                EchoResult echo = await SocketReference.EchoAsync(session, order, cancellationToken);
                figures.SetReference("bare socket ping-pong paced alike, round trip p50 us", echo.P50Us);
                figures[FigureNames.ReferenceP99] = echo.P99Us;
            }
        }
    }
}
