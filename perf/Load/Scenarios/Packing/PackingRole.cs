using System.Text.Json;
using EQueue.Load.Consuming;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;
using EQueue.MessageStore;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Load.Scenarios;

/// <summary>
/// A store with one producer, one long-lived queue and many short-lived ones, in one process: <c>prepare</c> with a
/// <see cref="StoreOrder"/>, then <c>run</c> with a <see cref="PackingOrder"/> at will.
/// </summary>
internal sealed class PackingRole : IRole
{
    public const int SegmentBytes = 16 << 20;

    private static readonly TimeSpan LetGoInterval = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan MaxSettleTime = TimeSpan.FromSeconds(60);

    /// <summary>Without a change for so long, the cleaner has no more to do: longer than it waits for anything.</summary>
    private static readonly TimeSpan QuietTime = TimeSpan.FromSeconds(3);

    private StoreOrder? _order;
    private BatchRing? _ring;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "run")
            return await RunAsync(RoleJson.Read<PackingOrder>(argument), cancellationToken);
        _order = RoleJson.Read<StoreOrder>(argument);
        _ring = new BatchRing(_order, 0);
        return null;
    }

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;

    private async Task<PackingResult> RunAsync(PackingOrder order, CancellationToken cancellationToken)
    {
        var options = new StoreOptions
        {
            DataDirectory = order.Directory,
            FlushPolicy = _order!.Flush == FlushMode.Sync ? FlushPolicy.Sync : FlushPolicy.Async,
            SegmentSizeBytes = SegmentBytes,
            SnapshotInterval = TimeSpan.FromSeconds(1),
        };
        await using QueueStore store = await QueueStore.OpenAsync(
            options, new RawState(), NullLoggerFactory.Instance, TimeProvider.System, cancellationToken);
        QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, _order.Queues, [], cancellationToken);
        var lane = new AppendLane(store, _ring!, queues, _order);
        StoreFigures before = store.Figures;
        var start = ProcessFigures.Take();
        long firstSentNs = Clock.NowNs;
        await AppendAsync(store, lane, order, cancellationToken);
        var end = ProcessFigures.Take();
        StoreFigures after = store.Figures;

        double settleSeconds = order.KeepCount is { } kept
            ? await SettleAsync(store, order.Directory, kept, cancellationToken)
            : 0;
        var space = LogSpace.Measure(order.Directory);
        StoreFigures settled = store.Figures;
        (CheckResult check, long liveBytes) = await CheckAsync(store, queues, lane.Batches, order.KeepCount, cancellationToken);
        return new PackingResult(
            lane.Batches * _ring!.BatchMessages,
            _ring.BatchMessages,
            firstSentNs,
            lane.LastAckedNs,
            after.BytesWritten - before.BytesWritten,
            after.Syncs - before.Syncs,
            space.Bytes,
            space.ReplayBytes,
            liveBytes,
            settled.SegmentsRemoved,
            settled.SegmentsPacked,
            settleSeconds,
            lane.Ack.ToCounts(),
            check,
            start,
            end);
    }

    private async Task AppendAsync(
        QueueStore store, AppendLane lane, PackingOrder order, CancellationToken cancellationToken)
    {
        long batches = order.Messages is { } messages
            ? (messages + _ring!.BatchMessages - 1) / _ring.BatchMessages
            : long.MaxValue;
        double? batchesPerSecond = order.RatePerSecond is { } rate ? (double)rate / _ring!.BatchMessages : null;
        long deadlineNs = order.Messages is null ? Clock.NowNs + (long)(order.Seconds * 1e9) : long.MaxValue;
        using var stopping = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        Task lettingGo = order.KeepCount is { } keepCount
            ? LetGoAsync(store, keepCount, stopping.Token)
            : Task.CompletedTask;
        try
        {
            await Task.Run(
                () => lane.RunAsync(batches, deadlineNs, batchesPerSecond, cancellationToken), cancellationToken);
        }
        finally
        {
            await stopping.CancelAsync();
            await lettingGo;
        }
    }

    /// <summary>As a broker does, only more often, until it is told to stop.</summary>
    private static async Task LetGoAsync(QueueStore store, int keepCount, CancellationToken stopping)
    {
        using var timer = new PeriodicTimer(LetGoInterval);
        try
        {
            while (await timer.WaitForNextTickAsync(stopping))
                await ApplyAsync(store, keepCount, CancellationToken.None);
        }
        catch (OperationCanceledException) when (stopping.IsCancellationRequested)
        {
            // The appends are over.
        }
    }

    private static Task<int> ApplyAsync(QueueStore store, int keepCount, CancellationToken cancellationToken) =>
        store.ApplyRetentionAsync(
            queue => queue.Number == 0 ? default : new RetentionLimits(Count: keepCount), cancellationToken);

    /// <summary>Lets the last go and waits until the cleaner has no more to do, or has had its time.</summary>
    /// <returns>Seconds from the begin to the last change.</returns>
    private static async Task<double> SettleAsync(
        QueueStore store, string directory, int keepCount, CancellationToken cancellationToken)
    {
        long startNs = Clock.NowNs;
        await ApplyAsync(store, keepCount, cancellationToken);
        ((int Segments, long Removed, long Packed, long Snapshots) seen, long changedNs) = (Progress(store), Clock.NowNs);
        while (Clock.NowNs - changedNs < QuietTime.TotalNanoseconds
            && Clock.NowNs - startNs < MaxSettleTime.TotalNanoseconds)
        {
            await Task.Delay(50, cancellationToken);
            (int Segments, long Removed, long Packed, long Snapshots) now = Progress(store);
            if (now != seen || LogSpace.Measure(directory).HasUnfinished)
                (seen, changedNs) = (now, Clock.NowNs);
        }

        return (changedNs - startNs) / 1e9;
    }

    private static (int Segments, long Removed, long Packed, long Snapshots) Progress(QueueStore store)
    {
        StoreFigures figures = store.Figures;
        return (figures.Segments, figures.SegmentsRemoved, figures.SegmentsPacked, figures.Snapshots);
    }

    private async Task<(CheckResult Check, long LiveBytes)> CheckAsync(
        QueueStore store, QueueId[] queues, long batches, int? keepCount, CancellationToken cancellationToken)
    {
        long[] starts = new long[queues.Length];
        for (int number = 0; number < queues.Length; number++)
        {
            long end = KeptBatchChecker.EndOf(number, queues.Length, batches, _ring!);
            starts[number] = number == 0 || keepCount is null ? 0 : Math.Max(0, end - keepCount.Value);
            if (!store.TryGetQueue(queues[number], out QueueView view)
                || (view.Start.Value, view.End.Value) != (starts[number], end))
            {
                throw LoadException.WrongData(
                    $"wrong data: queue {number} keeps {view.Start} to {view.End}, not {starts[number]} to {end}");
            }
        }

        var checker = new KeptBatchChecker(_ring!, starts, batches);
        Observer observer = _order!.Faults == Faults.None || keepCount is null
            ? checker.Observe
            : new FaultInjector(_order.Faults, checker.Observe).Observe;
        await StoreReadBack.RunAsync(store, queues, observer, cancellationToken);
        return (checker.Judge(), checker.EntryBytes);
    }
}
