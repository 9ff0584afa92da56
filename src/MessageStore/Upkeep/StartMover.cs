namespace EQueue.MessageStore;

/// <summary>Moves the starts of queues: at once, by state records. The cleaner removes the files that have become
/// free.</summary>
/// <remarks>Thread-safe. The one gate in front of all messages that go.</remarks>
internal sealed class StartMover : IDisposable
{
    /// <summary>Starts moved by one state batch.</summary>
    private const int StartsPerBatch = 1_000;

    private readonly CommitLog _log;
    private readonly StoreOptions _options;
    private readonly IDisk _disk;
    private readonly WallClock _clock;
    private readonly DiskReader _reader;
    private readonly StateAppender _state;
    private readonly LogCleaner _cleaner;
    private readonly LogKeeper _keeper;
    private readonly RetentionPlanner _planner;
    private readonly SemaphoreSlim _gate = new(1);

    /// <param name="log">Whose queues.</param>
    /// <param name="options">What room is to be left.</param>
    /// <param name="disk">Where.</param>
    /// <param name="clock">What ages are counted from.</param>
    /// <param name="reader">Makes indexes again that cannot be used.</param>
    /// <param name="state">Takes the records.</param>
    /// <param name="cleaner">Knows what is too much, and removes it.</param>
    /// <param name="keeper">Woken when the log is full: snapshots give room as well.</param>
    /// <param name="planner">Finds the starts.</param>
    public StartMover(
        CommitLog log,
        StoreOptions options,
        IDisk disk,
        WallClock clock,
        DiskReader reader,
        StateAppender state,
        LogCleaner cleaner,
        LogKeeper keeper,
        RetentionPlanner planner)
    {
        (_log, _options, _disk, _clock, _reader) = (log, options, disk, clock, reader);
        (_state, _cleaner, _keeper, _planner) = (state, cleaner, keeper, planner);
    }

    /// <inheritdoc cref="QueueStore.DeletionWatch"/>
    public IDeletionWatch? Watch { get; set; }

    /// <inheritdoc cref="QueueStore.MoveStartsAsync"/>
    public Task<int> MoveAsync(
        IReadOnlyList<(QueueId Queue, QueueOffset Start)> starts, CancellationToken cancellationToken) =>
        DecideAsync(
            () => starts.Select(one => (_log.State.Queues.Find(one.Queue), one.Start.Value))
                .Where(one => one.Item1 is { } queue && queue.Id != QueueId.State)
                .Select(one => new Move(one.Item1!, one.Value, DeletionCause.Asked)),
            cancellationToken);

    /// <inheritdoc cref="QueueStore.ApplyRetentionAsync"/>
    public Task<int> ApplyLimitsAsync(
        Func<QueueView, RetentionLimits> limits, CancellationToken cancellationToken) =>
        DecideAsync(() => DecideStarts(limits), cancellationToken);

    /// <inheritdoc cref="QueueStore.ApplyBoundAsync"/>
    public Task<int> ApplyBoundAsync(CancellationToken cancellationToken) =>
        _log.TotalBytes <= _log.Bound.Find()
            ? Task.FromResult(0)
            : DecideAsync(
                () => WithWholeIndexes(_cleaner.FindOverflow)
                    .Select(one => (Queue: _log.State.Queues.Find(one.Key), Start: one.Value))
                    .Where(one => one.Queue is not null)
                    .Select(one => new Move(one.Queue!, one.Start, DeletionCause.LogSize)),
                cancellationToken);

    /// <summary>Moves the starts past as many of the oldest messages as room is missing for one more segment.</summary>
    public Task<int> ApplyRoomAsync(CancellationToken cancellationToken)
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

    /// <inheritdoc cref="QueueStore.SumBytesAsync"/>
    public Task<long> SumBytesAsync(
        QueueId queue, QueueOffset from, QueueOffset to, CancellationToken cancellationToken) =>
        Task.Factory.StartNew(
            () => _log.State.Queues.Find(queue) is { } found
                ? WithWholeIndexes(() => _planner.SumBytes(found, from.Value, to.Value))
                : 0,
            cancellationToken,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default);

    public void Dispose() => _gate.Dispose();

    private IEnumerable<Move> DecideStarts(Func<QueueView, RetentionLimits> limits)
    {
        long nowMs = _clock.ExpiryNowMs();
        Dictionary<QueueId, long> overflow = WithWholeIndexes(_cleaner.FindOverflow);
        foreach (Queue queue in _log.State.Queues.All)
        {
            RetentionLimits kept = limits(QueueView.Of(queue, _log));
            long? oldestMs = kept.Age is { } age && _clock.MayExpire(age) ? nowMs - (long)age.TotalMilliseconds : null;
            DeletionCause cause = default;
            long start = WithWholeIndexes(() => _planner.FindStart(queue, kept, oldestMs, out cause));
            long behind = overflow.GetValueOrDefault(queue.Id);
            yield return behind > start
                ? new Move(queue, behind, DeletionCause.LogSize)
                : new Move(queue, start, cause);
        }
    }

    /// <summary>One decision at a time: each counts bytes from where the one before it left the start.</summary>
    private async Task<int> DecideAsync(Func<IEnumerable<Move>> decide, CancellationToken cancellationToken)
    {
        await _gate.WaitAsync(cancellationToken);
        try
        {
            var ranges = new List<DeletedRange>();
            List<StateEntry> entries = await Task.Factory.StartNew(
                () => ToRecords(decide(), ranges),
                cancellationToken,
                TaskCreationOptions.LongRunning,
                TaskScheduler.Default);
            if (ranges.Count > 0)
                Watch?.BeforeDeletion(ranges);
            for (int first = 0; first < entries.Count; first += StartsPerBatch)
            {
                StateEntry[] batch = [.. entries.Skip(first).Take(StartsPerBatch)];
                await _state.AppendAnyAsync(batch, Durability.Policy, cancellationToken);
            }

            if (ranges.Count > 0)
                Watch?.AfterDeletion(ranges);
            if (entries.Count > 0)
                _cleaner.Wake();
            if (entries.Count > 0 && _log.IsReadOnly)
                _keeper.Wake();
            return entries.Count;
        }
        finally
        {
            _gate.Release();
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

    private T WithWholeIndexes<T>(Func<T> lookUp) => _reader.WithWholeIndexes(lookUp);

    /// <summary>A start that is to move.</summary>
    private readonly record struct Move(Queue Queue, long Start, DeletionCause Cause);
}
