using System.Diagnostics;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>
/// The background thread: writes the index of sealed segments and drops their runs from memory, takes snapshots.
/// Everything here can be made again from the log, so a failure is logged and tried again later; it never stops the
/// store.
/// </summary>
internal sealed partial class LogKeeper : IDisposable
{
    private const int KeptSnapshots = 2;

    /// <summary>Queues or producers looked at under one hold of the log's lock: appends wait no longer than
    /// that.</summary>
    private const int SliceSize = 256;

    private static readonly TimeSpan RetryInterval = TimeSpan.FromSeconds(1);

    private readonly CommitLog _log;
    private readonly StoreOptions _options;
    private readonly IDisk _disk;
    private readonly string _directory;
    private readonly OpenSegments _open;
    private readonly UpkeepRepair _repair;
    private readonly ILogger _logger;
    private readonly TimeProvider _time;
    private readonly WorkSignal _signal;
    private readonly Thread _thread;
    private readonly List<LogPosition> _snapshots;
    private long _lastSnapshot = Stopwatch.GetTimestamp();
    private bool _isSnapshotWanted;
    private bool _isStopping;
    private long _snapshotsTaken;
    private long _replayFrom;

    public LogKeeper(
        CommitLog log,
        StoreOptions options,
        IDisk disk,
        string directory,
        OpenSegments open,
        UpkeepRepair repair,
        ILogger logger,
        TimeProvider time)
    {
        _log = log;
        _options = options;
        _disk = disk;
        _directory = directory;
        _open = open;
        _repair = repair;
        _logger = logger;
        _time = time;
        _snapshots = LogFiles.Find(disk, directory, LogFiles.SnapshotSuffix);
        NoteReplayFrom();
        _thread = new Thread(Run) { IsBackground = true, Name = "EQueue log keeper" };
        _signal = log.KeeperWork;
        _thread.Start();
        Wake();
    }

    /// <summary>Snapshots written since the store was opened.</summary>
    public long SnapshotsTaken => Volatile.Read(ref _snapshotsTaken);

    /// <summary>Called after each snapshot; must be quick.</summary>
    public Action? SnapshotTaken { get; set; }

    /// <summary>Recovery begins here at the earliest: at the older of two snapshots.</summary>
    public LogPosition ReplayFrom => new(Volatile.Read(ref _replayFrom));

    /// <summary>A segment is full, much state has changed, or the cleaner needs segments for room.</summary>
    public void Wake() => _signal.Raise();

    /// <summary>Has the next snapshot taken now.</summary>
    public void WantSnapshot()
    {
        Volatile.Write(ref _isSnapshotWanted, true);
        Wake();
    }

    /// <summary>Ends the thread; what it is writing is finished first.</summary>
    public void Dispose()
    {
        Volatile.Write(ref _isStopping, true);
        _signal.Raise();
        _thread.Join();
    }

    /// <summary>The last work of an orderly stop, when the log has ended and all is durable: indexes and a snapshot.
    /// Not on the thread.</summary>
    public void Finish()
    {
        Guarded(SealAll);
        if (_log.Settled < _log.Staged)
        {
            return; // a leader whose replicas have less: what is not committed gets no snapshot
        }
        Guarded(TakeSnapshot);
    }

    private void Run()
    {
        while (!Volatile.Read(ref _isStopping) && _log.Fault is null)
        {
            bool isDone = Guarded(SealAll);
            if (IsSnapshotDue())
                isDone &= Guarded(TakeSnapshot);
            // Another snapshot is needed then, and no thread may be left that would wake this one.
            isDone &= !KeepsRoom();
            _signal.Wait(isDone ? _options.SnapshotInterval : RetryInterval);
        }
    }

    private bool IsSnapshotDue() =>
        Volatile.Read(ref _isSnapshotWanted)
        || _log.StateBytes >= _options.SnapshotStateBytes
        || KeepsRoom()
        || ((_log.StateBytes > 0 || LagsBehind())
            && Stopwatch.GetElapsedTime(_lastSnapshot) >= _options.SnapshotInterval);

    /// <summary>Whether the log is full and a snapshot might give room.</summary>
    private bool KeepsRoom() => _log.IsReadOnly && LagsBehind();

    /// <summary>Whether a snapshot would let the cleaner have segments although no state has changed.</summary>
    private bool LagsBehind()
    {
        Segment[] segments = _log.Segments;
        return segments.Length > 1 && segments[^2].EndPosition > ReplayFrom.Value;
    }

    private bool Guarded(Action work)
    {
        try
        {
            work();
            return true;
        }
        catch (Exception exception)
        {
            // Derived files: the log itself is untouched and holds everything that is needed to try again.
            if (!Volatile.Read(ref _isStopping) || _log.Fault is null)
            {
                Log.BackgroundFileFailed(_logger, exception, _directory);
                _repair.TryAfter(exception);
            }
            return false;
        }
    }

    private void SealAll()
    {
        Segment? previous = null;
        foreach (Segment segment in _log.Segments)
        {
            if (!segment.IsSealed || segment.EndPosition > _log.Settled)
                return;
            if (!segment.HasIndex)
            {
                GiveBackRest(segment);
                WriteIndex(segment, previous);
                DropRuns(segment);
                _isSnapshotWanted = true;
            }
            previous = segment;
        }
    }

    /// <summary>A segment that was sealed early holds room that it will never use.</summary>
    private static void GiveBackRest(Segment segment)
    {
        long used = segment.FileOffsetOf(segment.EndPosition);
        if (segment.File is { } file && file.Length > used)
            file.Truncate(used);
    }

    private void WriteIndex(Segment segment, Segment? previous)
    {
        string path = segment.IndexPath;
        using var index = new SealedIndexWriter(_disk, path);
        var slice = new List<SealedContent>(SliceSize);
        uint next = 0;
        while (Collect(segment, ref next, slice))
        {
            foreach (SealedContent content in slice)
            {
                long lastTimeMs = content.LastTimeMs >= 0 ? content.LastTimeMs : LastTimeIn(previous, content.Queue);
                index.BeginQueue(content.Queue, new QueueOffset(content.NextOffset), lastTimeMs);
                AddRuns(index, content.Runs);
            }
            slice.Clear();
        }
        if (!_log.TryMakeStateCommitted(LogCleaner.CommitWait))
        {
            // A power cut must not give back a queue that the index leaves out because it was removed.
            throw new TimeoutException("The state that the index follows did not become committed.");
        }
        index.Complete(
            _log.StoreId,
            _log.LogId,
            new LogPosition(segment.BasePosition),
            new LogPosition(segment.EndPosition),
            _log.Epoch,
            _time.GetUtcNow().ToUnixTimeMilliseconds());
        segment.HasIndex = true;
        Log.BackgroundFileWritten(_logger, path, segment.EndPosition - segment.BasePosition);
    }

    /// <summary>What the index says of the next queues; ids from <paramref name="next"/> on.</summary>
    private bool Collect(Segment segment, ref uint next, List<SealedContent> slice)
    {
        uint first = next;
        next = _log.Locked(() =>
        {
            uint id = first;
            for (; id < _log.State.Queues.NextId && slice.Count < SliceSize; id = _log.State.Queues.SkipEmpty(id + 1))
            {
                if (_log.State.Queues.Find(new QueueId(id)) is { } queue)
                    slice.Add(ContentOf(queue, segment));
            }
            return id;
        });
        return slice.Count > 0;
    }

    private static SealedContent ContentOf(Queue queue, Segment segment)
    {
        long nextOffset = queue.NextOffset;
        long lastTimeMs = queue.Tail is null ? queue.LastStoredTimeMs : -1;
        List<IndexRun>? runs = null;
        for (IndexRun? run = queue.Tail; run is not null; run = run.Previous)
        {
            if (run.Segment.BasePosition > segment.BasePosition)
            {
                nextOffset = run.FirstOffset;
                continue;
            }
            if (runs is null)
            {
                (nextOffset, lastTimeMs) = (run.EndOffset, run.LastTimeMs);
                runs = [];
            }
            if (run.Segment == segment)
                runs.Insert(0, run);
        }
        return new SealedContent(queue.Id, nextOffset, lastTimeMs, runs ?? []);
    }

    private long LastTimeIn(Segment? previous, QueueId queue)
    {
        if (previous is null or { IsLost: true })
            return 0;
        OpenSegment open = _open.Acquire(previous);
        try
        {
            return open.Index.TryFind(queue, out SealedQueue row) ? row.LastStoredTimeMs : 0;
        }
        finally
        {
            _open.Release(open);
        }
    }

    private static void AddRuns(SealedIndexWriter index, List<IndexRun> runs)
    {
        foreach (IndexRun run in runs)
        {
            int count = run.Count;
            for (int i = 0; i < count; i++)
                index.Add(run.EntryAt(i));
        }
    }

    /// <summary>Takes a segment's runs out of memory, once the index file answers for them.</summary>
    private void DropRuns(Segment segment)
    {
        List<(Queue Queue, IndexRun Run)> runs = segment.Runs;
        for (int first = 0; first < runs.Count; first += SliceSize)
        {
            int start = first;
            _log.Locked(() =>
            {
                foreach ((Queue queue, IndexRun _) in runs.Skip(start).Take(SliceSize))
                    Unlink(queue, segment);
                return true;
            });
        }
        segment.Runs = [];
        _open.Forget(segment);
        segment.File?.Dispose();
        segment.File = null;
    }

    private static void Unlink(Queue queue, Segment segment)
    {
        if (queue.Tail is not { } run)
            return;
        if (run.Segment.BasePosition <= segment.BasePosition)
        {
            queue.Tail = null;
            return;
        }
        while (run.Previous is { } previous && previous.Segment.BasePosition > segment.BasePosition)
            run = previous;
        run.Previous = null;
    }

    private readonly record struct SealedContent(QueueId Queue, long NextOffset, long LastTimeMs, List<IndexRun> Runs);
}
