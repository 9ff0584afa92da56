using System.Buffers;
using System.Diagnostics.Metrics;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Queues kept in one append-only log on disk. Survives the death of its process and, with sync flush, a
/// power cut.</summary>
/// <remarks>
/// Thread-safe. One process per data directory. Everything that blocks runs on threads of the store's own. Appends are
/// acknowledged, and visible to readers, when the flush policy is met; nothing beyond that is ever given to a reader.
/// </remarks>
public sealed partial class QueueStore : IAsyncDisposable
{
    private readonly StoreOptions _options;
    private readonly IDisk _disk;
    private readonly IDisposable _directoryLock;
    private readonly WallClock _clock;
    private readonly CommitLog _log;
    private readonly StateAppender _state;
    private readonly TailReader _tailReader;
    private readonly DiskReader _diskReader;
    private readonly DiskThreads _diskThreads;
    private readonly OpenSegments _openSegments;
    private readonly StoredReader _storedReader;
    private readonly KeyFinder _keyFinder;
    private readonly StoreUpkeep _upkeep;
    private readonly Lock _closeLock = new();
    private Task? _closing;

    private QueueStore(StoreOpening opening, ILogger logger, TimeProvider time, Lead? lead)
    {
        (StoreOptions options, IDisk disk, _directoryLock, LogState state, RecoveredLog recovered) = opening;
        (_options, _disk) = (options, disk);
        string directory = LogFiles.LogDirectory(options.DataDirectory);
        _clock = new WallClock(time, logger, recovered.LastStoredTimeMs, recovered.ConfirmedMs);
        _log = new CommitLog(options, disk, directory, recovered, state, logger, time, _clock, lead);
        _state = new StateAppender(_log, options, _clock);
        _openSegments = new OpenSegments(disk, recovered.LogId);
        _diskThreads = new DiskThreads(options.ReaderThreads, options.ColdReadBytesPerSecond, () => _log.MessageBytes);
        _tailReader = new TailReader(_log);
        _storedReader = new StoredReader(_log, disk);
        var finder = new EntryFinder(_log, _openSegments);
        var skipper = new KeySkipper(finder, _openSegments);
        var indexes = new SealedIndexes(_log, options, disk, _openSegments, skipper, logger, time);
        var pages = new ColdPages(_log, disk, options.PageCacheBytes);
        var reader = new EntryReader(_log, _openSegments, pages);
        var lost = new LostSegments(_log, _openSegments, logger);
        _diskReader = new DiskReader(
            _log, _openSegments, finder, _diskThreads, reader, indexes.Rebuild, lost, logger);
        _keyFinder = new KeyFinder(_log, _diskReader, skipper);
        try
        {
            _log.Start();
            if (lead is null)
                _log.SetTime(options.AcceptClock);
            _upkeep = new StoreUpkeep(
                _log, options, disk, _clock, _openSegments, finder, indexes, lost, _diskReader, _state, logger, time);
            if (recovered.HasLostState)
                _upkeep.WantSnapshot();
        }
        catch
        {
            _log.Stop();
            _log.Dispose();
            throw;
        }

        Log.StoreOpened(
            logger, options.DataDirectory, Epoch, recovered.EndPosition, recovered.Segments.Count, state.Queues.Count);
    }

    /// <summary>Random id of the data directory, made once.</summary>
    public Guid StoreId => _log.StoreId;

    /// <summary>Rises at each opening; stamped in every entry.</summary>
    public int Epoch => _log.Epoch;

    /// <summary>How far the log has come.</summary>
    public LogWatermarks Watermarks => _log.Watermarks;

    /// <summary>Whether no messages are taken because there is too little room.</summary>
    public bool IsReadOnly => _log.IsReadOnly;

    /// <summary>What the store has done and what it is in.</summary>
    public StoreFigures Figures => _upkeep.AddTo(_log.Figures) with
    {
        MemoryReads = _tailReader.Reads,
        DiskReads = _diskReader.Reads,
    };

    /// <summary>Has the store record how long its writes and its fdatasyncs take, in seconds, from now on: one value
    /// for each call, on the threads that make them. Without a listener no clock is read.</summary>
    public void ReportDurations(Histogram<double> writes, Histogram<double> syncs) =>
        _log.ReportDurations(writes, syncs);

    /// <summary>Bytes of the memory that stages appends and serves readers of the newest ones.</summary>
    public long TailMemoryBytes => _log.Arena.Size;

    /// <summary>The bytes that one append request may hold, 48 for each batch included.</summary>
    public int MaxRequestBytes => _log.MaxRequestBytes;

    /// <summary>Completes when the store is closed; faults when a write failed and the store takes no more.</summary>
    public Task Completion => _log.Completion;

    /// <summary>The queues that exist.</summary>
    public IEnumerable<QueueView> Queues => _log.State.Queues.All.Select(queue => QueueView.Of(queue, _log));

    /// <summary>Opens (or makes) a store and brings everything back that it acknowledged.</summary>
    /// <param name="options">Where and how.</param>
    /// <param name="state">Is given its records before the task completes.</param>
    /// <param name="loggers">For the store's log lines.</param>
    /// <param name="timeProvider">Stored times and ages.</param>
    /// <param name="cancellationToken">Gives up; the directory stays one that can be opened.</param>
    /// <exception cref="ArgumentException">A setting is out of its range.</exception>
    /// <exception cref="DiskException">The directory is locked by another process, or cannot be read or
    /// written.</exception>
    /// <exception cref="StoreFormatException">Written by another version, or damaged beyond repair.</exception>
    public static Task<QueueStore> OpenAsync(
        StoreOptions options,
        IStateMachine state,
        ILoggerFactory loggers,
        TimeProvider timeProvider,
        CancellationToken cancellationToken) =>
        OpenAsync(options, state, loggers, timeProvider, lead: null, cancellationToken);

    /// <summary>Opens a store that leads replicas, or one of its own.</summary>
    /// <param name="options">Where and how.</param>
    /// <param name="state">Is given its records before the task completes, also those not committed yet.</param>
    /// <param name="loggers">For the store's log lines.</param>
    /// <param name="timeProvider">Stored times and ages.</param>
    /// <param name="lead">Ends the log at its first hole, shows readers what is committed, and begins no epoch before
    /// <see cref="StartLeading"/>; null = the store leads itself.</param>
    /// <param name="cancellationToken">Gives up; the directory stays one that can be opened.</param>
    /// <exception cref="ArgumentException">A setting is out of its range.</exception>
    /// <exception cref="ReplicaException">The epoch is not above all in the log, or the log has less than is said to be
    /// committed.</exception>
    /// <exception cref="DiskException">The directory is locked by another process, or cannot be read or
    /// written.</exception>
    /// <exception cref="StoreFormatException">Written by another version, or damaged beyond repair.</exception>
    public static Task<QueueStore> OpenAsync(
        StoreOptions options,
        IStateMachine state,
        ILoggerFactory loggers,
        TimeProvider timeProvider,
        Lead? lead,
        CancellationToken cancellationToken)
    {
        options.Validate();
        ILogger logger = loggers.CreateLogger("EQueue.MessageStore");
        return Task.Factory.StartNew(
            () => Open(
                StoreOpening.Run(options, state, logger, timeProvider, lead, cancellationToken),
                logger,
                timeProvider,
                lead),
            cancellationToken,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default);
    }

    /// <summary>Says whether queues take messages; all do until this says no. When it returns, nothing enters the log
    /// any more, but repetitions of what is stored are still answered as such. In memory only: to be said again after
    /// opening.</summary>
    /// <param name="queues">Those that do not exist are passed over.</param>
    /// <param name="isWritable">False: appends get QueueNotWritable.</param>
    public void SetWritable(IEnumerable<QueueId> queues, bool isWritable) => _log.SetWritable(queues, isWritable);

    /// <summary>What the producer's sequence says about a batch now, nothing else of it being looked at.</summary>
    /// <param name="queue">Where it would go.</param>
    /// <param name="batch">One encoded record batch.</param>
    /// <returns>None: it is the next one, or its producer has no sequences; DuplicateSequence, OutOfOrderSequence,
    /// ProducerFenced, UnknownProducer, InvalidBatch; QueueNotWritable: it is not stored and will not be now.</returns>
    public ErrorCode CheckSequence(QueueId queue, ReadOnlySpan<byte> batch) => _log.CheckSequence(queue, batch);

    /// <summary>Appends the batches of one request. Each item says for itself what became of it.</summary>
    /// <param name="items">At most <see cref="MaxRequestBytes"/>; more gives every item MessageTooLarge. Batches are
    /// lent until the call returns.</param>
    /// <param name="durability">The level that the waiter waits for.</param>
    /// <param name="waiter">Called once when the level is reached, if the result is Accepted; possibly before this
    /// returns.</param>
    /// <param name="mayWrite">Lets this thread, with async flush, write a small request itself while the store's writer
    /// rests, and call the waiters whom that concerns, other requests' too: it must hold no lock. The write takes some
    /// microseconds, or as long as the disk does not take it.</param>
    /// <remarks>Does not check the batches' CRC: that is the caller's (<see cref="RecordBatch.Check"/>).</remarks>
    public AppendStatus Append(
        Span<AppendItem> items, Durability durability, AppendWaiter waiter, bool mayWrite = false) =>
        _log.Append(items, durability, waiter, mayWrite);

    /// <summary>Completes when an append that was answered NoRoom is worth another try.</summary>
    public ValueTask WaitForRoomAsync(CancellationToken cancellationToken) =>
        new(_log.WaitForRoomAsync(cancellationToken));

    /// <summary>One queue as it stands now; false when it never was or was removed.</summary>
    public bool TryGetQueue(QueueId id, out QueueView view)
    {
        if (id != QueueId.State && _log.State.Queues.FindVisible(id) is { } queue)
        {
            view = QueueView.Of(queue, _log);
            return true;
        }
        view = default;
        return false;
    }

    /// <summary>Gives entries of a queue from memory only: no system call, no lock.</summary>
    /// <param name="queue">The queue.</param>
    /// <param name="from">The first entry given holds it.</param>
    /// <param name="maxBytes">Of all entries; a first entry larger than that is given all the same.</param>
    /// <param name="destination">Gets whole entries back to back: 48-byte header (more when its byte 33 says so) and
    /// the batch.</param>
    public ReadResult Read(QueueId queue, QueueOffset from, int maxBytes, IBufferWriter<byte> destination) =>
        _tailReader.Read(queue, from, maxBytes, TagBits.Unknown, destination);

    /// <summary>The same, but passes over entries without a wanted tag: by the index alone, none of their bytes are
    /// read.</summary>
    /// <param name="queue">The queue.</param>
    /// <param name="from">Nothing before it is given, but for what its entry holds.</param>
    /// <param name="maxBytes">Of all entries; a first entry larger than that is given all the same.</param>
    /// <param name="tagMask">Entries none of whose tag bits are in it are passed over; 0 or all ones: none.</param>
    /// <param name="destination">Gets whole entries back to back: 48-byte header (more when its byte 33 says so) and
    /// the batch.</param>
    /// <remarks>One call passes over at most 4,096 entries; NextOffset of the result says how far it came.</remarks>
    public ReadResult Read(
        QueueId queue, QueueOffset from, int maxBytes, uint tagMask, IBufferWriter<byte> destination) =>
        _tailReader.Read(queue, from, maxBytes, tagMask, destination);

    /// <inheritdoc cref="ReadFromDiskAsync(QueueId, QueueOffset, int, uint, IBufferWriter{byte}, CancellationToken)"/>
    public ValueTask<ReadResult> ReadFromDiskAsync(
        QueueId queue,
        QueueOffset from,
        int maxBytes,
        IBufferWriter<byte> destination,
        CancellationToken cancellationToken) =>
        ReadFromDiskAsync(queue, from, maxBytes, TagBits.Unknown, destination, cancellationToken);

    /// <summary>Gives entries of a queue from disk, checked by CRC, on the store's reader threads.</summary>
    /// <param name="queue">The queue.</param>
    /// <param name="from">The first entry given holds it, unless that one is passed over.</param>
    /// <param name="maxBytes">Of all entries; a first entry larger than that is given all the same.</param>
    /// <param name="tagMask">Entries none of whose tag bits are in it are passed over; 0 or all ones: none.</param>
    /// <param name="destination">Lent until the task completes; written on a thread of the store.</param>
    /// <param name="cancellationToken">Looked at before the read begins.</param>
    /// <remarks>One call passes over at most 8,192 entries; NextOffset of the result says how far it came.</remarks>
    public ValueTask<ReadResult> ReadFromDiskAsync(
        QueueId queue,
        QueueOffset from,
        int maxBytes,
        uint tagMask,
        IBufferWriter<byte> destination,
        CancellationToken cancellationToken) =>
        new(_diskReader.ReadAsync(queue, from, maxBytes, tagMask, destination, cancellationToken));

    /// <summary>What cold reads may take of the disk now, bytes a second; infinite without appends.</summary>
    public double ColdReadBudget => _diskThreads.Budget;

    /// <summary>Asks to be told once when something at or after <paramref name="from"/> is visible, or the queue is
    /// gone.</summary>
    /// <returns>False when that is so now: the signal is not called.</returns>
    public bool Watch(QueueId queue, QueueOffset from, ReadySignal signal) => _log.Watch(queue, from, signal);

    /// <summary>Takes a watch back; a call may be under way.</summary>
    public void Unwatch(QueueId queue, ReadySignal signal) => _log.Unwatch(queue, signal);

    /// <summary>The first offset of the first batch stored at or after a time (Unix ms), else the visible
    /// end.</summary>
    /// <exception cref="EQueueException">UnknownQueue.</exception>
    public ValueTask<QueueOffset> FindOffsetAsync(
        QueueId queue, long storedTimeMs, CancellationToken cancellationToken) =>
        new(_diskReader.FindOffsetAsync(queue, storedTimeMs, cancellationToken));

    /// <summary>When the batch that holds an offset was stored (Unix ms), else the next one that is left; null when
    /// none is visible.</summary>
    /// <exception cref="EQueueException">UnknownQueue.</exception>
    public ValueTask<long?> FindStoredTimeAsync(
        QueueId queue, QueueOffset offset, CancellationToken cancellationToken) =>
        _diskReader.FindStoredTimeAsync(queue, offset, cancellationToken);

    /// <summary>Takes no more appends, finishes what was accepted, writes a snapshot and the clean marker,
    /// closes.</summary>
    public ValueTask DisposeAsync()
    {
        lock (_closeLock)
        {
            _closing ??= CloseAsync();
            return new ValueTask(_closing);
        }
    }

    private static QueueStore Open(StoreOpening opening, ILogger logger, TimeProvider time, Lead? lead)
    {
        try
        {
            return new QueueStore(opening, logger, time, lead);
        }
        catch
        {
            opening.Lock.Dispose();
            throw;
        }
    }

    private async Task CloseAsync()
    {
        await _upkeep.StopDecidingAsync();
        await Task.Factory.StartNew(
            Close, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
    }

    private void Close()
    {
        _upkeep.Stop();
        _log.Stop();
        _diskThreads.Stop();
        try
        {
            if (_log.Fault is null)
                _upkeep.Finish();
        }
        finally
        {
            _openSegments.Dispose();
            _upkeep.Dispose();
            _log.Dispose();
            _directoryLock.Dispose();
        }
    }
}
