namespace EQueue.MessageStore;

/// <summary>Tells by the key filters of sealed segments where a key is not, so that no search reads there. Blocks: for
/// the disk threads only.</summary>
internal sealed class KeySkipper(EntryFinder finder, OpenSegments segments)
{
    /// <summary>Indexes looked at in one piece of work.</summary>
    private const int MaxIndexes = 64;

    /// <summary>Told of a segment in which a filter would have helped, and whether there is one, damaged.</summary>
    public Action<Segment, bool>? FilterWanted { get; set; }

    /// <summary>Passes over segments that do not hold the key.</summary>
    /// <param name="queue">Of the search.</param>
    /// <param name="search">Moved on to where its key may be, or as far as one piece of work goes.</param>
    public void Skip(Queue queue, KeySearch search)
    {
        if (search.Next < search.KnownTo || TailReader.TryFindRun(queue, search.Next, out _, out _))
            return;
        Segment[] sealedOnes = finder.IndexedSegments();
        int first = finder.FirstSegmentOf(sealedOnes, queue.Id, search.Next);
        int last = Math.Min(sealedOnes.Length, first + MaxIndexes);
        for (int i = first; i < last && search.Next < search.To; i++)
        {
            OpenSegment open = segments.Acquire(sealedOnes[i]);
            try
            {
                if (!TrySkip(open, queue.Id, search))
                    return;
            }
            finally
            {
                segments.Release(open);
            }
        }
    }

    private bool TrySkip(OpenSegment open, QueueId queue, KeySearch search)
    {
        if (!open.Index.TryFind(queue, out SealedQueue row) || row.EntryCount == 0)
            return true;
        if (row.FirstOffset > search.Next)
            return false; // lost before it: reading tells
        KeyVerdict verdict = open.Index.LookUpKey(queue, search.Hash);
        if (verdict == KeyVerdict.Absent)
        {
            search.Pass(row.NextOffset);
            return true;
        }

        search.KnownTo = row.NextOffset;
        if (verdict is KeyVerdict.NoFilters or KeyVerdict.Damaged)
            FilterWanted?.Invoke(open.Segment, verdict == KeyVerdict.Damaged);
        return false;
    }
}
