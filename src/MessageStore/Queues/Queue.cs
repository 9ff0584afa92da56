namespace EQueue.MessageStore;

/// <summary>
/// One queue of the log: its place in the catalogue, its ends, and the part of its index that is in memory.
/// Changed under the log's lock (or by recovery before the log starts), read by anybody.
/// </summary>
internal sealed class Queue(QueueId id, TopicId topicId, int number)
{
    private long _start;
    private long _visibleStart;
    private long _startBytes;
    private long _nextOffset;
    private long _lastStoredTimeMs;
    private long _bytes;
    private long _appliedPosition;
    private long _coldReadPosition;
    private IndexRun? _tail;
    private bool _isRemoved;

    public QueueId Id { get; } = id;

    public TopicId TopicId { get; } = topicId;

    public int Number { get; } = number;

    /// <summary>The first offset that is kept, by all that is staged.</summary>
    public long Start
    {
        get => Volatile.Read(ref _start);
        set => Volatile.Write(ref _start, value);
    }

    /// <summary>The first offset that readers may read: <see cref="Start"/> as far as it is visible.</summary>
    public long VisibleStart
    {
        get => Volatile.Read(ref _visibleStart);
        set => Volatile.Write(ref _visibleStart, value);
    }

    /// <summary>The offset that the next record gets.</summary>
    public long NextOffset
    {
        get => Volatile.Read(ref _nextOffset);
        set => Volatile.Write(ref _nextOffset, value);
    }

    /// <summary>Bytes of the entries before <see cref="Start"/>, counted like <see cref="Bytes"/>.</summary>
    public long StartBytes
    {
        get => Volatile.Read(ref _startBytes);
        set => Volatile.Write(ref _startBytes, value);
    }

    /// <summary>Where the entry at an offset is and the stored time (Unix ms) that it says, as retention last found it;
    /// 0 = not looked up. Its own.</summary>
    public (long Offset, long Position, long StoredTimeMs) Oldest { get; set; }

    /// <summary>Unix milliseconds of the last append; 0 = none.</summary>
    public long LastStoredTimeMs
    {
        get => Volatile.Read(ref _lastStoredTimeMs);
        set => Volatile.Write(ref _lastStoredTimeMs, value);
    }

    /// <summary>Bytes of all its entries since it was opened, as far as known.</summary>
    public long Bytes
    {
        get => Volatile.Read(ref _bytes);
        set => Volatile.Write(ref _bytes, value);
    }

    /// <summary>The position after the last entry that <see cref="NextOffset"/> counts: what replay skips up
    /// to.</summary>
    public long AppliedPosition
    {
        get => Volatile.Read(ref _appliedPosition);
        set => Volatile.Write(ref _appliedPosition, value);
    }

    /// <summary>The newest run in memory; older ones hang behind it. None when all its segments are sealed and
    /// indexed.</summary>
    public IndexRun? Tail
    {
        get => Volatile.Read(ref _tail);
        set => Volatile.Write(ref _tail, value);
    }

    /// <summary>Whether its topic is gone; its bytes stay until retention takes them.</summary>
    public bool IsRemoved
    {
        get => Volatile.Read(ref _isRemoved);
        set => Volatile.Write(ref _isRemoved, value);
    }

    /// <summary>Whether it takes messages; under the log's lock. In memory only: <see
    /// cref="QueueStore.SetWritable"/>.</summary>
    public bool IsWritable { get; set; } = true;

    /// <summary>Where the last cold read of this queue ended: a guess at where the next one reads, to sort reads
    /// by.</summary>
    public long ColdReadPosition
    {
        get => Volatile.Read(ref _coldReadPosition);
        set => Volatile.Write(ref _coldReadPosition, value);
    }

    /// <summary>The waiters for something new; under the log's lock.</summary>
    public List<ReadySignal>? Watchers { get; set; }

    /// <summary>Adds an entry to the index and moves the end: live under the log's lock, or by recovery in the order
    /// of the log.</summary>
    /// <param name="segment">Holds the entry.</param>
    /// <param name="position">Of the entry.</param>
    /// <param name="size">Of the whole entry in bytes.</param>
    /// <param name="firstOffset">Of its first record: a value above <see cref="NextOffset"/> means that what lies
    /// between is lost.</param>
    /// <param name="endOffset">After its last record.</param>
    /// <param name="storedTimeMs">Unix milliseconds.</param>
    /// <param name="tagBits">As the entry carries them.</param>
    public void AddEntry(
        Segment segment, long position, int size, long firstOffset, long endOffset, long storedTimeMs, uint tagBits)
    {
        IndexRun? run = _tail;
        if (run is null || run.Segment != segment || run.EndOffset != firstOffset
            || !run.Takes(storedTimeMs, endOffset))
        {
            run = new IndexRun(segment, firstOffset, storedTimeMs) { Previous = run };
            segment.Runs.Add((this, run));
            run.Add(position, size, endOffset, storedTimeMs, tagBits);
            Tail = run;
        }
        else
        {
            run.Add(position, size, endOffset, storedTimeMs, tagBits);
        }
        NextOffset = endOffset;
        LastStoredTimeMs = storedTimeMs;
        Bytes += size;
        AppliedPosition = position + size;
    }

    /// <summary>The offset after the last record before the position <paramref name="visible"/>; after those that
    /// damage took, when nothing follows them.</summary>
    public long VisibleEnd(long visible)
    {
        // Read before the tail: what was counted here is in the runs, or sealed, durable and visible, or lost.
        long nextOffset = NextOffset;
        for (IndexRun? run = Tail; run is not null; run = run.Previous)
        {
            int total = run.Count;
            int count = run.CountBefore(visible, total);
            if (count > 0)
            {
                long end = run.EndOffsetOf(count - 1);
                return count == total ? Math.Max(end, nextOffset) : end;
            }
            nextOffset = run.FirstOffset;
        }
        return nextOffset;
    }
}
