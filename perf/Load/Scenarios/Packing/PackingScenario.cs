using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>What it costs to remove and pack segments while appends go on, and what room it leaves.</summary>
internal sealed class PackingScenario : IScenario
{
    private const int StandardSize = 1024;
    private const int StandardRate = 100_000;
    private const int StandardRepeat = 3;
    private const double StandardSeconds = 5;
    private const double StandardWarmup = 0.5;

    /// <summary>The first is long-lived.</summary>
    private const int Queues = 16;

    /// <summary>Records that each of the others keeps.</summary>
    private const int KeepCount = 1000;

    private const string RestNote = "there is no network and no consumer";

    public string Name => "packing";

    public string Summary =>
        "append while segments are packed, beside a run that lets nothing go (1 KB; 5 s; unpaced, 100,000/s)";

    public LoadFlags Flags =>
        LoadFlags.Sizes | LoadFlags.Seconds | LoadFlags.Messages | LoadFlags.Repeat | LoadFlags.Warmup
        | LoadFlags.Flush | LoadFlags.Rates;

    public LoadFlags Unused => LoadFlags.NoLimit | LoadFlags.Consumers | LoadFlags.Topics | LoadFlags.Api;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        foreach (int size in options.Sizes ?? [StandardSize])
        {
            var order = new StoreOrder(
                options.Flush ?? FlushMode.Async, size, 1, Queues, OneInFlight: false, options.Seed, options.Faults);
            await MeasureAsync(session, order, null, cancellationToken);
            foreach (int rate in options.Rates ?? [StandardRate])
                await MeasureAsync(session, order, rate, cancellationToken);
        }
    }

    private static async Task MeasureAsync(
        LoadSession session, StoreOrder order, int? rate, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        var plan = new PackingOrder("", options.Seconds ?? StandardSeconds, options.Messages, rate, null);
        double warmup = options.Warmup ?? StandardWarmup;
        await using RoleProcess store = session.Start(RoleList.Packing);
        await store.CallAsync("prepare", order, cancellationToken);
        if (warmup > 0)
            await RunAsync(session, store, plan with { Seconds = warmup, Messages = null }, cancellationToken);
        var runs = new List<Figures>();
        IReadOnlyList<(string Name, object? Value)> parameters = [];
        for (int number = 1; number <= (options.Repeat ?? StandardRepeat); number++)
        {
            // In turns: each is as often the one that finds the other's room just freed.
            bool isReferenceFirst = number % 2 == 1;
            PackingResult first = await RunAsync(
                session, store, plan with { KeepCount = isReferenceFirst ? null : KeepCount }, cancellationToken);
            PackingResult second = await RunAsync(
                session, store, plan with { KeepCount = isReferenceFirst ? KeepCount : null }, cancellationToken);
            (PackingResult reference, PackingResult packed) = isReferenceFirst ? (first, second) : (second, first);
            parameters = Describe(options, order, plan, warmup, packed.BatchMessages);
            foreach (PackingResult? result in new[] { reference, packed })
                Verdict.Demand(session, parameters, ToFigures(order, result), RestNote);
            Figures figures = ToFigures(order, packed);
            SetReference(figures, ToFigures(order, reference));
            SetSpace(figures, packed);
            runs.Add(figures);
            LoadSession.Say(Tell(order, rate, number, figures));
        }

        session.Report.Add(new ReportRow(parameters, runs, RestNote));
    }

    private static async Task<PackingResult> RunAsync(
        LoadSession session, RoleProcess store, PackingOrder plan, CancellationToken cancellationToken)
    {
        string directory = session.Workspace.NewPath("packing");
        PackingResult result = await store.CallAsync<PackingResult>(
            "run", plan with { Directory = directory }, cancellationToken);
        Workspace.Remove(directory);
        session.Workspace.Settle();
        return result;
    }

    private static Figures ToFigures(StoreOrder order, PackingResult result)
    {
        double seconds = (result.LastAckedNs - result.FirstSentNs) / 1e9;
        var figures = new Figures
        {
            [FigureNames.Messages] = result.Messages,
            [FigureNames.ElapsedSeconds] = seconds,
            [FigureNames.SendPerSecond] = result.Messages / seconds,
            [FigureNames.SendMBps] = result.Messages * (double)order.Size / seconds / 1e6,
            [FigureNames.DiskWriteMBps] = result.BytesWritten / seconds / 1e6,
            [FigureNames.BytesWritten] = result.BytesWritten,
            [FigureNames.Fdatasyncs] = result.Syncs,
            [FigureNames.FdatasyncsPerSecond] = result.Syncs / seconds,
            [FigureNames.MessagesPerFdatasync] = (double)result.Messages / result.Syncs,
        };
        figures.SetLatency(FigureNames.AckLatency, LatencyHistogram.From(result.Ack));
        figures.SetProcess(FigureNames.Broker, result.Start, result.End, result.Messages);
        figures.SetCheck(result.Check);
        return figures;
    }

    private static void SetReference(Figures figures, Figures reference)
    {
        figures.SetReference(
            "the same appends, nothing let go: messages/s (p99: us)", reference[FigureNames.SendPerSecond]!.Value);
        figures[FigureNames.ReferenceP99] = reference[FigureNames.Of(FigureNames.AckLatency, "p99")];
        figures[FigureNames.ReferenceRatio] =
            figures[FigureNames.SendPerSecond] / figures[FigureNames.ReferenceValue];
    }

    private static void SetSpace(Figures figures, PackingResult result)
    {
        figures[FigureNames.LogBytes] = result.LogBytes;
        figures[FigureNames.ReplayBytes] = result.ReplayBytes;
        figures[FigureNames.LiveBytes] = result.LiveBytes;
        figures[FigureNames.LogToLive] = (double)result.LogBytes / result.LiveBytes;
        figures[FigureNames.SettledToLive] = (double)(result.LogBytes - result.ReplayBytes) / result.LiveBytes;
        figures[FigureNames.SegmentsRemoved] = result.SegmentsRemoved;
        figures[FigureNames.SegmentsPacked] = result.SegmentsPacked;
        figures[FigureNames.SettleSeconds] = result.SettleSeconds;
    }

    private static string Tell(StoreOrder order, int? rate, int number, Figures figures) =>
        $"{order.Size} B, {(rate is null ? "unpaced" : $"{rate:N0}/s")}, run {number}: "
        + $"{figures[FigureNames.SendPerSecond]:N0} msg/s, nothing let go {figures[FigureNames.ReferenceValue]:N0}, "
        + $"ratio {figures[FigureNames.ReferenceRatio]:F2}; log {figures[FigureNames.LogBytes] / 1e6:N0} MB "
        + $"(replay {figures[FigureNames.ReplayBytes] / 1e6:N0}), live {figures[FigureNames.LiveBytes] / 1e6:N0} MB; "
        + $"{figures[FigureNames.SegmentsPacked]:N0} packed, {figures[FigureNames.SegmentsRemoved]:N0} removed, "
        + $"settled after {figures[FigureNames.SettleSeconds]:F1} s";

    private static IReadOnlyList<(string Name, object? Value)> Describe(
        LoadOptions options, StoreOrder order, PackingOrder plan, double warmup, int batchMessages) =>
    [
        ("size", order.Size),
        ("producers", order.Producers),
        ("queues", order.Queues),
        ("keepCount", KeepCount),
        ("segmentBytes", PackingRole.SegmentBytes),
        ("flush", order.Flush.ToString().ToLowerInvariant()),
        ("inFlightMB", 64),
        ("rate", plan.RatePerSecond),
        ("batchMessages", batchMessages),
        ("seconds", options.Messages is null ? plan.Seconds : null),
        ("messages", options.Messages),
        ("warmup", warmup),
        ("repeat", options.Repeat ?? StandardRepeat),
        ("seed", order.Seed),
    ];
}
