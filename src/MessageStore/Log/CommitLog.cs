using System.Diagnostics;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>
/// The append-only log. Owns the arena, the segments, the watermarks, and through its lock the queue table and the
/// producers.
/// </summary>
/// <remarks>
/// Threads: appenders (any thread) take their place under the lock and copy into the arena; the writer hands the arena
/// to the system in large writes, but for small rounds that an appender writes while the writer rests; the flusher
/// calls fdatasync, but for small rounds of a log with sync flush, which the writer syncs itself while the flusher
/// rests; the preparer makes the next file ahead of need. No I/O is done under the lock. How far each has
/// come, and who moves that, stands in <see cref="EQueue.MessageStore.Watermarks"/>.
/// </remarks>
internal sealed partial class CommitLog : IDisposable
{
    private const int EntryHeaderSize = EntryHeader.Length;

    private readonly Lock _lock = new();
    private readonly StoreOptions _options;
    private readonly IDisk _disk;
    private readonly ILogger _logger;
    private readonly WallClock _clock;
    private readonly StallWatch _stalls;
    private readonly string _directory;
    private readonly LogState _state;
    private readonly ShortageWatch _shortage;
    private readonly Arena _arena;
    private readonly Watermarks _marks;
    private readonly uint _logSeed;
    private readonly EpochList _epochs;
    private readonly long _maxUnseenBytes;
    private readonly TaskCompletionSource _completion = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly CancellationTokenSource _stopping = new();
    private readonly List<Thread> _threads = [];

    private Segment _active;
    private Segment[] _segments;
    private long _lastStoredTimeMs;
    private Exception? _fault;
    private bool _isClosing;

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
        _options = options;
        _disk = disk;
        _directory = directory;
        _state = state;
        _logger = logger;
        _shortage = new ShortageWatch(directory, logger);
        _clock = clock;
        _stalls = new StallWatch(directory, time, logger);
        StoreId = recovered.StoreId;
        LogId = recovered.LogId;
        _lead = lead;
        Epoch = lead?.Epoch ?? checked(recovered.LastEpoch + 1);
        _epochs = recovered.Epochs;
        Epochs = _epochs.All;
        _logSeed = EntryHeader.SeedOf(recovered.LogId);
        _arena = new Arena(options.TailMemoryBytes);
        // The rest of the ring always holds visible bytes for the readers of the tail.
        _maxUnseenBytes = _arena.Size / 4 * 3;
        _lastStoredTimeMs = recovered.LastStoredTimeMs;
        _stateBytes = recovered.StateBytesSinceSnapshot;
        _lastRoundEnd = recovered.EndPosition;
        _marks = new Watermarks(
            recovered.EndPosition, recovered.CommittedPosition, _arena.Size, isLeading: lead is not null);
        _writtenLevel = new CommitLevel(Visible);
        _durableLevel = new CommitLevel(Visible);
        _state.Queues.Settle(Visible);
        _segments = [.. recovered.Segments];
        _active = _segments.Length > 0 && !_segments[^1].IsSealed
            ? _segments[^1]
            : MakeFirstSegment(recovered.EndPosition);
        _writing = _flushing = _active;
        // What snapshots of another machine say of its volume says nothing of this one.
        long bound = lead is null ? recovered.BoundBytes : 0;
        Bound = new LogBound(options, disk, directory, () => TotalBytes, bound);
        _cache = new CacheTrimmer(disk, time, options.PageCacheBytes, _active, recovered.EndPosition);
        _preparerDueAt = PrepareAt(_active);
    }

    public Guid StoreId { get; }

    public Guid LogId { get; }

    public int Epoch { get; }

    /// <summary>The epochs of the log, this opening's last; does not change once the log is started.</summary>
    public LogHistory History { get; private set; } = LogHistory.None;

    /// <summary>The epochs of the log: more than <see cref="History"/> tells readers of.</summary>
    public IReadOnlyList<HistoryEpoch> Epochs { get; private set; }

    /// <summary>Bytes that one request may stage: with it, half of the memory for staging is always enough.</summary>
    public int MaxRequestBytes => (int)(_maxUnseenBytes / 2) - Slack;

    public Task Completion => _completion.Task;

    /// <summary>Where its files are.</summary>
    public string Folder => _directory;

    public Arena Arena => _arena;

    public LogState State => _state;

    public long Visible => _marks.Visible;

    public long Durable => _marks.Durable;

    /// <summary>The stored time of the newest entry; under the lock.</summary>
    public long LastStoredTimeMs => _lastStoredTimeMs;

    /// <summary>The bytes that it may take.</summary>
    public LogBound Bound { get; }

    /// <summary>Bytes of all segments.</summary>
    public long TotalBytes => Segments.Sum(segment => segment.FileBytes);

    /// <inheritdoc cref="WallClock.ConfirmedMs"/>
    public long ConfirmedMs => _clock.ConfirmedMs;

    public long Staged => _marks.Staged;

    /// <summary>Bytes of the batches of messages appended since the opening.</summary>
    public long MessageBytes => Volatile.Read(ref _messageBytes);

    /// <summary>The files in the order of positions; the last takes the appends.</summary>
    public Segment[] Segments => Volatile.Read(ref _segments);

    /// <summary>Why the log takes no more; null while it does.</summary>
    public Exception? Fault => Volatile.Read(ref _fault);

    /// <summary>What the log has done; the store adds the rest.</summary>
    public StoreFigures Figures => new()
    {
        Appends = Volatile.Read(ref _appends),
        Batches = Volatile.Read(ref _batches),
        DuplicateBatches = Volatile.Read(ref _duplicates),
        BytesWritten = Volatile.Read(ref _bytesWritten),
        Writes = Volatile.Read(ref _writes),
        Syncs = Volatile.Read(ref _syncs),
        Segments = Segments.Length,
        Queues = _state.Queues.Count,
        FreeBytes = FreeBytes,
        IsReadOnly = IsReadOnly,
        SegmentsLost = Segments.Count(segment => segment.IsLost),
        OldestDiskCallMs = (long)_stalls.OldestAge.TotalMilliseconds,
        IsStalled = _stalls.IsStalled,
    };

    /// <summary>Called after a segment is sealed and durable, and when state has changed a lot; any thread, must be
    /// quick.</summary>
    public Action? BackgroundWork { get; set; }

    public LogWatermarks Watermarks => _marks.Look(Segments[0].BasePosition);

    /// <inheritdoc cref="Watermarks.IsInMemory"/>
    public bool IsInMemory(long position) => _marks.IsInMemory(position);

    /// <inheritdoc cref="Watermarks.IsStillInMemory"/>
    public bool IsStillInMemory(long position) => _marks.IsStillInMemory(position);

    /// <summary>Forgets the state bytes counted so far: a snapshot begins.</summary>
    /// <returns>Where its replay starts.</returns>
    public LogPosition BeginSnapshot()
    {
        lock (_lock)
        {
            _stateBytes = 0;
            return new LogPosition(_marks.Staged);
        }
    }

    /// <summary>Puts one segment in the place of sealed neighbours, or nothing in the place of the oldest: their files
    /// may go.</summary>
    public void Replace(IReadOnlyList<Segment> group, Segment? with)
    {
        lock (_lock)
        {
            int first = Array.IndexOf(_segments, group[0]);
            int behind = first + group.Count;
            Debug.Assert(_segments[first..behind].SequenceEqual(group), "neighbours, in their order");
            Debug.Assert(with is not null || first == 0, "the log stays one piece");
            if (with is not null)
                with.Next = _segments[behind];
            Segment[] replaced = with is null ? [] : [with];
            Volatile.Write(ref _segments, [.. _segments[..first], .. replaced, .. _segments[behind..]]);
        }
    }

    /// <summary>Runs something under the lock: for those who read or change the tables.</summary>
    public T Locked<T>(Func<T> action)
    {
        lock (_lock)
            return action();
    }

    /// <summary>Starts the threads and, unless a leader is to say when, begins the epoch; returns when that is
    /// durable.</summary>
    public void Start()
    {
        StartThread("EQueue log writer", RunWriter);
        StartThread("EQueue log flusher", RunFlusher);
        if (_lead is null)
            StartEpoch();
    }

    /// <summary>Takes no more appends, writes and syncs what was accepted, ends the threads. Blocks.</summary>
    public void Stop()
    {
        lock (_lock)
            _isClosing = true;
        ReleaseRoomWaiters(force: true);
        _stopping.Cancel();
        _writerSignal.Raise();
        _preparerSignal.Raise();
        foreach (Thread thread in _threads)
            thread.Join();
        FailUncommitted();
    }

    /// <summary>Closes the files; after <see cref="Stop"/> and after the last reader.</summary>
    public void Dispose()
    {
        foreach (Segment segment in _segments)
            segment.File?.Dispose();
        foreach (PreparedFile prepared in _prepared)
            prepared.File.Dispose();
        _stopping.Dispose();
        _stalls.Dispose();
        if (Fault is null || _isDeposed)
            _completion.TrySetResult();
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
            Latch(exception);
        }
    }

    /// <summary>The first failure ends the log: every waiter is told, every later append is refused, reads of what is
    /// visible go on.</summary>
    private void Latch(Exception exception)
    {
        // Whichever call met it first.
        string place = IsPlaceGone() ? "the data directory was removed or moved while the store was running; " : "";
        var fault = new EQueueException(
            ErrorCode.StoreFaulted,
            $"The store in {_directory} failed and takes no more: {place}{exception.Message}", exception);
        if (TryEnd(fault, out WaiterQueue waiters))
        {
            Log.StoreFaulted(_logger, exception, _directory);
            _completion.TrySetException(fault);
            FailWaiters(ref waiters, fault);
        }
    }

    /// <summary>Has the log take no more, for a reason that every later call is told.</summary>
    private bool TryEnd(EQueueException fault, out WaiterQueue waiters)
    {
        waiters = default;
        lock (_lock)
        {
            if (_fault is not null)
                return false;
            Volatile.Write(ref _fault, fault);
            waiters.TakeAll(ref _writtenIncoming);
            waiters.TakeAll(ref _durableIncoming);
            return true;
        }
    }

    private void FailWaiters(ref WaiterQueue waiters, EQueueException fault)
    {
        waiters.Fail(fault);
        _progress.Note();
        ReleaseRoomWaiters(force: true);
        _writerSignal.Raise();
        _flusherSignal.Raise();
        _preparerSignal.Raise();
    }
}
