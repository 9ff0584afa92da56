using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <content>State records, queues and producers, and the appends that await their own end.</content>
public sealed partial class QueueStore
{
    /// <summary>What producers take in memory, for duplicate detection.</summary>
    public long ProducerBytes => _log.State.Producers.Bytes;

    /// <summary>Appends state records as one atomic batch; applied to the state machine before this returns
    /// Accepted.</summary>
    /// <param name="records">1 or more, of kinds 64 to 255; together at most <see cref="MaxRequestBytes"/> - 1 KiB
    /// encoded.</param>
    /// <param name="waiter">Called once when the flush policy is met, if the result is Accepted.</param>
    /// <exception cref="EQueueException">StoreFaulted or ShuttingDown.</exception>
    public AppendStatus AppendState(ReadOnlySpan<StateEntry> records, AppendWaiter waiter) =>
        _state.Append(records, waiter);

    /// <summary>Appends one batch, checked here, and completes when <paramref name="durability"/> is reached; waits
    /// for room.</summary>
    /// <param name="queue">Where it goes.</param>
    /// <param name="batch">One encoded record batch; lent until the task completes.</param>
    /// <param name="durability">The level to wait for.</param>
    /// <param name="cancellationToken">Gives up only before the batch is staged, so the loan always ends with the
    /// task.</param>
    /// <exception cref="EQueueException">With the code of what went wrong.</exception>
    public ValueTask<AppendResult> AppendAsync(
        QueueId queue, ReadOnlyMemory<byte> batch, Durability durability, CancellationToken cancellationToken) =>
        AwaitedAppend.RunAsync(_log, queue, batch, durability, cancellationToken);

    /// <summary>Appends state records as one atomic batch; completes when the flush policy is met; waits for
    /// room.</summary>
    /// <exception cref="EQueueException">StoreFaulted or ShuttingDown.</exception>
    public Task AppendStateAsync(IReadOnlyList<StateEntry> records, CancellationToken cancellationToken) =>
        _state.AppendAsync(records, cancellationToken);

    /// <summary>Makes queues and appends the caller's records with them in one atomic batch; completes when the flush
    /// policy is met.</summary>
    /// <param name="topic">The topic that the queues belong to.</param>
    /// <param name="firstNumber">Number of the first one inside the topic.</param>
    /// <param name="count">How many, 1 or more.</param>
    /// <param name="together">Records of the state machine; may be empty.</param>
    /// <param name="cancellationToken">Gives up only before anything is staged.</param>
    /// <returns>The ids, in the order of numbers.</returns>
    /// <exception cref="EQueueException">TooManyQueues, StoreFaulted, ShuttingDown.</exception>
    public Task<QueueId[]> OpenQueuesAsync(
        TopicId topic,
        int firstNumber,
        int count,
        IReadOnlyList<StateEntry> together,
        CancellationToken cancellationToken) =>
        _state.OpenQueuesAsync(topic, firstNumber, count, together, cancellationToken);

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
            await _state.AppendAnyAsync(entries, Durability.Policy, cancellationToken);
            _upkeep.WakeCleaner();
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
    public ValueTask<ProducerSession> InitProducerAsync(
        ProducerSession known, Func<long>? ids, CancellationToken cancellationToken) =>
        _state.InitProducerAsync(known, ids, cancellationToken);
}
