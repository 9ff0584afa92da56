namespace EQueue.MessageStore;

/// <summary>Keeps only the newest bytes of the log in the system's page cache.</summary>
/// <remarks>
/// A log that is written on and on would fill all memory with pages that hardly anybody reads, and take a fresh page
/// for every 4 KB; so it takes those again that it let go of just now, which are warm. Whoever reads further back reads
/// from disk, in order and with read-ahead. The flusher's own.
/// </remarks>
/// <param name="disk">Opens segments that the log has closed.</param>
/// <param name="keepBytes">How much stays.</param>
/// <param name="segment">The one that takes appends.</param>
/// <param name="from">Where the appends begin.</param>
internal sealed class CacheTrimmer(IDisk disk, long keepBytes, Segment segment, long from)
{
    /// <summary>Bytes let go of by one call: rare enough to cost nothing, small enough to go unnoticed.</summary>
    private const long StepBytes = 8L << 20;

    private Segment _segment = segment;
    private long _from = from;

    /// <summary>Lets go of what is durable and further back than what stays.</summary>
    /// <param name="flushing">The segment whose file is certainly open.</param>
    /// <param name="durable">Pages behind it may be dirty still: they stay.</param>
    public void Advance(Segment flushing, long durable)
    {
        long to = durable - keepBytes;
        while (to - _from >= StepBytes)
        {
            long end = _segment.IsSealed ? Math.Min(to, _segment.EndPosition) : to;
            // The file of a sealed one may be closed at any time.
            LetGo(_segment, _from, end, isOpen: !_segment.IsSealed && ReferenceEquals(_segment, flushing));
            _from = end;
            if (_segment.IsSealed && end == _segment.EndPosition)
                _segment = _segment.Next!;
        }
    }

    private void LetGo(Segment segment, long from, long to, bool isOpen)
    {
        long offset = segment.FileOffsetOf(from);
        long bytes = segment.FileOffsetOf(to) - offset;
        if (isOpen)
            segment.File!.LetGo(offset, bytes);
        else
            disk.LetGo(segment.Path, [(offset, bytes)]);
    }
}
