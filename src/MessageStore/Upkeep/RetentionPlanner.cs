namespace EQueue.MessageStore;

/// <summary>Where a queue's start would have to be to keep its limits, and how many bytes lie before an offset. Reads
/// index files: not for threads that must not block.</summary>
internal sealed class RetentionPlanner(CommitLog log, OpenSegments segments, EntryFinder finder)
{
    /// <summary>Messages that one round may let go by age, however few there are.</summary>
    private const long SmallestAgeRound = 1_000;

    /// <summary>The start that the limits ask for; the present one when nothing has to go.</summary>
    /// <param name="queue">Whose.</param>
    /// <param name="limits">What it keeps.</param>
    /// <param name="oldestMs">What was stored before goes for its age (Unix ms); null = nothing does now.</param>
    /// <param name="cause">What moves the start furthest.</param>
    public long FindStart(Queue queue, in RetentionLimits limits, long? oldestMs, out DeletionCause cause)
    {
        cause = DeletionCause.Count;
        long visible = log.Visible;
        long start = queue.Start, end = queue.VisibleEnd(visible);
        if (start >= end)
            return start;

        long found = start;
        if (limits.Count is { } count && end - start > count)
            found = end - count;
        if (oldestMs is { } oldest && IsOlder(queue, start, oldest, visible))
        {
            long most = Math.Max(SmallestAgeRound, (long)((end - start) * (limits.AgeShare ?? 1)));
            long byAge = Math.Min(FindStartByAge(queue, oldest, visible), start + most);
            (found, cause) = byAge > found ? (byAge, DeletionCause.Age) : (found, cause);
        }

        if (limits.Bytes is { } bytes && queue.Bytes - queue.StartBytes > bytes)
        {
            long byBytes = FindStartByBytes(queue, bytes, visible) ?? start;
            (found, cause) = byBytes > found ? (byBytes, DeletionCause.Bytes) : (found, cause);
        }

        if (limits.KeepFrom is { } keepFrom)
            found = Math.Min(found, keepFrom.Value);
        return Math.Clamp(found, start, end);
    }

    /// <summary>Bytes of the queue's entries that end behind <paramref name="from"/> and not behind
    /// <paramref name="to"/>: ranges that follow each other count each entry once.</summary>
    public long SumBytes(Queue queue, long from, long to)
    {
        long sum = 0;
        long oldestInMemory = long.MaxValue;
        for (IndexRun? run = queue.Tail; run is not null; run = run.Previous)
        {
            oldestInMemory = run.Segment.BasePosition;
            for (int i = run.IndexOf(from, run.Count); i < run.Count && run.EndOffsetOf(i) <= to; i++)
                sum += run[i].Size;
        }

        foreach (Segment segment in finder.IndexedSegments())
        {
            if (segment.BasePosition >= oldestInMemory)
                break;
            OpenSegment open = segments.Acquire(segment);
            try
            {
                if (open.Index.TryFind(queue.Id, out SealedQueue row) && row.FirstOffset < to && row.NextOffset > from)
                    sum += SumRow(open.Index, row, from, to);
            }
            finally
            {
                segments.Release(open);
            }
        }

        return sum;
    }

    private static long SumRow(SealedIndex index, in SealedQueue row, long from, long to)
    {
        if (row.FirstOffset >= from && row.NextOffset <= to)
            return row.Bytes;

        long sum = 0;
        var entries = new SealedEntry[SealedBlock.MaxEntries];
        for (int block = Math.Max(0, index.FindBlock(row, new QueueOffset(from))); block < row.BlockCount; block++)
        {
            int count = index.ReadBlock(row, block, entries);
            foreach (ref readonly SealedEntry entry in entries.AsSpan(0, count))
            {
                if (entry.EndOffset > to)
                    return sum;
                sum += entry.EndOffset > from ? entry.Size : 0;
            }
        }

        return sum;
    }

    /// <summary>Whether what the queue starts with was stored before a time. Remembered, so that idle queues cost no
    /// look-up.</summary>
    private bool IsOlder(Queue queue, long start, long timeMs, long visible)
    {
        (long offset, long position, long storedMs) = queue.Oldest;
        if (offset != start || storedMs == 0)
        {
            FoundEntries found = finder.Find(queue, start, visible, maxBytes: 1);
            if (found.Entries.Count == 0)
                return true; // lost at the start: the look-up by time tells
            (position, storedMs) = (found.Entries[0].Position, found.Entries[0].StoredTimeMs);
            queue.Oldest = (start, position, storedMs);
        }

        return log.State.TimeResets.Correct(position, storedMs) < timeMs;
    }

    /// <summary>Where what is young enough begins. How old lost messages are is not known: they stay, for their readers
    /// to be told and for a file that comes back, until the first message behind them is too old.</summary>
    private long FindStartByAge(Queue queue, long oldestMs, long visible)
    {
        long young = finder.FindTime(queue, oldestMs, visible);
        bool isLostBefore = young > queue.Start
            && finder.Find(queue, young - 1, visible, maxBytes: 1).Entries.Count == 0;
        return isLostBefore ? Math.Max(queue.Start, finder.FindEndBefore(queue, young)) : young;
    }

    private long? FindStartByBytes(Queue queue, long bytes, long visible)
    {
        long left = bytes;
        long oldestInMemory = long.MaxValue;
        for (IndexRun? run = queue.Tail; run is not null; run = run.Previous)
        {
            oldestInMemory = run.Segment.BasePosition;
            for (int i = run.CountBefore(visible, run.Count) - 1; i >= 0; i--)
            {
                left -= run[i].Size;
                if (left < 0)
                    return run.EndOffsetOf(i);
            }
        }

        Segment[] indexed = finder.IndexedSegments();
        for (int i = indexed.Length - 1; i >= 0; i--)
        {
            if (indexed[i].BasePosition >= oldestInMemory)
                continue;
            OpenSegment open = segments.Acquire(indexed[i]);
            try
            {
                if (!open.Index.TryFind(queue.Id, out SealedQueue row) || row.NextOffset <= queue.Start)
                    return null;
                if (row.Bytes > left && FindInRow(open.Index, row, left) is { } offset)
                    return offset;
                left -= row.Bytes;
            }
            finally
            {
                segments.Release(open);
            }
        }

        return null;
    }

    private static long? FindInRow(SealedIndex index, in SealedQueue row, long left)
    {
        var entries = new SealedEntry[SealedBlock.MaxEntries];
        for (int block = row.BlockCount - 1; block >= 0; block--)
        {
            for (int i = index.ReadBlock(row, block, entries) - 1; i >= 0; i--)
            {
                left -= entries[i].Size;
                if (left < 0)
                    return entries[i].EndOffset;
            }
        }

        return null;
    }
}
