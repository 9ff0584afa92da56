using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>State records, queues, producers, and the appends that await their own end.</summary>
public sealed partial class QueueStore
{
    private const int ProducersForgottenAtOnce = 64;

    /// <summary>What producers take in memory, for duplicate detection.</summary>
    public long ProducerBytes => _log.State.Producers.Bytes;

    // State appends come one after the other: the encoder's buffer is theirs, and so is the order of what they decide.
    private readonly Lock _stateLock = new();
    private readonly StateBatchEncoder _stateEncoder = new();

    /// <summary>Appends state records as one atomic batch; applied to the state machine before this returns
    /// Accepted.</summary>
    /// <param name="records">1 or more, of kinds 64 to 255; together at most <see cref="MaxRequestBytes"/> - 1 KiB
    /// encoded.</param>
    /// <param name="waiter">Called once when the flush policy is met, if the result is Accepted.</param>
    /// <exception cref="EQueueException">StoreFaulted or ShuttingDown.</exception>
    public AppendStatus AppendState(ReadOnlySpan<StateEntry> records, AppendWaiter waiter)
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
        return AppendAnyState(records, Durability.Policy, waiter);
    }

    /// <summary>Appends one batch, checked here, and completes when <paramref name="durability"/> is reached; waits
    /// for room.</summary>
    /// <param name="queue">Where it goes.</param>
    /// <param name="batch">One encoded record batch; lent until the task completes.</param>
    /// <param name="durability">The level to wait for.</param>
    /// <param name="cancellationToken">Gives up only before the batch is staged, so the loan always ends with the
    /// task.</param>
    /// <exception cref="EQueueException">With the code of what went wrong.</exception>
    public async ValueTask<AppendResult> AppendAsync(
        QueueId queue, ReadOnlyMemory<byte> batch, Durability durability, CancellationToken cancellationToken)
    {
        if (RecordBatch.Check(batch.Span, out _) is var error and not ErrorCode.None)
            throw new EQueueException(error);
        var items = new AppendItem[] { new() { Queue = queue, Batch = batch, TagBits = uint.MaxValue } };
        var waiter = new TaskWaiter();
        AppendStatus status;
        while ((status = Append(items, durability, waiter)) == AppendStatus.NoRoom)
            await WaitForRoomAsync(cancellationToken);
        if (status == AppendStatus.Nothing)
            throw _log.Fault ?? new EQueueException(items[0].Error);
        await waiter.Task;
        return new AppendResult(
            items[0].FirstOffset, items[0].StoredTimeMs, items[0].Epoch, items[0].Error == ErrorCode.DuplicateSequence);
    }

    /// <summary>Appends state records as one atomic batch; completes when the flush policy is met; waits for
    /// room.</summary>
    /// <exception cref="EQueueException">StoreFaulted or ShuttingDown.</exception>
    public async Task AppendStateAsync(IReadOnlyList<StateEntry> records, CancellationToken cancellationToken)
    {
        StateEntry[] entries = [.. records];
        var waiter = new TaskWaiter();
        while (AppendState(entries, waiter) == AppendStatus.NoRoom)
            await WaitForRoomAsync(cancellationToken);
        await waiter.Task;
    }

    /// <summary>Makes queues and appends the caller's records with them in one atomic batch; completes when the flush
    /// policy is met.</summary>
    /// <param name="topic">The topic that the queues belong to.</param>
    /// <param name="firstNumber">Number of the first one inside the topic.</param>
    /// <param name="count">How many, 1 or more.</param>
    /// <param name="together">Records of the state machine; may be empty.</param>
    /// <param name="cancellationToken">Gives up only before anything is staged.</param>
    /// <returns>The ids, in the order of numbers.</returns>
    /// <exception cref="EQueueException">TooManyQueues, StoreFaulted, ShuttingDown.</exception>
    public async Task<QueueId[]> OpenQueuesAsync(
        TopicId topic,
        int firstNumber,
        int count,
        IReadOnlyList<StateEntry> together,
        CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(count, 1);
        ArgumentOutOfRangeException.ThrowIfNegative(firstNumber);
        QueueTable queues = _log.State.Queues;
        if (queues.Count + (long)count > _options.MaxQueues)
        {
            throw new EQueueException(
                ErrorCode.TooManyQueues,
                $"The store holds {queues.Count} queues of at most {_options.MaxQueues}; found {count} more.");
        }
        uint firstId = _log.Locked(() =>
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
        await AppendAnyStateAsync(entries, Durability.Policy, cancellationToken);
        return ids;
    }

    /// <summary>Removes queues and appends the caller's records with them in one atomic batch; completes when the
    /// flush policy is met.</summary>
    /// <param name="queues">Those that do not exist are passed over by replay as they are here.</param>
    /// <param name="together">Records of the state machine; may be empty.</param>
    /// <param name="cancellationToken">Gives up only before anything is staged.</param>
    /// <remarks>Watchers of the queues are told. The bytes stay on disk until retention takes them.</remarks>
    public Task RemoveQueuesAsync(
        IReadOnlyList<QueueId> queues, IReadOnlyList<StateEntry> together, CancellationToken cancellationToken)
    {
        StateEntry[] entries = [.. queues.Select(LogState.RemoveQueue), .. together];
        return RemoveAsync();

        async Task RemoveAsync()
        {
            await AppendAnyStateAsync(entries, Durability.Policy, cancellationToken);
            _cleaner.Wake();
        }
    }

    /// <inheritdoc cref="InitProducerAsync(ProducerSession, Func{long}, CancellationToken)"/>
    public ValueTask<ProducerSession> InitProducerAsync(
        ProducerSession known, CancellationToken cancellationToken) =>
        InitProducerAsync(known, ids: null, cancellationToken);

    /// <summary>Gives a producer id, or the next epoch of one; durable before it is given out.</summary>
    /// <param name="known">
    /// <see cref="ProducerSession.None"/> for a new id; a session for the same id with the next epoch, which fences the
    /// older one and starts at sequence 0 in every queue. An id that the store no longer knows, or whose epochs are
    /// used up, gives a new id.
    /// </param>
    /// <param name="ids">Makes a new id, 0 or more and such as none can guess, again when it is in use; null = random
    /// ones.</param>
    /// <param name="cancellationToken">Gives up only before anything is staged.</param>
    /// <exception cref="EQueueException">ProducerFenced: a newer epoch was given out; StoreFaulted,
    /// ShuttingDown.</exception>
    public async ValueTask<ProducerSession> InitProducerAsync(
        ProducerSession known, Func<long>? ids, CancellationToken cancellationToken)
    {
        var waiter = new TaskWaiter();
        while (AppendProducer(known, ids, waiter) == AppendStatus.NoRoom)
            await WaitForRoomAsync(cancellationToken);
        await waiter.Task;
        return waiter.Session;
    }

    private AppendStatus AppendProducer(ProducerSession known, Func<long>? ids, TaskWaiter waiter)
    {
        // Decided and applied under one lock: two calls never get the same epoch.
        lock (_stateLock)
        {
            StateEntry[] entries = _log.Locked(() => DecideProducer(known, ids, waiter));
            return AppendAnyState(entries, Durability.Durable, waiter);
        }
    }

    private StateEntry[] DecideProducer(ProducerSession known, Func<long>? ids, TaskWaiter waiter)
    {
        ProducerTable producers = _log.State.Producers;
        long nowMs = _clock.NowMs();
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
            .. Forget(_options.MaxProducers, null),
        ];

        IEnumerable<StateEntry> Forget(int maxCount, ProducerState? except) =>
            producers.FindForgotten(maxCount, ProducersForgottenAtOnce, except)
                .Select(one => LogState.RemoveProducer(one.Id));
    }

    private async Task AppendAnyStateAsync(
        StateEntry[] entries, Durability durability, CancellationToken cancellationToken)
    {
        var waiter = new TaskWaiter();
        while (AppendAnyState(entries, durability, waiter) == AppendStatus.NoRoom)
            await WaitForRoomAsync(cancellationToken);
        await waiter.Task;
    }

    private AppendStatus AppendAnyState(ReadOnlySpan<StateEntry> entries, Durability durability, AppendWaiter waiter)
    {
        if (entries.IsEmpty)
            throw new ArgumentException("A state batch has at least one record.", nameof(entries));
        lock (_stateLock)
        {
            ReadOnlySpan<byte> batch = _stateEncoder.Encode(entries, _clock.NowMs()).Span;
            long largest = Math.Min(_log.MaxRequestBytes, _options.SegmentSizeBytes) - 1024;
            if (batch.Length > largest)
            {
                throw new ArgumentException(
                    $"{batch.Length} bytes of state records; at most {largest} fit into one batch.", nameof(entries));
            }
            return _log.AppendState(batch, entries.Length, entries, durability, waiter);
        }
    }

    /// <summary>A waiter that a task stands for.</summary>
    private sealed class TaskWaiter : AppendWaiter
    {
        private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Task Task => _done.Task;

        public ProducerSession Session { get; set; }

        protected internal override void OnCompleted(Exception? fault)
        {
            if (fault is null)
            {
                _done.TrySetResult();
            }
            else
            {
                _done.TrySetException(fault);
            }
        }
    }
}
