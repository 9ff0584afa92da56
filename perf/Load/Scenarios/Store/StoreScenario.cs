using EQueue.Load.Limit;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>The store alone, in the process of its producers; before or behind each run a bare loop.</summary>
internal sealed class StoreScenario : IScenario
{
    private const int StandardRepeat = 3;
    private const double StandardSeconds = 3;
    private const double StandardWarmup = 0.5;
    private const int StandardQueues = 4;
    private const int MaxQueues = 1000;
    private const string RestNote = "there is no network and no consumer";

    private static readonly int[] StandardSizes = [128, 1024, 65_536];

    public string Name => "store";

    public string Summary =>
        "append to the store in one process, beside a bare loop of writes (128,1024,65536 B; 3 s; async, sync, sync 1)";

    public LoadFlags Flags =>
        LoadFlags.Sizes | LoadFlags.Producers | LoadFlags.Queues | LoadFlags.Seconds | LoadFlags.Messages
        | LoadFlags.Repeat | LoadFlags.Warmup | LoadFlags.Flush;

    public LoadFlags Unused => LoadFlags.NoLimit | LoadFlags.Consumers | LoadFlags.Topics | LoadFlags.Api;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        if (LimitRun.Unavailable is not null)
            throw LoadException.MachineLimit("system", "the bare loop is measured on Linux only");
        LoadOptions options = session.Options;
        if (options.Queues > MaxQueues)
            throw LoadException.Usage($"store takes at most {MaxQueues} queues");
        if (options.Messages < (options.Producers ?? 1))
            throw LoadException.Usage($"--messages {options.Messages}: at least one for each producer");
        (FlushMode Flush, bool OneInFlight)[] modes =
            [(FlushMode.Async, false), (FlushMode.Sync, false), (FlushMode.Sync, true)];
        foreach (int size in options.Sizes ?? StandardSizes)
        {
            foreach ((FlushMode flush, bool oneInFlight) in modes)
            {
                if (options.Flush is not null && options.Flush != flush)
                    continue;
                int producers = oneInFlight ? 1 : options.Producers ?? 1;
                int queues = options.Queues ?? StandardQueues;
                var order = new StoreOrder(
                    flush, size, producers, queues, oneInFlight, options.Seed, options.Faults);
                await MeasureAsync(session, order, cancellationToken);
            }
        }
    }

    private static async Task MeasureAsync(LoadSession session, StoreOrder order, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        double seconds = options.Seconds ?? StandardSeconds;
        double warmup = options.Warmup ?? StandardWarmup;
        await using RoleProcess store = session.Start(RoleList.Store);
        await store.CallAsync("prepare", order, cancellationToken);
        if (warmup > 0)
            await MeasureOnceAsync(session, store, order, warmup, null, cancellationToken);
        var runs = new List<Figures>();
        int batchMessages = 0;
        for (int number = 1; number <= (options.Repeat ?? StandardRepeat); number++)
        {
            (AppendRunResult result, BareResult bare) = await MeasureOnceAsync(
                session, store, order, seconds, options.Messages, cancellationToken);
            batchMessages = result.BatchMessages;
            Figures figures = ToFigures(order, result);
            Verdict.Demand(session, Describe(options, order, batchMessages, seconds, warmup), figures, RestNote);
            SetBare(figures, order, bare);
            runs.Add(figures);
            LoadSession.Say(Tell(order, number, figures));
        }

        session.Report.Add(new ReportRow(
            Describe(options, order, batchMessages, seconds, warmup), runs, RestNote));
    }

    /// <summary>The store first: the bare loop writes as many bytes as the store did, as often made durable.</summary>
    private static async Task<(AppendRunResult Store, BareResult Bare)> MeasureOnceAsync(
        LoadSession session,
        RoleProcess store,
        StoreOrder order,
        double seconds,
        long? messages,
        CancellationToken cancellationToken)
    {
        string directory = session.Workspace.NewPath("store");
        AppendRunResult result = await store.CallAsync<AppendRunResult>(
            "append", new AppendOrder(directory, seconds, messages), cancellationToken);
        // Both begin with pages that were in use a moment ago: ones never touched cost several times as much.
        PageCache.Drop(directory);
        string file = session.Workspace.NewPath("bare");
        long? bytesPerSync = (order.Flush, order.OneInFlight) switch
        {
            (FlushMode.Async, _) => null,
            (_, true) => result.EntryBytes,
            _ => Math.Max(1, result.BytesWritten / Math.Max(1, result.Syncs)),
        };
        long bytes = order.OneInFlight ? result.Messages * result.EntryBytes : result.BytesWritten;
        BareResult bare = await store.CallAsync<BareResult>(
            "bare", new BareOrder(file, bytes, bytesPerSync), cancellationToken);
        // Not between the two: what the file system does to free the room would burden the second alone.
        Workspace.Remove(directory);
        Workspace.Remove(file);
        session.Workspace.Settle();
        return (result, bare);
    }

    private static Figures ToFigures(StoreOrder order, AppendRunResult result)
    {
        double seconds = (result.LastAckedNs - result.FirstSentNs) / 1e9;
        double bodyBytes = result.Messages * (double)order.Size;
        var figures = new Figures
        {
            [FigureNames.Messages] = result.Messages,
            [FigureNames.ElapsedSeconds] = seconds,
            [FigureNames.SendPerSecond] = result.Messages / seconds,
            [FigureNames.SendMBps] = bodyBytes / seconds / 1e6,
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

    private static void SetBare(Figures figures, StoreOrder order, BareResult bare)
    {
        figures[FigureNames.LimitMBps] = figures[FigureNames.Messages] * order.Size / bare.Seconds / 1e6;
        figures[FigureNames.RatioToLimit] = figures[FigureNames.SendMBps] / figures[FigureNames.LimitMBps];
        if (!order.OneInFlight)
        {
            double bytes = figures[FigureNames.BytesWritten]!.Value;
            figures.SetReference("bare loop, MB/s of the log", bytes / bare.Seconds / 1e6);
            return;
        }

        var bareSync = LatencyHistogram.From(bare.Sync);
        figures.SetReference("bare write and fdatasync, p50 us", bareSync.PercentileNs(50) / 1000.0);
        figures[FigureNames.ReferenceP99] = bareSync.PercentileNs(99) / 1000.0;
        figures[FigureNames.ReferenceRatio] =
            figures[FigureNames.Of(FigureNames.AckLatency, "p50")] / figures[FigureNames.ReferenceValue];
    }

    private static string Tell(StoreOrder order, int number, Figures figures)
    {
        string flush = order.Flush.ToString().ToLowerInvariant();
        string what = $"{order.Size} B, {flush} flush, {(order.OneInFlight ? "1 in flight" : "64 MB in flight")}";
        return order.OneInFlight
            ? $"{what}, run {number}: p50 {figures[FigureNames.Of(FigureNames.AckLatency, "p50")]:N0} us, bare "
                + $"{figures[FigureNames.ReferenceValue]:N0} us, ratio {figures[FigureNames.ReferenceRatio]:F2}"
            : $"{what}, run {number}: log {figures[FigureNames.DiskWriteMBps]:N0} MB/s, bare "
                + $"{figures[FigureNames.ReferenceValue]:N0} MB/s, ratio {figures[FigureNames.RatioToLimit]:F2}";
    }

    private static IReadOnlyList<(string Name, object? Value)> Describe(
        LoadOptions options, StoreOrder order, int batchMessages, double seconds, double warmup) =>
    [
        ("size", order.Size),
        ("producers", order.Producers),
        ("queues", order.Queues),
        ("flush", order.Flush.ToString().ToLowerInvariant()),
        ("inFlight", order.OneInFlight ? 1 : null),
        ("inFlightMB", order.OneInFlight ? null : 64),
        ("batchMessages", batchMessages),
        ("seconds", options.Messages is null ? seconds : null),
        ("messages", options.Messages),
        ("warmup", warmup),
        ("repeat", options.Repeat ?? StandardRepeat),
        ("seed", order.Seed),
    ];
}
