using System.Text.Json;
using EQueue.Load.Consuming;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;
using EQueue.MessageStore;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Load.Scenarios;

/// <summary>
/// A store and its producers in one process, without a network: <c>prepare</c> with a <see cref="StoreOrder"/>, then
/// <c>append</c> with an <see cref="AppendOrder"/> and <c>bare</c> with a <see cref="BareOrder"/> at will.
/// </summary>
internal sealed class StoreRole : IRole
{
    private StoreOrder? _order;
    private BatchRing[] _rings = [];

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        switch (command)
        {
            case "append":
                return await AppendAsync(RoleJson.Read<AppendOrder>(argument), cancellationToken);
            case "bare":
                return await Task.Run(() => WriteBare(RoleJson.Read<BareOrder>(argument)), cancellationToken);
            default:
                _order = RoleJson.Read<StoreOrder>(argument);
                _rings = [.. Enumerable.Range(0, _order.Producers).Select(number => new BatchRing(_order, number))];
                return null;
        }
    }

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;

    private BareResult WriteBare(BareOrder order)
    {
        using var writer = new BareWriter(order, _rings[0]);
        return writer.Run();
    }

    private async Task<AppendRunResult> AppendAsync(AppendOrder order, CancellationToken cancellationToken)
    {
        var options = new StoreOptions
        {
            DataDirectory = order.Directory,
            FlushPolicy = _order!.Flush == FlushMode.Sync ? FlushPolicy.Sync : FlushPolicy.Async,
        };
        await using QueueStore store = await QueueStore.OpenAsync(
            options, new RawState(), NullLoggerFactory.Instance, TimeProvider.System, cancellationToken);
        QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, _order.Queues, [], cancellationToken);
        AppendLane[] lanes = _rings.Select(ring => new AppendLane(store, ring, queues, _order)).ToArray();
        long batches = order.Messages is { } messages
            ? BatchesFor(messages)
            : long.MaxValue;

        StoreFigures before = store.Figures;
        var start = ProcessFigures.Take();
        long firstSentNs = Clock.NowNs;
        long deadlineNs = order.Messages is null ? firstSentNs + (long)(order.Seconds * 1e9) : long.MaxValue;
        await Task.WhenAll(lanes.Select(
            lane => Task.Run(() => lane.RunAsync(batches, deadlineNs, null, cancellationToken), cancellationToken)));
        var end = ProcessFigures.Take();
        StoreFigures after = store.Figures;

        var ack = new LatencyHistogram();
        foreach (AppendLane? lane in lanes)
            ack.Add(lane.Ack.ToCounts());
        return new AppendRunResult(
            lanes.Sum(lane => lane.Batches) * _rings[0].BatchMessages,
            _rings[0].BatchMessages,
            _rings[0].BatchBytes + StoreReadBack.EntryHeaderBytes,
            firstSentNs,
            lanes.Max(lane => lane.LastAckedNs),
            after.BytesWritten - before.BytesWritten,
            after.Syncs - before.Syncs,
            ack.ToCounts(),
            await CheckAsync(store, queues, [.. lanes.Select(lane => lane.Batches)], cancellationToken),
            start,
            end);
    }

    /// <summary>Each producer's share of a counted run, in whole batches.</summary>
    private long BatchesFor(long messages)
    {
        long perBatch = (long)_rings.Length * _rings[0].BatchMessages;
        return (messages + perBatch - 1) / perBatch;
    }

    private async Task<CheckResult> CheckAsync(
        QueueStore store, QueueId[] queues, long[] batches, CancellationToken cancellationToken)
    {
        var checker = new StoredBatchChecker(_rings, queues.Length);
        Observer observer = _order!.Faults == Faults.None
            ? checker.Observe
            : new FaultInjector(_order.Faults, checker.Observe).Observe;
        await StoreReadBack.RunAsync(store, queues, observer, cancellationToken);
        return checker.Judge(batches);
    }
}
