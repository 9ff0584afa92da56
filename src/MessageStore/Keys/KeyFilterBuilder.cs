using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Makes key filters for segments in which a client has looked for a key: reads such a segment once, slowly,
/// and writes its index again with them.</summary>
/// <remarks>
/// Owns one thread, which starts with the first wish. Takes no lock that an append or a read takes. What fails is
/// logged and not tried again until the store is opened anew: the look-ups read the segment instead.
/// </remarks>
internal sealed class KeyFilterBuilder : IDisposable
{
    /// <summary>Wishes kept; one that is forgotten is told again by the next look-up.</summary>
    private const int MaxWaiting = 1_024;

    private readonly CommitLog _log;
    private readonly StoreOptions _options;
    private readonly IDisk _files;
    private readonly Action<Segment, SortedDictionary<uint, KeyFilter>> _addFilters;
    private readonly ILogger _logger;
    private readonly ScrubPace _pace;
    private readonly PacedDisk _disk;
    private readonly WorkSignal _signal = new();
    private readonly Lock _gate = new();
    private readonly Queue<Segment> _waiting = new();
    private readonly HashSet<Segment> _known = [];
    private Thread? _thread;
    private bool _isStopping;

    /// <summary>Waits for wishes.</summary>
    /// <param name="log">Whose segments.</param>
    /// <param name="options">How fast.</param>
    /// <param name="disk">Where.</param>
    /// <param name="addFilters">Writes them into the index of the segment, if the log still has it.</param>
    /// <param name="logger">For what was done.</param>
    /// <param name="time">For the pace.</param>
    public KeyFilterBuilder(
        CommitLog log,
        StoreOptions options,
        IDisk disk,
        Action<Segment, SortedDictionary<uint, KeyFilter>> addFilters,
        ILogger logger,
        TimeProvider time)
    {
        (_log, _options, _files, _addFilters, _logger) = (log, options, disk, addFilters, logger);
        _pace = new ScrubPace(options.PackBytesPerSecond, time);
        _disk = new PacedDisk(disk, _pace);
    }

    /// <summary>A look-up had to read a segment. Any thread; quick.</summary>
    /// <param name="segment">With an index.</param>
    /// <param name="isDamaged">Whether it has filters that are damaged: they are made again.</param>
    public void Want(Segment segment, bool isDamaged)
    {
        if (isDamaged)
            Forget(segment);
        lock (_gate)
        {
            if (_isStopping || _waiting.Count >= MaxWaiting || !_known.Add(segment))
                return;
            _waiting.Enqueue(segment);
            if (_thread is null)
            {
                _thread = new Thread(Run) { IsBackground = true, Name = "EQueue key filters" };
                _thread.Start();
            }
        }

        _signal.Raise();
    }

    /// <summary>The index of a segment was made again, without filters: the next wish counts. Any thread.</summary>
    public void Forget(Segment segment)
    {
        lock (_gate)
        {
            if (!_waiting.Contains(segment))
                _known.Remove(segment);
        }
    }

    /// <summary>Ends the thread, after one more read or the writing of an index.</summary>
    public void Dispose()
    {
        lock (_gate)
            _isStopping = true;
        _pace.Stop();
        _signal.Raise();
        _thread?.Join();
        _pace.Dispose();
    }

    private void Run()
    {
        while (TryTake(out Segment? segment))
        {
            try
            {
                Build(segment!);
            }
            catch (OperationCanceledException)
            {
                // The store is closing.
            }
            catch (Exception exception)
            {
                if (IsInLog(segment!))
                    Log.BackgroundFileFailed(_logger, exception, segment!.IndexPath);
            }
        }
    }

    private bool TryTake(out Segment? segment)
    {
        while (true)
        {
            lock (_gate)
            {
                if (_isStopping)
                {
                    segment = null;
                    return false;
                }

                if (_waiting.TryDequeue(out segment))
                {
                    _known.IntersectWith(_log.Segments);
                    return true;
                }
            }

            _signal.Wait();
        }
    }

    private void Build(Segment segment)
    {
        // A disk that is full has no room for what only makes look-ups faster.
        if (!IsInLog(segment) || _log.IsReadOnly || _log.Fault is not null)
            return;
        bool isOld = segment.EndPosition <= _log.Durable - _options.PageCacheBytes;
        using SealedIndex index = segment.OpenIndex(_files, _log.LogId);
        if (SegmentKeys.Gather(_disk.Open(segment.Path, letsGo: isOld), segment, index, _log.LogId) is { } filters)
        {
            _addFilters(segment, filters);
            Log.KeyFiltersWritten(_logger, segment.IndexPath, filters.Count);
        }
    }

    private bool IsInLog(Segment segment) => Array.IndexOf(_log.Segments, segment) >= 0;
}
