using System.Buffers;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Queues kept in one append-only log on disk. Survives the death of its process and, with sync flush, a power cut.</summary>
/// <remarks>
/// Thread-safe. One process per data directory. Everything that blocks runs on threads of the store's own.
/// </remarks>
public sealed class QueueStore : IAsyncDisposable
{
    private QueueStore()
    {
    }

    /// <summary>Random id of the data directory, made once.</summary>
    public Guid StoreId => throw new NotSupportedException();

    /// <summary>Rises at each opening; stamped in every entry.</summary>
    public int Epoch => throw new NotSupportedException();

    /// <summary>How far the log has come.</summary>
    public LogWatermarks Watermarks => throw new NotSupportedException();

    /// <summary>What the store has done and what it is in.</summary>
    public StoreFigures Figures => throw new NotSupportedException();

    /// <summary>The bytes that one append request may hold, 48 for each batch included.</summary>
    public int MaxRequestBytes => throw new NotSupportedException();

    /// <summary>Completes when the store is closed; faults when a write failed and the store takes no more.</summary>
    public Task Completion => throw new NotSupportedException();

    /// <summary>The queues that exist.</summary>
    public IEnumerable<QueueView> Queues => throw new NotSupportedException();

    /// <summary>Opens (or makes) a store and brings everything back that it acknowledged.</summary>
    /// <param name="options">Where and how.</param>
    /// <param name="state">Is given its records before the task completes.</param>
    /// <param name="loggers">For the store's log lines.</param>
    /// <param name="timeProvider">Stored times and ages.</param>
    /// <param name="cancellationToken">Gives up; the directory is as it was.</param>
    /// <exception cref="ArgumentException">A setting is out of its range.</exception>
    /// <exception cref="DiskException">The directory is locked by another process, or cannot be read or written.</exception>
    /// <exception cref="InvalidDataException">Written by a later version, or state is damaged beyond repair.</exception>
    public static Task<QueueStore> OpenAsync(
        StoreOptions options,
        IStateMachine state,
        ILoggerFactory loggers,
        TimeProvider timeProvider,
        CancellationToken cancellationToken) => throw new NotSupportedException();

    /// <summary>Appends the batches of one request. Each item says for itself what became of it.</summary>
    /// <param name="items">At most <see cref="MaxRequestBytes"/>; more gives every item MessageTooLarge.</param>
    /// <param name="durability">The level that the waiter waits for.</param>
    /// <param name="waiter">Called once when the level is reached, if the result is Accepted.</param>
    public AppendStatus Append(Span<AppendItem> items, Durability durability, AppendWaiter waiter) =>
        throw new NotSupportedException();

    /// <summary>Completes when an append that was answered NoRoom is worth another try.</summary>
    public ValueTask WaitForRoomAsync(CancellationToken cancellationToken) => throw new NotSupportedException();

    /// <summary>Appends state records as one atomic batch; applied to the state machine before this returns Accepted.</summary>
    public AppendStatus AppendState(ReadOnlySpan<StateEntry> records, AppendWaiter waiter) =>
        throw new NotSupportedException();

    /// <summary>Appends one batch, checked here, and completes when <paramref name="durability"/> is reached; waits for room.</summary>
    /// <exception cref="EQueueException">With the code of what went wrong.</exception>
    public ValueTask<AppendResult> AppendAsync(
        QueueId queue, ReadOnlyMemory<byte> batch, Durability durability, CancellationToken cancellationToken) =>
        throw new NotSupportedException();

    /// <summary>Appends state records as one atomic batch; completes when the flush policy is met.</summary>
    public Task AppendStateAsync(IReadOnlyList<StateEntry> records, CancellationToken cancellationToken) =>
        throw new NotSupportedException();

    /// <summary>Makes queues and appends the caller's records with them in one atomic batch; completes when the flush policy is met.</summary>
    public Task<QueueId[]> OpenQueuesAsync(
        TopicId topic,
        int firstNumber,
        int count,
        IReadOnlyList<StateEntry> together,
        CancellationToken cancellationToken) => throw new NotSupportedException();

    /// <summary>Removes queues and appends the caller's records with them in one atomic batch; completes when the flush policy is met.</summary>
    public Task RemoveQueuesAsync(
        IReadOnlyList<QueueId> queues, IReadOnlyList<StateEntry> together, CancellationToken cancellationToken) =>
        throw new NotSupportedException();

    /// <summary>One queue as it stands now.</summary>
    public bool TryGetQueue(QueueId id, out QueueView view) => throw new NotSupportedException();

    /// <summary>Gives whole entries (48-byte header and batch) of a queue, back to back, from memory only; the first holds <paramref name="from"/>.</summary>
    public ReadResult Read(QueueId queue, QueueOffset from, int maxBytes, IBufferWriter<byte> destination) =>
        throw new NotSupportedException();

    /// <summary>The same from disk where needed, checked by CRC, on the store's reader threads.</summary>
    public ValueTask<ReadResult> ReadFromDiskAsync(
        QueueId queue,
        QueueOffset from,
        int maxBytes,
        IBufferWriter<byte> destination,
        CancellationToken cancellationToken) => throw new NotSupportedException();

    /// <summary>Asks to be told once when something at or after <paramref name="from"/> is visible.</summary>
    /// <returns>False when it is now (or the queue does not exist): the signal is not called.</returns>
    public bool Watch(QueueId queue, QueueOffset from, ReadySignal signal) => throw new NotSupportedException();

    /// <summary>Takes a watch back; a call may be under way.</summary>
    public void Unwatch(QueueId queue, ReadySignal signal) => throw new NotSupportedException();

    /// <summary>The first offset of the first batch stored at or after a time, else the visible end.</summary>
    public ValueTask<QueueOffset> FindOffsetAsync(
        QueueId queue, long storedTimeMs, CancellationToken cancellationToken) => throw new NotSupportedException();

    /// <summary>Gives a new producer id, or the same id with the next epoch, which fences the older one. Durable before it is given out.</summary>
    public ValueTask<ProducerSession> InitProducerAsync(ProducerSession known, CancellationToken cancellationToken) =>
        throw new NotSupportedException();

    /// <summary>Takes no more appends, finishes what was accepted, writes a snapshot and the clean marker, closes.</summary>
    public ValueTask DisposeAsync() => throw new NotSupportedException();
}
