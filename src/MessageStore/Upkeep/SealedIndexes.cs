using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>The index files of sealed segments: makes one again that cannot be used, and adds key filters.</summary>
/// <remarks>Thread-safe: one file at a time. On the thread of a reader or of background work.</remarks>
internal sealed class SealedIndexes : IDisposable
{
    private const int MaxRebuildTries = 3;

    private readonly CommitLog _log;
    private readonly IDisk _disk;
    private readonly LogFolderDisk _folder;
    private readonly OpenSegments _openSegments;
    private readonly ILogger _logger;
    private readonly TimeProvider _time;
    private readonly KeyFilterBuilder? _keyFilters;
    private readonly Lock _gate = new();

    /// <param name="log">Whose segments.</param>
    /// <param name="options">How fast key filters are made.</param>
    /// <param name="disk">Where.</param>
    /// <param name="openSegments">Closes files that change.</param>
    /// <param name="skipper">Says for which segments key filters are wanted.</param>
    /// <param name="logger">For what was done.</param>
    /// <param name="time">Creation times of indexes, and the pace.</param>
    public SealedIndexes(
        CommitLog log,
        StoreOptions options,
        IDisk disk,
        OpenSegments openSegments,
        KeySkipper skipper,
        ILogger logger,
        TimeProvider time)
    {
        (_log, _disk, _openSegments, _logger, _time) = (log, disk, openSegments, logger, time);
        _folder = new LogFolderDisk(disk, log.Folder);
        // Filters are for disks: in memory they would take room from messages to spare reading that costs little.
        if (disk is MemoryDisk)
            return;
        _keyFilters = new KeyFilterBuilder(log, options, disk, AddKeyFilters, logger, time);
        skipper.FilterWanted = _keyFilters.Want;
    }

    /// <summary>Makes the index of a sealed segment again from the segment, and before it those it continues that
    /// cannot be used.</summary>
    public void Rebuild(string path)
    {
        lock (_gate)
        {
            for (int tries = 1; ; tries++)
            {
                Segment[] segments = _log.Segments;
                try
                {
                    IEnumerable<Segment> whole = segments.TakeWhile(segment => segment.HasIndex);
                    Rebuild(path, [.. whole.Where(segment => !segment.IsLost)]);
                    return;
                }
                catch (IOException) when (segments != _log.Segments && tries < MaxRebuildTries)
                {
                    // The cleaner may have taken a file that was needed: what stands there now is looked at.
                }
            }
        }
    }

    /// <summary>Makes no more key filters.</summary>
    public void Dispose() => _keyFilters?.Dispose();

    private void Rebuild(string path, Segment[] chain)
    {
        int at = Array.FindIndex(chain, segment => segment.IndexPath == path);
        if (at < 0)
        {
            return; // a pack took its place meanwhile, or it was removed: the reader looks again
        }
        for (int i = SealedIndexRebuilder.FirstToRebuild(_disk, _log.LogId, chain, at); i <= at; i++)
        {
            Segment segment = chain[i];
            SealedIndexRebuilder.Rebuild(
                _folder,
                (_log.StoreId, _log.LogId),
                chain,
                i,
                _time.GetUtcNow().ToUnixTimeMilliseconds());
            _openSegments.Forget(segment);
            _keyFilters?.Forget(segment);
            Log.IndexRebuilt(_logger, segment.Path);
        }
    }

    /// <summary>Writes the index of a segment again, with key filters.</summary>
    private void AddKeyFilters(Segment segment, SortedDictionary<uint, KeyFilter> filters)
    {
        lock (_gate)
        {
            if (Array.IndexOf(_log.Segments, segment) < 0)
                return;
            KeyFilterSection.AddTo(_folder, segment.IndexPath, filters);
            _openSegments.Forget(segment);
            // The cleaner takes a segment out of the log first and its files then: one of us removes the index.
            if (Array.IndexOf(_log.Segments, segment) < 0)
                _disk.Delete(segment.IndexPath);
        }
    }
}
