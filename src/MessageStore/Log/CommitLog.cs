using System.Diagnostics.Metrics;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>
/// The append-only log: the door of the types that make it. Owns them, its threads and its epochs; the log's lock
/// guards the end of the log, the queue table and the producers.
/// </summary>
/// <remarks>
/// Threads: appenders (any thread) take their place under the log's lock and copy into the ring
/// (<see cref="Appender"/>, <see cref="Staging"/>); the writer hands the ring to the system (<see cref="LogWriter"/>);
/// the flusher calls fdatasync (<see cref="LogFlusher"/>); the preparer makes the next file
/// (<see cref="SegmentPreparer"/>). How far each has come stands in <see cref="Watermarks"/>. The order of locks: write
/// lock, flush lock, folder lock, the log's lock. No I/O is done under the log's lock.
/// </remarks>
internal sealed class CommitLog : IDisposable
{
    private readonly Lock _gate = new();
    private readonly LogIdentity _identity;
    private readonly bool _isLeading;
    private readonly EpochList _epochs;
    private readonly WallClock _clock;
    private readonly LogSignals _signals = new();
    private readonly Watermarks _marks;
    private readonly SegmentChain _segments;
    private readonly LogFault _fault;
    private readonly ReadOnlyMode _readOnly;
    private readonly AppendRoom _room;
    private readonly QueueWatches _watches;
    private readonly CommitGate _commits;
    private readonly Staging _staging;
    private readonly SegmentPreparer _preparer;
    private readonly LogFlusher _flusher;
    private readonly SegmentWriter _bytes;
    private readonly LogWriter _writer;
    private readonly Appender _appender;
    private readonly ClockWatch _clockWatch;
    private readonly StallWatch _stalls;
    private readonly List<Thread> _threads = [];

    public CommitLog(
        StoreOptions options,
        IDisk disk,
        string directory,
        RecoveredLog recovered,
        LogState state,
        ILogger logger,
        TimeProvider time,
        WallClock clock,
        Lead? lead)
    {
        _clock = clock;
        _isLeading = lead is not null;
        int epoch = lead?.Epoch ?? checked(recovered.LastEpoch + 1);
        _identity = new LogIdentity(recovered.StoreId, recovered.LogId, epoch);
        _epochs = recovered.Epochs;
        Epochs = _epochs.All;
        State = state;
        state.Queues.Settle(recovered.CommittedPosition);
        Arena = new Arena(options.TailMemoryBytes);
        _marks = new Watermarks(recovered.EndPosition, recovered.CommittedPosition, Arena.Size, _isLeading);
        _segments = new SegmentChain(options, directory, _marks, _signals.Preparer);
        var incoming = new IncomingWaiters(options.FlushPolicy, _marks);
        var roomWaiters = new RoomWaiters(_gate);
        _fault = new LogFault(_gate, disk, directory, _segments, incoming, roomWaiters, _signals, logger);
        var shortage = new ShortageWatch(directory, logger);
        Folder = new LogFolder(disk, directory, shortage, _fault);
        _readOnly = new ReadOnlyMode(options, directory, logger, roomWaiters, _signals.Keeper);
        _room = new AppendRoom(_gate, Arena, _marks, _segments, _readOnly, roomWaiters, _fault);
        _watches = new QueueWatches(_gate, state.Queues, _marks);
        _preparer = new SegmentPreparer(
            _gate, options, disk, epoch, _marks, _segments, Folder, _fault, _readOnly, roomWaiters, _room, shortage,
            _signals.Preparer);
        if (!_segments.TryBegin(recovered.Segments))
            _segments.AddFirst(_preparer.PrepareFirst(), recovered.EndPosition, clock.NowMs());
        // What snapshots of another machine say of its volume says nothing of this one.
        long bound = lead is null ? recovered.BoundBytes : 0;
        Bound = new LogBound(options, disk, directory, () => TotalBytes, bound);
        _stalls = new StallWatch(directory, time, logger);
        _commits = new CommitGate(
            _gate, options.FlushPolicy, _isLeading, _marks, state.Queues, _segments, _watches, _room, _signals, _fault);
        _staging = new Staging(_identity, Arena, _marks, _segments, _watches, recovered.LastStoredTimeMs);
        var cache = new CacheTrimmer(disk, time, options.PageCacheBytes, _segments.Active, recovered.EndPosition);
        _flusher = new LogFlusher(
            _gate, options, _marks, incoming, _commits, Folder, _fault, _signals.Flusher, cache, _stalls,
            new CallDurations(logger), _segments.Active);
        _bytes = new SegmentWriter(
            _identity, Arena, _segments, disk, _readOnly, shortage, _fault, _stalls, logger);
        _writer = new LogWriter(
            _gate, options.FlushPolicy, _marks, _staging, incoming, _bytes, _commits, _flusher, _fault,
            _signals.Writer);
        _appender = new Appender(
            _gate, options, clock, state, _staging, incoming, _watches, _readOnly, _writer, _fault, _signals.Keeper,
            epoch, recovered.StateBytesSinceSnapshot);
        _clockWatch = new ClockWatch(_appender, _staging, clock, _gate, directory, logger);
    }

    public Guid StoreId => _identity.StoreId;

    public Guid LogId => _identity.LogId;

    public int Epoch => _identity.Epoch;

    /// <summary>The epochs of the log, this opening's last; does not change once the log is started.</summary>
    public LogHistory History { get; private set; } = LogHistory.None;

    /// <summary>The epochs of the log: more than <see cref="History"/> tells readers of.</summary>
    public IReadOnlyList<HistoryEpoch> Epochs { get; private set; }

    /// <inheritdoc cref="Staging.MaxRequestBytes"/>
    public int MaxRequestBytes => _staging.MaxRequestBytes;

    public Task Completion => _fault.Completion;

    /// <summary>Where its files are.</summary>
    public LogFolder Folder { get; }

    public Arena Arena { get; }

    public LogState State { get; }

    public long Visible => _marks.Visible;

    public long Durable => _marks.Durable;

    public long Staged => _marks.Staged;

    /// <inheritdoc cref="Watermarks.Settled"/>
    public long Settled => _marks.Settled;

    public LogWatermarks Watermarks => _marks.Look(Segments[0].BasePosition);

    /// <summary>The stored time of the newest entry; under the lock.</summary>
    public long LastStoredTimeMs => _staging.LastStoredTimeMs;

    /// <summary>The bytes that it may take.</summary>
    public LogBound Bound { get; }

    /// <summary>Bytes of all segments.</summary>
    public long TotalBytes => Segments.Sum(segment => segment.FileBytes);

    /// <inheritdoc cref="WallClock.ConfirmedMs"/>
    public long ConfirmedMs => _clock.ConfirmedMs;

    /// <inheritdoc cref="Appender.MessageBytes"/>
    public long MessageBytes => _appender.MessageBytes;

    /// <inheritdoc cref="Appender.StateBytes"/>
    public long StateBytes => _appender.StateBytes;

    /// <inheritdoc cref="SegmentChain.All"/>
    public Segment[] Segments => _segments.All;

    /// <inheritdoc cref="LogFault.Reason"/>
    public Exception? Fault => _fault.Reason;

    /// <inheritdoc cref="ReadOnlyMode"/>
    public bool IsReadOnly => _readOnly.IsOn;

    /// <summary>Raised after a segment is sealed and settled, when state has changed a lot, and when the log is full:
    /// for the thread that writes indexes and snapshots.</summary>
    public WorkSignal KeeperWork => _signals.Keeper;

    /// <inheritdoc cref="ReadOnlyMode.Filled"/>
    public Action? Filled
    {
        get => _readOnly.Filled;
        set => _readOnly.Filled = value;
    }

    /// <inheritdoc cref="CommitGate.Progressed"/>
    public Action? Progressed
    {
        get => _commits.Progressed;
        set => _commits.Progressed = value;
    }

    /// <summary>What the log has done; the store adds the rest.</summary>
    public StoreFigures Figures => new()
    {
        Appends = _appender.Appends,
        Batches = _appender.Batches,
        DuplicateBatches = _appender.Duplicates,
        BytesWritten = _bytes.BytesWritten,
        Writes = _bytes.Writes,
        Syncs = _flusher.Syncs,
        Segments = Segments.Length,
        Queues = State.Queues.Count,
        FreeBytes = _readOnly.FreeBytes,
        IsReadOnly = IsReadOnly,
        SegmentsLost = Segments.Count(segment => segment.IsLost),
        OldestDiskCallMs = (long)_stalls.OldestAge.TotalMilliseconds,
        IsStalled = _stalls.IsStalled,
    };

    /// <inheritdoc cref="QueueStore.ReportDurations"/>
    public void ReportDurations(Histogram<double> writes, Histogram<double> syncs)
    {
        _bytes.Durations.ReportTo(writes);
        _flusher.Durations.ReportTo(syncs);
    }

    /// <inheritdoc cref="Watermarks.IsInMemory"/>
    public bool IsInMemory(long position) => _marks.IsInMemory(position);

    /// <inheritdoc cref="Watermarks.IsStillInMemory"/>
    public bool IsStillInMemory(long position) => _marks.IsStillInMemory(position);

    /// <inheritdoc cref="QueueStore.Append"/>
    public AppendStatus Append(Span<AppendItem> items, Durability durability, AppendWaiter waiter, bool mayWrite) =>
        _appender.Append(items, durability, waiter, mayWrite);

    /// <inheritdoc cref="Appender.AppendState"/>
    public AppendStatus AppendState(
        ReadOnlySpan<byte> batch,
        int count,
        ReadOnlySpan<StateEntry> records,
        Durability durability,
        AppendWaiter waiter) =>
        _appender.AppendState(batch, count, records, durability, waiter);

    /// <inheritdoc cref="QueueStore.CheckSequence"/>
    public ErrorCode CheckSequence(QueueId queue, ReadOnlySpan<byte> batch) => _appender.CheckSequence(queue, batch);

    /// <inheritdoc cref="QueueStore.SetWritable"/>
    public void SetWritable(IEnumerable<QueueId> queues, bool isWritable) => _appender.SetWritable(queues, isWritable);

    /// <inheritdoc cref="Appender.TryStageMark"/>
    public bool TryStageMark() => _appender.TryStageMark();

    /// <inheritdoc cref="ClockWatch.Begin"/>
    public void SetTime(bool isAccepted) => _clockWatch.Begin(isAccepted);

    /// <inheritdoc cref="QueueStore.WaitForRoomAsync"/>
    public Task WaitForRoomAsync(CancellationToken cancellationToken) => _room.WaitAsync(cancellationToken);

    /// <inheritdoc cref="QueueStore.Watch"/>
    public bool Watch(QueueId id, QueueOffset from, ReadySignal signal) => _watches.Watch(id, from, signal);

    /// <inheritdoc cref="QueueStore.Unwatch"/>
    public void Unwatch(QueueId id, ReadySignal signal) => _watches.Unwatch(id, signal);

    /// <inheritdoc cref="QueueStore.SetCommitted"/>
    public void SetCommitted(LogPosition written, LogPosition durable) => _commits.SetCommitted(written, durable);

    /// <inheritdoc cref="CommitGate.TryMakeCommitted"/>
    public bool TryMakeCommitted(TimeSpan timeout) => _commits.TryMakeCommitted(timeout);

    /// <inheritdoc cref="CommitGate.TryMakeStateCommitted"/>
    public bool TryMakeStateCommitted(TimeSpan timeout) => _commits.TryMakeStateCommitted(timeout);

    /// <inheritdoc cref="CacheTrimmer.NoteRead"/>
    public void NoteRead(long position) => _flusher.Cache.NoteRead(position);

    /// <summary>Files have gone: whether there is room now is looked at at once.</summary>
    public void NoteRemoval() => _signals.Preparer.Raise();

    /// <summary>Forgets the state bytes counted so far: a snapshot begins.</summary>
    /// <returns>Where its replay starts.</returns>
    public LogPosition BeginSnapshot()
    {
        lock (_gate)
        {
            _appender.ForgetStateBytes();
            return new LogPosition(_marks.Staged);
        }
    }

    /// <summary>Puts one segment in the place of sealed neighbours, or nothing in the place of the oldest: their files
    /// may go.</summary>
    public void Replace(IReadOnlyList<Segment> group, Segment? with)
    {
        lock (_gate)
            _segments.Replace(group, with);
    }

    /// <summary>Runs something under the lock: for those that read or change the tables.</summary>
    public T Locked<T>(Func<T> action)
    {
        lock (_gate)
            return action();
    }

    /// <summary>Starts the threads and, unless a leader is to say when, begins the epoch; returns when that is
    /// durable.</summary>
    public void Start()
    {
        StartThread("EQueue log writer", _writer.Run);
        StartThread("EQueue log flusher", _flusher.Run);
        if (!_isLeading)
            BeginEpoch();
    }

    /// <summary>Begins the leader's epoch; returns the position behind its start when that is durable here.</summary>
    public LogPosition StartLeading()
    {
        if (!_isLeading || _appender.HasBegun)
            throw new InvalidOperationException("Only a log that was opened to lead begins to, and once.");
        return new LogPosition(BeginEpoch());
    }

    /// <inheritdoc cref="QueueStore.StopLeading"/>
    public void StopLeading()
    {
        if (!_isLeading)
            throw new InvalidOperationException("A log that was not opened to lead cannot stop to.");
        var fault = new EQueueException(
            ErrorCode.ShuttingDown, $"This node leads epoch {Epoch} no longer: what is not answered may be stored.");
        if (_fault.TryDepose(fault))
            _commits.FailUncommitted(fault);
    }

    /// <summary>Takes no more appends, writes and syncs what was accepted, ends the threads. Blocks.</summary>
    public void Stop()
    {
        _fault.Close();
        foreach (Thread thread in _threads)
            thread.Join();
        if (_isLeading)
        {
            _commits.FailUncommitted(new EQueueException(
                ErrorCode.ShuttingDown, "The store was closed before this was committed: it may be stored."));
        }
    }

    /// <summary>Closes the files; after <see cref="Stop"/> and after the last reader.</summary>
    public void Dispose()
    {
        _segments.CloseFiles();
        _stalls.Dispose();
        _fault.Dispose();
    }

    /// <summary>Begins the epoch; the history is known from here on.</summary>
    /// <returns>The position behind its start, which is durable here.</returns>
    private long BeginEpoch()
    {
        long end;
        lock (_gate)
        {
            long nowMs = Math.Max(_clock.NowMs(), _staging.LastStoredTimeMs);
            long start = _marks.Staged;
            if (!_segments.Fits(EntryHeader.Length))
            {
                _segments.Add(_preparer.PrepareNext());
                _staging.Roll(nowMs);
            }
            History = _epochs.Begin(Epoch, start);
            Epochs = _epochs.All;
            end = _staging.StageEpochStart(nowMs, History.Opening.Mark);
            _marks.WantDurable(end);
        }
        _commits.AwaitDurable(end);
        _appender.Begin(History.Opening.Mark);
        StartThread("EQueue log preparer", () => _preparer.Run(Bound, _clockWatch));
        return end;
    }

    private void StartThread(string name, Action run)
    {
        var thread = new Thread(() => RunGuarded(run)) { IsBackground = true, Name = name };
        _threads.Add(thread);
        thread.Start();
    }

    private void RunGuarded(Action run)
    {
        try
        {
            run();
        }
        catch (Exception exception)
        {
            _fault.Latch(exception);
        }
    }
}
