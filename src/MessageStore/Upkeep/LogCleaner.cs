using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>The cleaner thread: removes the oldest segments when they are dead, packs neighbours of which little is
/// kept.</summary>
/// <remarks>
/// It alone takes sealed segments out of the chain. Both need time only: a failure is logged and tried again, a crash
/// leaves files that recovery removes. One file at a time and then a pause, unless the disk is full; packing reads and
/// writes no more than <see cref="StoreOptions.PackBytesPerSecond"/>.
/// </remarks>
internal sealed class LogCleaner : IDisposable
{
    /// <summary>So many packs side by side that all fit into a segment become one.</summary>
    private const int SmallPacks = 16;

    /// <summary>Packing is worth it when this part of a segment comes free.</summary>
    private const int WorthwhilePart = 16;

    /// <summary>Directory rows looked at in one round: 64 bytes each, read from disk.</summary>
    private const long RowsPerRound = 1_000_000;

    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(100);

    /// <summary>How long removal and packing wait for what makes messages dead to be committed and durable; then they
    /// try again later.</summary>
    public static readonly TimeSpan CommitWait = TimeSpan.FromSeconds(2);

    private readonly CommitLog _log;
    private readonly StoreOptions _options;
    private readonly IDisk _disk;
    private readonly string _directory;
    private readonly OpenSegments _open;
    private readonly ILogger _logger;
    private readonly TimeProvider _time;
    private readonly Func<LogPosition> _replayFrom;
    private readonly UpkeepRepair _repair;
    private readonly SegmentLiveness _liveness;
    private readonly WorkSignal _signal = new();
    private readonly WorkSignal _stopSignal = new();
    private readonly Thread _thread;
    private readonly HashSet<Segment> _damaged = [];
    private readonly HashSet<Segment> _reindexed = [];
    private int _generation;
    private long _nextLook;
    private double _debtSeconds;
    private bool _isStopping;
    private long _removed;
    private long _packed;

    /// <summary>Starts the thread.</summary>
    /// <param name="log">Whose segments.</param>
    /// <param name="options">How fast.</param>
    /// <param name="disk">Where.</param>
    /// <param name="directory">The log's folder.</param>
    /// <param name="open">Lets go of files that go.</param>
    /// <param name="logger">For what was done.</param>
    /// <param name="time">Creation times of packs.</param>
    /// <param name="replayFrom">Recovery may begin here and needs what follows as it was written.</param>
    /// <param name="repair">For files that are damaged or gone.</param>
    public LogCleaner(
        CommitLog log,
        StoreOptions options,
        IDisk disk,
        string directory,
        OpenSegments open,
        ILogger logger,
        TimeProvider time,
        Func<LogPosition> replayFrom,
        UpkeepRepair repair)
    {
        (_log, _options, _disk, _directory, _open) = (log, options, disk, directory, open);
        (_logger, _time, _replayFrom, _repair) = (logger, time, replayFrom, repair);
        _liveness = new SegmentLiveness(log, disk);
        foreach (DiskEntry entry in disk.List(directory))
        {
            if (PackFile.TryParse(entry.Name, out _, out int generation))
                _generation = Math.Max(_generation, generation);
        }

        _thread = new Thread(Run) { IsBackground = true, Name = "EQueue log cleaner" };
        _thread.Start();
    }

    /// <summary>Segments removed since the store was opened; those that a pack replaced are not counted.</summary>
    public long Removed => Volatile.Read(ref _removed);

    /// <summary>Segments replaced by packs since the store was opened.</summary>
    public long Packed => Volatile.Read(ref _packed);

    /// <summary>Starts have moved or queues have gone: there may be something to do.</summary>
    public void Wake() => _signal.Raise();

    /// <inheritdoc cref="SegmentLiveness.FindOverflow"/>
    public Dictionary<QueueId, long> FindOverflow() => _liveness.FindOverflow(_log.Bound.Find());

    /// <summary>How far starts must move so that the oldest segments with so many bytes can go.</summary>
    public Dictionary<QueueId, long> FindOldest(long bytes) => _liveness.FindOverflow(_log.TotalBytes - bytes);

    /// <summary>Ends the thread; a pack that is not whole is given up.</summary>
    public void Dispose()
    {
        Volatile.Write(ref _isStopping, true);
        _signal.Raise();
        _stopSignal.Raise();
        _thread.Join();
    }

    private void Run()
    {
        while (!Volatile.Read(ref _isStopping))
        {
            bool hasWorked = false;
            try
            {
                hasWorked = TryRemoveOldest() || TryPack();
            }
            catch (OperationCanceledException)
            {
                // The store closes, or cannot make durable what it knows: the pack was given up.
            }
            catch (Exception exception)
            {
                Log.BackgroundFileFailed(_logger, exception, _directory);
                hasWorked = _repair.TryAfter(exception);
            }

            if (!hasWorked || !_log.IsReadOnly)
                _signal.Wait(hasWorked ? Pause : Interval);
        }
    }

    private bool TryRemoveOldest()
    {
        Segment segment = _log.Segments[0];
        if (!IsSettled(segment, _replayFrom()) || !_liveness.IsDead(segment) || !_log.TryMakeStateCommitted(CommitWait))
            return false;

        _log.Replace([segment], with: null);
        Remove(segment);
        _disk.SyncDirectory(_directory);
        Volatile.Write(ref _removed, _removed + 1);
        Log.SegmentRemoved(_logger, segment.Path, segment.FileBytes);
        return true;
    }

    private bool TryPack()
    {
        LogPosition replayFrom = _replayFrom();
        Segment[] settled = [.. _log.Segments.TakeWhile(segment => IsSettled(segment, replayFrom))];
        Look(settled);
        List<Segment>? group = FindGroup(settled);
        if (group is null)
            return false;

        long before = group.Sum(segment => segment.FileBytes);
        Segment packed;
        try
        {
            long nowMs = _time.GetUtcNow().ToUnixTimeMilliseconds();
            using var packer = new SegmentPacker(_log, _disk, _directory, group, ++_generation, nowMs, KeepPace);
            packed = packer.Pack();
        }
        catch (StoreFormatException exception)
        {
            // Stays as it is, so that readers are told what is missing. A damaged index is made again, once.
            _damaged.UnionWith(group.Where(segment => segment.Path == exception.Path
                || (segment.IndexPath == exception.Path && !_reindexed.Add(segment))));
            throw;
        }

        _log.Replace(group, packed);
        foreach (Segment segment in group)
            Remove(segment);
        _disk.SyncDirectory(_directory);
        Volatile.Write(ref _packed, _packed + group.Count);
        Log.SegmentsPacked(_logger, group.Count, before, packed.Path, packed.FileBytes);
        return true;
    }

    /// <summary>Whether only readers need the segment any more as it was written.</summary>
    private static bool IsSettled(Segment segment, LogPosition replayFrom) =>
        segment is { HasIndex: true, Runs.Count: 0 } && segment.EndPosition <= replayFrom.Value;

    /// <summary>Counts again what is kept, a bounded part of all segments each round. A count that is old is too
    /// high.</summary>
    private void Look(Segment[] settled)
    {
        long rows = 0;
        for (int i = 0; i < settled.Length && rows < RowsPerRound; i++)
        {
            Segment segment = settled[_nextLook++ % settled.Length];
            segment.LiveBytes = _liveness.CountLiveBytes(segment, out long rowCount);
            rows += rowCount;
        }
    }

    private List<Segment>? FindGroup(Segment[] settled)
    {
        var group = new List<Segment>();
        foreach (Segment segment in settled)
        {
            if (IsLittleKept(segment) && Fits(group, segment))
            {
                group.Add(segment);
                continue;
            }

            if (IsWorthwhile(group))
                return group;
            group.Clear();
            if (IsLittleKept(segment))
                group.Add(segment);
        }

        return IsWorthwhile(group) ? group : null;
    }

    private bool IsLittleKept(Segment segment) =>
        segment is { LiveBytes: >= 0, IsLost: false } && !_damaged.Contains(segment)
        && (segment.LiveBytes * 2 < segment.FileBytes
            || (segment.IsPacked && segment.FileBytes < _options.SegmentSizeBytes / SmallPacks));

    private bool Fits(List<Segment> group, Segment segment) =>
        group.Sum(one => one.LiveBytes) + segment.LiveBytes <= _options.SegmentSizeBytes;

    private bool IsWorthwhile(List<Segment> group)
    {
        long before = group.Sum(segment => segment.FileBytes);
        long freed = before - group.Sum(segment => segment.LiveBytes) - Segment.HeaderSize;
        return group.Count >= SmallPacks
            || (freed * 2 >= before && freed >= _options.SegmentSizeBytes / WorthwhilePart);
    }

    private void Remove(Segment segment)
    {
        _open.Forget(segment);
        // The index last: recovery removes one without a segment, but would build a missing one again.
        _disk.Delete(segment.Path);
        _disk.Delete(segment.IndexPath);
        // A reader that had found it before may have opened it meanwhile: what it holds is room on the disk.
        _open.Forget(segment);
        if (_log.IsReadOnly)
            _log.NoteRemoval();
    }

    private void KeepPace(int bytes)
    {
        _debtSeconds += (double)bytes / _options.PackBytesPerSecond;
        if (_debtSeconds > Pause.TotalSeconds)
        {
            _stopSignal.Wait(TimeSpan.FromSeconds(_debtSeconds));
            _debtSeconds = 0;
        }

        if (Volatile.Read(ref _isStopping))
            throw new OperationCanceledException();
    }
}
