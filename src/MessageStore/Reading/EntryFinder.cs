using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Finds entries by offset or time in what is sealed and in what is still in memory. Blocks: for the disk
/// threads only.</summary>
internal sealed class EntryFinder(CommitLog log, OpenSegments segments)
{
    /// <summary>The entries from the one that holds <paramref name="offset"/> on, up to <paramref name="maxBytes"/>
    /// or one; those that <paramref name="tagMask"/> leaves out are passed over.</summary>
    public FoundEntries Find(Queue queue, long offset, long visible, int maxBytes, uint tagMask = TagBits.Unknown)
    {
        var found = new FoundEntries(offset, maxBytes, tagMask);
        long nextRunOffset = offset;
        // A segment may be sealed between the look at the memory and the look at the files: then the second round
        // finds it.
        for (int round = 0; round < 3 && found.Segment is null; round++)
        {
            if (TailReader.TryFindRun(queue, offset, out IndexRun? run, out nextRunOffset))
            {
                CollectRun(run!, offset, visible, nextRunOffset, found);
            }
            else
            {
                CollectSealed(queue, offset, found);
            }
        }
        if (found.Segment is null)
        {
            // Lost behind everything that is sealed: it continues in memory.
            found.NextOffset = nextRunOffset;
        }
        return found;
    }

    /// <summary>The first offset of the first visible batch stored at or after a time, else the visible end.</summary>
    public long FindTime(Queue queue, long storedTimeMs, long visible)
    {
        long end = queue.VisibleEnd(visible);
        IndexRun? oldest = null;
        long found = end;
        for (IndexRun? run = queue.Tail; run is not null; run = run.Previous)
        {
            oldest = run;
            int count = run.CountBefore(visible, run.Count);
            int index = run.IndexOfTime(storedTimeMs, count, log.State.TimeResets);
            if (index < count)
                found = run.FirstOffsetOf(index);
            if (index > 0)
            {
                // Something before it is older than asked for: nothing earlier can be the first.
                return Math.Max(found, queue.VisibleStart);
            }
        }
        return Math.Max(FindSealedTime(queue, storedTimeMs, oldest) ?? found, queue.VisibleStart);
    }

    /// <summary>The offset at which a queue continues at a position of the log: of its first entry there or behind it,
    /// else the next one it gives.</summary>
    public long FindPosition(Queue queue, long position)
    {
        if (FindInMemory(queue, position, out bool isSure) is var found && isSure)
            return found;
        foreach (Segment segment in IndexedSegments())
        {
            if (segment.EndPosition <= position)
                continue;
            OpenSegment open = segments.Acquire(segment);
            try
            {
                if (open.Index.TryFind(queue.Id, out SealedQueue row)
                    && FindPositionInBlocks(open.Index, row, position) is { } offset)
                {
                    return offset;
                }
            }
            finally
            {
                segments.Release(open);
            }
        }
        return found;
    }

    /// <summary>The same, as far as memory tells.</summary>
    /// <param name="queue">The queue.</param>
    /// <param name="position">The position.</param>
    /// <param name="isSure">False when an entry that is sealed may come first.</param>
    public long FindInMemory(Queue queue, long position, out bool isSure)
    {
        // Both ends at once: they are changed one after the other under the lock.
        (long next, long end) = log.Locked(() => (queue.NextOffset, queue.AppliedPosition));
        isSure = end <= position;
        if (isSure)
            return next;
        long found = next;
        for (IndexRun? run = queue.Tail; run is not null; run = run.Previous)
        {
            int index = run.CountBefore(position, run.Count);
            if (index < run.Count)
                found = run.FirstOffsetOf(index);
            isSure = index > 0;
            if (isSure)
                return found;
        }
        isSure = !Array.Exists(log.Segments, segment => segment.HasIndex && segment.EndPosition > position);
        return found;
    }

    /// <summary>When the visible entry that holds an offset was stored; where there is none, the next one; null =
    /// nothing.</summary>
    public long? FindStoredTime(Queue queue, long offset, long visible)
    {
        long end = queue.VisibleEnd(visible);
        long next = Math.Max(offset, queue.VisibleStart);
        while (next < end)
        {
            FoundEntries found = Find(queue, next, visible, maxBytes: 1);
            if (found.Entries.Count > 0)
            {
                SealedEntry entry = found.Entries[0];
                return log.State.TimeResets.Correct(entry.Position, entry.StoredTimeMs);
            }
            if (found.NextOffset <= next)
                return null;
            next = found.NextOffset;
        }
        return null;
    }

    private static void CollectRun(
        IndexRun run, long offset, long visible, long nextRunOffset, FoundEntries found)
    {
        int count = run.CountBefore(visible, run.Count);
        found.Segment = run.Segment;
        found.NextOffset = nextRunOffset;
        int index = run.IndexOf(offset, count);
        while (index < count && found.TryTake(run.EntryAt(index)))
            index++;
    }

    private void CollectSealed(Queue queue, long offset, FoundEntries found)
    {
        Segment[] sealedOnes = IndexedSegments();
        for (int i = FirstSegmentOf(sealedOnes, queue.Id, offset); i < sealedOnes.Length; i++)
        {
            OpenSegment open = segments.Acquire(sealedOnes[i]);
            try
            {
                if (open.Index.TryFind(queue.Id, out SealedQueue row) && row.EntryCount > 0)
                {
                    CollectBlocks(open.Index, row, offset, found);
                    if (found.EndOffset > offset || found.NextOffset > offset)
                    {
                        found.Segment = sealedOnes[i];
                        return;
                    }
                }
            }
            finally
            {
                segments.Release(open);
            }
        }
    }

    private static void CollectBlocks(SealedIndex index, in SealedQueue row, long offset, FoundEntries found)
    {
        var entries = new SealedEntry[SealedBlock.MaxEntries];
        for (int block = Math.Max(0, index.FindBlock(row, new QueueOffset(offset))); block < row.BlockCount; block++)
        {
            if (!TryReadBlock(index, row, block, entries, found, out int count))
                return;
            foreach (ref readonly SealedEntry entry in entries.AsSpan(0, count))
            {
                if (entry.EndOffset <= offset)
                    continue;
                if (entry.FirstOffset > found.LookedEndOffset)
                {
                    // Lost between; told only when nothing before it is to be told first.
                    found.NextOffset = found.EndOffset == offset ? entry.FirstOffset : offset;
                    return;
                }
                if (!found.TryTake(entry))
                    return;
            }
        }
    }

    /// <summary>Reads a block; one that is damaged is the next read's when this one has something to give.</summary>
    private static bool TryReadBlock(
        SealedIndex index, in SealedQueue row, int block, SealedEntry[] entries, FoundEntries found, out int count)
    {
        try
        {
            count = index.ReadBlock(row, block, entries);
            return true;
        }
        catch (StoreFormatException) when (found.Entries.Count > 0)
        {
            count = 0;
            return false;
        }
    }

    private long? FindSealedTime(Queue queue, long storedTimeMs, IndexRun? oldest)
    {
        TimeResets resets = log.State.TimeResets;
        Segment[] sealedOnes = IndexedSegments();
        // A row does not say where its last entry is: one that seems too late costs looks, no result.
        int first = FirstSegment(
            sealedOnes,
            queue.Id,
            (segment, row) => resets.Correct(segment.EndPosition, row.LastStoredTimeMs) >= storedTimeMs);
        for (int i = first; i < sealedOnes.Length; i++)
        {
            if (oldest is not null && sealedOnes[i].BasePosition >= oldest.Segment.BasePosition)
                return null;
            OpenSegment open = segments.Acquire(sealedOnes[i]);
            try
            {
                if (open.Index.TryFind(queue.Id, out SealedQueue row)
                    && FindTimeInBlocks(open.Index, row, storedTimeMs, resets) is { } offset)
                {
                    return offset;
                }
            }
            finally
            {
                segments.Release(open);
            }
        }
        return null;
    }

    private static long? FindTimeInBlocks(
        SealedIndex index, in SealedQueue row, long storedTimeMs, TimeResets resets)
    {
        var entries = new SealedEntry[SealedBlock.MaxEntries];
        int first = Math.Max(0, index.FindBlockByTime(row, storedTimeMs, resets));
        for (int block = first; block < row.BlockCount; block++)
        {
            int count = index.ReadBlock(row, block, entries);
            foreach (ref readonly SealedEntry entry in entries.AsSpan(0, count))
            {
                if (resets.Correct(entry.Position, entry.StoredTimeMs) >= storedTimeMs)
                    return entry.FirstOffset;
            }
        }
        return null;
    }

    private static long? FindPositionInBlocks(SealedIndex index, in SealedQueue row, long position)
    {
        var entries = new SealedEntry[SealedBlock.MaxEntries];
        for (int block = Math.Max(0, index.FindBlockByPosition(row, position)); block < row.BlockCount; block++)
        {
            int count = index.ReadBlock(row, block, entries);
            foreach (ref readonly SealedEntry entry in entries.AsSpan(0, count))
            {
                if (entry.Position >= position)
                    return entry.FirstOffset;
            }
        }
        return null;
    }

    /// <summary>The first segment that ends behind an offset of a queue; their number when none does.</summary>
    public int FirstSegmentOf(Segment[] sealedOnes, QueueId queue, long offset) =>
        FirstSegment(sealedOnes, queue, (_, row) => row.NextOffset > offset);

    /// <summary>Where the last segment ends for a queue that ends before an offset; 0 when none does.</summary>
    public long FindEndBefore(Queue queue, long offset)
    {
        Segment[] sealedOnes = IndexedSegments();
        int before = FirstSegmentOf(sealedOnes, queue.Id, offset - 1) - 1;
        if (before < 0)
            return 0;
        OpenSegment open = segments.Acquire(sealedOnes[before]);
        try
        {
            return open.Index.TryFind(queue.Id, out SealedQueue row) ? row.NextOffset : 0;
        }
        finally
        {
            segments.Release(open);
        }
    }

    /// <summary>Segments whose index files answer, oldest first.</summary>
    public Segment[] IndexedSegments() =>
        Array.FindAll(log.Segments, segment => segment is { HasIndex: true, IsLost: false });

    /// <summary>The first segment whose directory says yes; a queue that is not in it came later, so the answer is
    /// no.</summary>
    private int FirstSegment(Segment[] sealedOnes, QueueId queue, Func<Segment, SealedQueue, bool> isThere)
    {
        int low = 0, high = sealedOnes.Length;
        while (low < high)
        {
            int middle = (low + high) >>> 1;
            OpenSegment open = segments.Acquire(sealedOnes[middle]);
            try
            {
                if (open.Index.TryFind(queue, out SealedQueue row) && isThere(sealedOnes[middle], row))
                {
                    high = middle;
                }
                else
                {
                    low = middle + 1;
                }
            }
            finally
            {
                segments.Release(open);
            }
        }
        return low;
    }
}
