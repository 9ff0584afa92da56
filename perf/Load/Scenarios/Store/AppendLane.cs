using EQueue.Load.Measuring;
using EQueue.MessageStore;

namespace EQueue.Load.Scenarios;

/// <summary>One producer of a store run: requests of several batches, as Produce requests come to a broker.</summary>
/// <remarks>One flow of control. Like the broker it waits when the store has no room.</remarks>
internal sealed class AppendLane
{
    /// <summary>Bytes that a client has under way.</summary>
    private const long MaxInFlightBytes = 64_000_000;

    private readonly QueueStore _store;
    private readonly BatchRing _ring;
    private readonly QueueId[] _queues;
    private readonly AppendRequest[] _requests;

    public AppendLane(QueueStore store, BatchRing ring, QueueId[] queues, StoreOrder order)
    {
        _store = store;
        _ring = ring;
        _queues = queues;
        int entryBytes = ring.BatchBytes + StoreReadBack.EntryHeaderBytes;
        int batchCount = order.OneInFlight ? 1 : Math.Clamp(store.MaxRequestBytes / entryBytes, 1, queues.Length);
        long requestCount = order.OneInFlight ? 1 : MaxInFlightBytes / order.Producers / (batchCount * entryBytes);
        _requests = new AppendRequest[Math.Max(1, requestCount)];
        foreach (ref AppendRequest request in _requests.AsSpan())
            request = new AppendRequest(batchCount, Ack);
    }

    /// <summary>Batches accepted.</summary>
    public long Batches { get; private set; }

    /// <summary>When the store said that the last of them is there, on <see cref="Clock"/>.</summary>
    public long LastAckedNs => _requests.Max(request => request.DoneNs);

    public LatencyHistogram Ack { get; } = new();

    /// <summary>Appends until the time is over or the count is reached, and until all of it is there.</summary>
    /// <param name="batches">At most; the last request may exceed it.</param>
    /// <param name="deadlineNs">On <see cref="Clock"/>.</param>
    /// <param name="batchesPerSecond">Null: as many as the store takes. Else requests leave when they are due, and
    /// their latency counts from then.</param>
    /// <param name="cancellationToken">Ends the run.</param>
    public async Task RunAsync(
        long batches, long deadlineNs, double? batchesPerSecond, CancellationToken cancellationToken)
    {
        int next = 0;
        long startNs = Clock.NowNs;
        while (Batches < batches && Clock.NowNs < deadlineNs)
        {
            long? dueNs = batchesPerSecond is { } rate ? startNs + (long)(Batches * 1e9 / rate) : null;
            if (dueNs >= deadlineNs)
                break;
            await WaitUntilAsync(dueNs ?? startNs, cancellationToken);
            AppendRequest request = _requests[next];
            next = next + 1 == _requests.Length ? 0 : next + 1;
            await request.WaitAsync();
            await AppendAsync(request, dueNs, cancellationToken);
        }

        foreach (AppendRequest request in _requests)
            await request.WaitAsync();
    }

    private static async ValueTask WaitUntilAsync(long dueNs, CancellationToken cancellationToken)
    {
        for (long waitNs = dueNs - Clock.NowNs; waitNs > 0; waitNs = dueNs - Clock.NowNs)
            await Task.Delay(TimeSpan.FromMilliseconds(Math.Ceiling(waitNs / 1e6)), cancellationToken);
    }

    private async ValueTask AppendAsync(AppendRequest request, long? dueNs, CancellationToken cancellationToken)
    {
        for (int i = 0; i < request.Items.Length; i++)
        {
            request.Items[i] = new AppendItem
            {
                Queue = _queues[(Batches + i) % _queues.Length],
                Batch = _ring.Batch(Batches + i),
                TagBits = uint.MaxValue,
            };
        }

        request.Begin(dueNs ?? Clock.NowNs);
        AppendStatus status;
        while ((status = _store.Append(request.Items, Durability.Policy, request)) == AppendStatus.NoRoom)
            await _store.WaitForRoomAsync(cancellationToken);
        ErrorCode error = request.Items.FirstOrDefault(item => item.Error != ErrorCode.None).Error;
        if (error == ErrorCode.StorageFull)
            throw LoadException.MachineLimit("disk", "the store takes no more");
        if (status == AppendStatus.Nothing || error != ErrorCode.None)
            throw LoadException.Failed($"the store refused a batch: {error}");
        Batches += request.Items.Length;
    }
}
