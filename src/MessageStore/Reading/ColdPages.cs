namespace EQueue.MessageStore;

/// <summary>Lets the system's page cache go of what cold reads took from disk, but for the last of them.</summary>
/// <remarks>
/// Readers that follow each other closely find each other's pages. What one read earlier is not read again soon, and
/// its pages serve the next reads: one that was never touched costs several times the copy of its bytes where the host
/// has to find it first. The newest bytes of the log are not its business (<see cref="CacheTrimmer"/>). Thread-safe.
/// </remarks>
/// <param name="log">Whose segments are read.</param>
/// <param name="disk">Opens segments that readers have closed meanwhile.</param>
/// <param name="newestBytes">So much at the log's end stays in the page cache anyway.</param>
internal sealed class ColdPages(CommitLog log, IDisk disk, long newestBytes)
{
    /// <summary>Bytes of the last reads that stay.</summary>
    private const long KeptBytes = 32L << 20;

    /// <summary>Bytes let go of at a time: to open a file for each read would cost more than it gives.</summary>
    private const long StepBytes = 2L << 20;

    private readonly Lock _lock = new();
    private readonly Queue<ReadRange> _ranges = new();
    private long _bytes;

    /// <summary>Whether a position is behind the newest bytes, whose pages are not this class's business.</summary>
    public bool IsOld(long position) => position <= log.Durable - newestBytes;

    /// <summary>Notes a read.</summary>
    /// <param name="segment">What was read.</param>
    /// <param name="position">Of its last entry.</param>
    /// <param name="fileOffset">Where it began.</param>
    /// <param name="size">Bytes.</param>
    public void Note(Segment segment, long position, long fileOffset, int size)
    {
        log.NoteRead(position);
        if (IsOld(position))
        {
            lock (_lock)
            {
                _ranges.Enqueue(new ReadRange(segment, fileOffset, size));
                _bytes += size;
            }
        }
    }

    /// <summary>Lets go of what was read long ago.</summary>
    public void LetGoOfOld()
    {
        List<ReadRange> old;
        lock (_lock)
        {
            if (_bytes < KeptBytes + StepBytes)
                return;
            old = TakeOld();
        }
        foreach (IGrouping<Segment, ReadRange> ofSegment in old.GroupBy(range => range.Segment))
            disk.LetGo(ofSegment.Key.Path, ofSegment.Select(range => (range.FileOffset, (long)range.Size)));
    }

    private List<ReadRange> TakeOld()
    {
        var old = new List<ReadRange>();
        while (_bytes > KeptBytes)
        {
            ReadRange oldest = _ranges.Dequeue();
            _bytes -= oldest.Size;
            old.Add(oldest);
        }
        return old;
    }

    private readonly record struct ReadRange(Segment Segment, long FileOffset, int Size);
}
