namespace EQueue.MessageStore;

/// <summary>Keeps only the newest bytes of the log in the system's page cache.</summary>
/// <remarks>
/// A log that is written on and on would fill all memory with pages that hardly anybody reads, and take a fresh page
/// for every 4 KB; so it takes those again that it let go of just now, which are warm. A reader that is further back
/// reads from disk, in order and with read-ahead.
/// <para>A reader that falls behind while others write at full speed keeps the pages that lie before it, up to a bound:
/// reading from disk while the disk is written to it would never catch up. The flusher's own, but for
/// <see cref="NoteRead"/>.</para>
/// </remarks>
/// <param name="disk">Opens segments that the log has closed.</param>
/// <param name="time">Tells for how long a reader has not been seen.</param>
/// <param name="keepBytes">How much stays.</param>
/// <param name="segment">The one that takes appends.</param>
/// <param name="from">Where the appends begin.</param>
internal sealed class CacheTrimmer(IDisk disk, TimeProvider time, long keepBytes, Segment segment, long from)
{
    /// <summary>Bytes let go of by one call: rare enough to cost nothing, small enough to go unnoticed.</summary>
    private const long StepBytes = 8L << 20;

    /// <summary>
    /// Bytes let go of by one call beyond those that became durable since the last one: what a reader has kept goes in
    /// pieces, so that those who wait for the flusher do not wait for all of it.
    /// </summary>
    private const long BacklogBytes = 256L << 20;

    /// <summary>Readers keep so many times what stays.</summary>
    private const int ReadersShare = 8;

    /// <summary>How long a read keeps the pages behind it, at least.</summary>
    private static readonly TimeSpan TurnTime = TimeSpan.FromMilliseconds(128);

    private readonly Lock _lock = new();
    private Segment _segment = segment;
    private long _from = from;
    private long _durable = from;
    private long _turnBegan = time.GetTimestamp();
    private long _firstRead = long.MaxValue;
    private long _firstReadBefore = long.MaxValue;

    /// <summary>Notes how far a reader has read from the file. Thread-safe.</summary>
    /// <param name="position">A reader that is further back than the cache keeps nothing in it.</param>
    public void NoteRead(long position)
    {
        if (position < Volatile.Read(ref _from))
            return;
        lock (_lock)
        {
            Turn();
            _firstRead = Math.Min(_firstRead, position);
        }
    }

    /// <summary>Lets go of what is durable and further back than what stays.</summary>
    /// <param name="flushing">The segment whose file is certainly open.</param>
    /// <param name="durable">Pages behind it may be dirty still: they stay.</param>
    public void Advance(Segment flushing, long durable)
    {
        long furthest = keepBytes > durable / ReadersShare ? 0 : durable - (ReadersShare * keepBytes);
        long to = Math.Max(Math.Min(durable - keepBytes, FirstRead()), furthest);
        to = Math.Min(to, _from + BacklogBytes + (durable - _durable));
        _durable = durable;
        while (to - _from >= StepBytes)
        {
            long end = _segment.IsSealed ? Math.Min(to, _segment.EndPosition) : to;
            // The file of a sealed one may be closed at any time.
            LetGo(_segment, _from, end, isOpen: !_segment.IsSealed && ReferenceEquals(_segment, flushing));
            Volatile.Write(ref _from, end);
            if (_segment.IsSealed && end == _segment.EndPosition)
                _segment = _segment.Next!;
        }
    }

    private long FirstRead()
    {
        lock (_lock)
        {
            Turn();
            return Math.Min(_firstRead, _firstReadBefore);
        }
    }

    private void Turn()
    {
        long now = time.GetTimestamp();
        TimeSpan passed = time.GetElapsedTime(_turnBegan, now);
        if (passed < TurnTime)
            return;
        _firstReadBefore = passed < 2 * TurnTime ? _firstRead : long.MaxValue;
        _firstRead = long.MaxValue;
        _turnBegan = now;
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
