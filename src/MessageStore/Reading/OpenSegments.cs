namespace EQueue.MessageStore;

/// <summary>The files of segments that readers have open: at most a bound, the longest unused closed first.
/// Thread-safe.</summary>
internal sealed class OpenSegments(IDisk disk, Guid logId) : IDisposable
{
    private const int MaxOpen = 64;

    private readonly Lock _lock = new();
    private readonly Dictionary<Segment, OpenSegment> _open = [];
    private long _clock;

    /// <summary>A segment's files, the caller's until it gives them back by <see cref="Release"/>.</summary>
    public OpenSegment Acquire(Segment segment)
    {
        lock (_lock)
        {
            if (_open.TryGetValue(segment, out OpenSegment? found))
            {
                found.Users++;
                found.LastUse = ++_clock;
                return found;
            }
            if (_open.Count >= MaxOpen)
                CloseOldest();
            var opened = new OpenSegment(disk, logId, segment) { Users = 1, LastUse = ++_clock };
            _open.Add(segment, opened);
            return opened;
        }
    }

    public void Release(OpenSegment segment)
    {
        lock (_lock)
        {
            segment.Users--;
            if (segment.IsStale && segment.Users == 0)
                segment.Close();
        }
    }

    /// <summary>Lets go of a segment whose files have changed.</summary>
    public void Forget(Segment segment)
    {
        lock (_lock)
        {
            if (_open.Remove(segment, out OpenSegment? found))
            {
                found.IsStale = true;
                if (found.Users == 0)
                    found.Close();
            }
        }
    }

    public void Dispose()
    {
        lock (_lock)
        {
            foreach (OpenSegment segment in _open.Values)
                segment.Close();
            _open.Clear();
        }
    }

    private void CloseOldest()
    {
        OpenSegment? oldest = null;
        foreach (OpenSegment segment in _open.Values)
        {
            if (segment.Users == 0 && (oldest is null || segment.LastUse < oldest.LastUse))
                oldest = segment;
        }
        if (oldest is not null)
        {
            _open.Remove(oldest.Segment);
            oldest.Close();
        }
    }
}

/// <summary>One segment's file and, once it is sealed, its index; each opened at its first use.</summary>
internal sealed class OpenSegment(IDisk disk, Guid logId, Segment segment)
{
    private readonly Lock _lock = new();
    private IDiskFile? _file;
    private SealedIndex? _index;

    public Segment Segment { get; } = segment;

    public int Users { get; set; }

    public long LastUse { get; set; }

    public bool IsStale { get; set; }

    public IDiskFile File
    {
        get
        {
            lock (_lock)
                return _file ??= disk.Open(Segment.Path, DiskOpen.ReadOnly);
        }
    }

    /// <summary>The index file.</summary>
    /// <exception cref="StoreFormatException">It is missing or damaged.</exception>
    public SealedIndex Index
    {
        get
        {
            lock (_lock)
                return _index ??= Segment.OpenIndex(disk, logId);
        }
    }

    public void Close()
    {
        _file?.Dispose();
        _index?.Dispose();
    }
}
