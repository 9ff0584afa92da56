using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Appends state records: the caller's, and those that make and remove queues and producers.</summary>
/// <remarks>Thread-safe. State appends come one after the other: the encoder's buffer is theirs, and so is the order of
/// what they decide.</remarks>
internal sealed class StateAppender(CommitLog log, StoreOptions options, WallClock clock)
{
    private const int ProducersForgottenAtOnce = 64;

    private readonly Lock _gate = new();
    private readonly StateBatchEncoder _encoder = new();

    /// <inheritdoc cref="QueueStore.AppendState"/>
    public AppendStatus Append(ReadOnlySpan<StateEntry> records, AppendWaiter waiter)
    {
        foreach (ref readonly StateEntry record in records)
        {
            if (record.Kind < StateRecord.FirstMachineKind)
            {
                throw new ArgumentException(
                    $"Kinds below {StateRecord.FirstMachineKind} are the store's; found {record.Kind}.",
                    nameof(records));
            }
        }
        return AppendAny(records, Durability.Policy, waiter);
    }

    /// <inheritdoc cref="QueueStore.AppendStateAsync"/>
    public async Task AppendAsync(IReadOnlyList<StateEntry> records, CancellationToken cancellationToken)
    {
        StateEntry[] entries = [.. records];
        var waiter = new TaskWaiter();
        while (Append(entries, waiter) == AppendStatus.NoRoom)
            await log.WaitForRoomAsync(cancellationToken);
        await waiter.Task;
    }

    /// <summary>Appends records of any kind as one atomic batch; completes when <paramref name="durability"/> is
    /// reached; waits for room.</summary>
    public async Task AppendAnyAsync(
        StateEntry[] entries, Durability durability, CancellationToken cancellationToken)
    {
        var waiter = new TaskWaiter();
        while (AppendAny(entries, durability, waiter) == AppendStatus.NoRoom)
            await log.WaitForRoomAsync(cancellationToken);
        await waiter.Task;
    }

    /// <inheritdoc cref="QueueStore.OpenQueuesAsync"/>
    public async Task<QueueId[]> OpenQueuesAsync(
        TopicId topic,
        int firstNumber,
        int count,
        IReadOnlyList<StateEntry> together,
        CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(count, 1);
        ArgumentOutOfRangeException.ThrowIfNegative(firstNumber);
        QueueTable queues = log.State.Queues;
        if (queues.Count + (long)count > options.MaxQueues)
        {
            throw new EQueueException(
                ErrorCode.TooManyQueues,
                $"The store holds {queues.Count} queues of at most {options.MaxQueues}; found {count} more.");
        }
        uint firstId = log.Locked(() =>
        {
            uint id = queues.NextId;
            queues.NextId = id + (uint)count;
            return id;
        });
        var ids = new QueueId[count];
        var entries = new StateEntry[count + together.Count];
        for (int i = 0; i < count; i++)
        {
            ids[i] = new QueueId(firstId + (uint)i);
            entries[i] = LogState.OpenQueue(ids[i], topic, firstNumber + i);
        }
        for (int i = 0; i < together.Count; i++)
            entries[count + i] = together[i];
        await AppendAnyAsync(entries, Durability.Policy, cancellationToken);
        return ids;
    }

    /// <inheritdoc cref="QueueStore.InitProducerAsync(ProducerSession, Func{long}, CancellationToken)"/>
    public async ValueTask<ProducerSession> InitProducerAsync(
        ProducerSession known, Func<long>? ids, CancellationToken cancellationToken)
    {
        var waiter = new TaskWaiter();
        while (AppendProducer(known, ids, waiter) == AppendStatus.NoRoom)
            await log.WaitForRoomAsync(cancellationToken);
        await waiter.Task;
        return waiter.Session;
    }

    private AppendStatus AppendProducer(ProducerSession known, Func<long>? ids, TaskWaiter waiter)
    {
        // Decided and applied under one lock: two calls never get the same epoch.
        lock (_gate)
        {
            StateEntry[] entries = log.Locked(() => DecideProducer(known, ids, waiter));
            return AppendAny(entries, Durability.Durable, waiter);
        }
    }

    private StateEntry[] DecideProducer(ProducerSession known, Func<long>? ids, TaskWaiter waiter)
    {
        ProducerTable producers = log.State.Producers;
        long nowMs = clock.NowMs();
        ProducerState? producer = known.IsIdempotent ? producers.Find(known.Id) : null;
        if (producer is not null && known.Epoch != producer.Epoch)
        {
            throw new EQueueException(
                ErrorCode.ProducerFenced, $"Producer {known.Id} has epoch {producer.Epoch}; found {known.Epoch}.");
        }
        if (producer is not null && producer.Epoch < short.MaxValue)
        {
            waiter.Session = new ProducerSession(producer.Id, (short)(producer.Epoch + 1));
            return [LogState.SetProducer(waiter.Session, nowMs), .. Forget(int.MaxValue, producer)];
        }
        waiter.Session = new ProducerSession(producers.NewId(ids), 0);
        return
        [
            LogState.SetProducer(waiter.Session, nowMs),
            .. Forget(options.MaxProducers, null),
        ];

        IEnumerable<StateEntry> Forget(int maxCount, ProducerState? except) =>
            producers.FindForgotten(maxCount, ProducersForgottenAtOnce, except)
                .Select(one => LogState.RemoveProducer(one.Id));
    }

    private AppendStatus AppendAny(ReadOnlySpan<StateEntry> entries, Durability durability, AppendWaiter waiter)
    {
        if (entries.IsEmpty)
            throw new ArgumentException("A state batch has at least one record.", nameof(entries));
        lock (_gate)
        {
            ReadOnlySpan<byte> batch = _encoder.Encode(entries, clock.NowMs()).Span;
            long largest = Math.Min(log.MaxRequestBytes, options.SegmentSizeBytes) - 1024;
            if (batch.Length > largest)
            {
                throw new ArgumentException(
                    $"{batch.Length} bytes of state records; at most {largest} fit into one batch.", nameof(entries));
            }
            return log.AppendState(batch, entries.Length, entries, durability, waiter);
        }
    }
}
