using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>What works on a store beside its appends and reads: snapshots and indexes, packs and what is removed,
/// scrubbing, and the starts of queues.</summary>
internal sealed class StoreUpkeep : IDisposable
{
    private readonly CommitLog _log;
    private readonly IDisk _disk;
    private readonly string _directory;
    private readonly ILogger _logger;
    private readonly SealedIndexes _indexes;
    private readonly LogKeeper _keeper;
    private readonly LogCleaner _cleaner;
    private readonly LogScrubber _scrubber;
    private readonly OldestOut? _oldestOut;

    /// <summary>Begins all of it; the log has started.</summary>
    /// <param name="log">Whose.</param>
    /// <param name="options">How fast, and what is kept.</param>
    /// <param name="disk">Where.</param>
    /// <param name="clock">What ages are counted from.</param>
    /// <param name="openSegments">The files that readers have open.</param>
    /// <param name="finder">Finds entries by the indexes.</param>
    /// <param name="indexes">The upkeep's from here on.</param>
    /// <param name="lost">Notes segments that are gone.</param>
    /// <param name="reader">Reads from disk.</param>
    /// <param name="state">Takes the records of starts that move.</param>
    /// <param name="logger">For what was done.</param>
    /// <param name="time">For paces and creation times.</param>
    public StoreUpkeep(
        CommitLog log,
        StoreOptions options,
        IDisk disk,
        WallClock clock,
        OpenSegments openSegments,
        EntryFinder finder,
        SealedIndexes indexes,
        LostSegments lost,
        DiskReader reader,
        StateAppender state,
        ILogger logger,
        TimeProvider time)
    {
        (_log, _disk, _directory, _logger) = (log, disk, options.DataDirectory, logger);
        string directory = log.Folder.Path;
        var folder = new LogFolderDisk(disk, log.Folder);
        _indexes = indexes;
        var repair = new UpkeepRepair(disk, indexes.Rebuild, lost, logger);
        _keeper = new LogKeeper(log, options, folder, directory, openSegments, repair, logger, time);
        _cleaner = new LogCleaner(
            log, options, folder, directory, openSegments, logger, time, () => _keeper.ReplayFrom, repair);
        _keeper.SnapshotTaken = _cleaner.Wake;
        _scrubber = new LogScrubber(log, options, disk, directory, repair, logger, time);
        var planner = new RetentionPlanner(log, openSegments, finder);
        Starts = new StartMover(log, options, disk, clock, reader, state, _cleaner, _keeper, planner);
        if (options.MemoryFull == MemoryFull.OldestOut)
            _oldestOut = new OldestOut(log, Starts.ApplyRoomAsync, logger);
    }

    /// <summary>The starts of queues.</summary>
    public StartMover Starts { get; }

    /// <summary>Files may have become free: the cleaner looks.</summary>
    public void WakeCleaner() => _cleaner.Wake();

    /// <summary>A snapshot is worth taking now.</summary>
    public void WantSnapshot() => _keeper.WantSnapshot();

    /// <summary>Adds what it has done.</summary>
    public StoreFigures AddTo(StoreFigures figures) => figures with
    {
        Snapshots = _keeper.SnapshotsTaken,
        SegmentsRemoved = _cleaner.Removed,
        SegmentsPacked = _cleaner.Packed,
        ScrubbedBytes = _scrubber.Bytes,
        ScrubBadRanges = _scrubber.BadRanges,
        ScrubPasses = _scrubber.Passes,
        LastScrubEndTimeMs = _scrubber.LastEndTimeMs,
    };

    /// <summary>Ends what decides which messages go; while appends are taken.</summary>
    public ValueTask StopDecidingAsync() => _oldestOut?.DisposeAsync() ?? ValueTask.CompletedTask;

    /// <summary>Ends all threads; before the log stops.</summary>
    public void Stop()
    {
        _indexes.Dispose();
        _cleaner.Dispose();
        _scrubber.Dispose();
        _keeper.Dispose();
    }

    /// <summary>Writes the last snapshot and the clean marker; after the log has stopped without a fault.</summary>
    public void Finish()
    {
        try
        {
            _keeper.Finish();
            LogPosition durable = _log.Watermarks.Durable;
            CleanMarker.Write(_disk, _directory, _log.StoreId, durable);
            Log.StoreClosed(_logger, _directory, durable.Value);
        }
        catch (DiskException exception)
        {
            // Without the marker the next opening does more work; nothing is lost.
            Log.BackgroundFileFailed(_logger, exception, LogFiles.CleanFile(_directory));
        }
    }

    public void Dispose() => Starts.Dispose();
}
