using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <content>Retention: the starts of queues move at once, by state records; files go in the background.</content>
public sealed partial class QueueStore
{
    /// <summary>Starts moved by one state batch.</summary>
    private const int StartsPerBatch = 1_000;

    private readonly SemaphoreSlim _retention = new(1);
    private readonly RetentionPlanner _planner;

    /// <summary>Is told of all messages that go; <see langword="null"/>: none is.</summary>
    public IDeletionWatch? DeletionWatch { get; set; }

    /// <summary>Moves the first offset that may be read of queues forward; completes when the flush policy is
    /// met.</summary>
    /// <param name="starts">A start behind the present one moves nothing, one beyond the visible end moves to it;
    /// queues that do not exist are passed over.</param>
    /// <param name="cancellationToken">Gives up between batches of 1,000 queues.</param>
    /// <returns>How many queues moved.</returns>
    /// <exception cref="EQueueException">StoreFaulted or ShuttingDown.</exception>
    /// <exception cref="DiskException">An index file cannot be read.</exception>
    public Task<int> MoveStartsAsync(
        IReadOnlyList<(QueueId Queue, QueueOffset Start)> starts, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(starts);
        return DecideAsync(
            () => starts.Select(one => (_log.State.Queues.Find(one.Queue), one.Start.Value))
                .Where(one => one.Item1 is { } queue && queue.Id != QueueId.State)
                .Select(one => new Move(one.Item1!, one.Value, DeletionCause.Asked)),
            cancellationToken);
    }

    /// <summary>
    /// Moves the starts of all queues to what their limits keep, and past the oldest messages when the log takes more
    /// than <see cref="StoreOptions.MaxLogBytes"/>. Call it now and then: nothing goes without.
    /// </summary>
    /// <param name="limits">What a queue keeps; called on a thread of the store.</param>
    /// <param name="cancellationToken">Gives up between batches of 1,000 queues.</param>
    /// <returns>How many queues moved.</returns>
    /// <exception cref="EQueueException">StoreFaulted or ShuttingDown.</exception>
    /// <exception cref="DiskException">An index file cannot be read.</exception>
    public Task<int> ApplyRetentionAsync(
        Func<QueueView, RetentionLimits> limits, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(limits);
        return DecideAsync(() => DecideStarts(limits), cancellationToken);
    }

    /// <summary>Moves the starts of queues past the oldest messages when the log takes more than it may, and nothing
    /// else: cheap enough for every second.</summary>
    /// <param name="cancellationToken">Gives up between batches of 1,000 queues.</param>
    /// <returns>How many queues moved.</returns>
    /// <exception cref="EQueueException">StoreFaulted or ShuttingDown.</exception>
    /// <exception cref="DiskException">An index file cannot be read.</exception>
    public Task<int> ApplyBoundAsync(CancellationToken cancellationToken) =>
        _log.TotalBytes <= _log.Bound.Find()
            ? Task.FromResult(0)
            : DecideAsync(
                () => WithWholeIndexes(_cleaner.FindOverflow)
                    .Select(one => (Queue: _log.State.Queues.Find(one.Key), Start: one.Value))
                    .Where(one => one.Queue is not null)
                    .Select(one => new Move(one.Queue!, one.Start, DeletionCause.LogSize)),
                cancellationToken);

    /// <summary>Bytes of a queue's entries that end in a range of offsets, their headers included: an entry counts
    /// in the range that holds its last message.</summary>
    /// <param name="queue">The queue; 0 bytes if it does not exist.</param>
    /// <param name="from">The first offset.</param>
    /// <param name="to">The offset after the last.</param>
    /// <param name="cancellationToken">Gives up before it begins.</param>
    /// <exception cref="DiskException">An index file cannot be read.</exception>
    public Task<long> SumBytesAsync(
        QueueId queue, QueueOffset from, QueueOffset to, CancellationToken cancellationToken) =>
        Task.Factory.StartNew(
            () => _log.State.Queues.Find(queue) is { } found
                ? WithWholeIndexes(() => _planner.SumBytes(found, from.Value, to.Value))
                : 0,
            cancellationToken,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default);

    /// <summary>Lets go of as many of the oldest messages as room is missing for one more segment.</summary>
    private Task<int> LetOldestGoAsync(CancellationToken cancellationToken)
    {
        string directory = LogFiles.LogDirectory(_options.DataDirectory);
        long missing = _options.EffectiveReserveBytes + _options.SegmentSizeBytes - _disk.FreeBytes(directory);
        return DecideAsync(
            () => WithWholeIndexes(() => _cleaner.FindOldest(missing))
                .Select(one => (_log.State.Queues.Find(one.Key), one.Value))
                .Where(one => one.Item1 is not null)
                .Select(one => new Move(one.Item1!, one.Value, DeletionCause.MemoryFull)),
            cancellationToken);
    }

    private IEnumerable<Move> DecideStarts(Func<QueueView, RetentionLimits> limits)
    {
        long nowMs = _clock.ExpiryNowMs();
        Dictionary<QueueId, long> overflow = WithWholeIndexes(_cleaner.FindOverflow);
        foreach (Queue queue in _log.State.Queues.All)
        {
            RetentionLimits kept = limits(ViewOf(queue));
            long? oldestMs = kept.Age is { } age && _clock.MayExpire(age) ? nowMs - (long)age.TotalMilliseconds : null;
            DeletionCause cause = default;
            long start = WithWholeIndexes(() => _planner.FindStart(queue, kept, oldestMs, out cause));
            long behind = overflow.GetValueOrDefault(queue.Id);
            yield return behind > start
                ? new Move(queue, behind, DeletionCause.LogSize)
                : new Move(queue, start, cause);
        }
    }

    /// <summary>The one gate in front of all messages that go. One decision at a time: each counts bytes from where the
    /// one before it left the start.</summary>
    private async Task<int> DecideAsync(Func<IEnumerable<Move>> decide, CancellationToken cancellationToken)
    {
        await _retention.WaitAsync(cancellationToken);
        try
        {
            var ranges = new List<DeletedRange>();
            List<StateEntry> entries = await Task.Factory.StartNew(
                () => ToRecords(decide(), ranges),
                cancellationToken,
                TaskCreationOptions.LongRunning,
                TaskScheduler.Default);
            if (ranges.Count > 0)
                DeletionWatch?.BeforeDeletion(ranges);
            for (int first = 0; first < entries.Count; first += StartsPerBatch)
            {
                StateEntry[] batch = [.. entries.Skip(first).Take(StartsPerBatch)];
                await AppendAnyStateAsync(batch, Durability.Policy, cancellationToken);
            }

            if (ranges.Count > 0)
                DeletionWatch?.AfterDeletion(ranges);
            if (entries.Count > 0)
                _cleaner.Wake();
            if (entries.Count > 0 && _log.IsReadOnly)
                _keeper.Wake();
            return entries.Count;
        }
        finally
        {
            _retention.Release();
        }
    }

    private List<StateEntry> ToRecords(IEnumerable<Move> moves, List<DeletedRange> ranges)
    {
        var entries = new List<StateEntry>();
        foreach ((Queue queue, long wanted, DeletionCause cause) in moves)
        {
            long from = queue.Start;
            long start = Math.Min(wanted, queue.VisibleEnd(_log.Visible));
            if (start <= from)
                continue;
            long bytes = queue.StartBytes + WithWholeIndexes(() => _planner.SumBytes(queue, from, start));
            entries.Add(LogState.SetStart(queue.Id, new QueueOffset(start), bytes));
            ranges.Add(new DeletedRange(queue.Id, new QueueOffset(from), new QueueOffset(start), cause));
        }

        return entries;
    }

    /// <summary>A start that is to move.</summary>
    private readonly record struct Move(Queue Queue, long Start, DeletionCause Cause);

    private T WithWholeIndexes<T>(Func<T> lookUp) => _diskReader.WithWholeIndexes(lookUp);
}
