namespace EQueue.MessageStore;

/// <summary>What of a sealed segment is kept: the directory of its index and the starts of the queues tell.</summary>
internal sealed class SegmentLiveness(CommitLog log, IDisk disk)
{
    /// <summary>Whether nothing of it can be read any more. State records count as dead: snapshots hold what they
    /// said.</summary>
    public bool IsDead(Segment segment) =>
        segment.IsLost ? IsPast(segment) : RowsOf(segment).All(row => LiveBytesOf(row) == 0);

    /// <summary>Bytes of entries that are kept; of a queue that starts in the middle its share by offsets.</summary>
    public long CountLiveBytes(Segment segment, out long rows)
    {
        long live = 0;
        rows = 0;
        if (segment.IsLost)
            return 0;
        foreach (SealedQueue row in RowsOf(segment))
        {
            rows++;
            live += LiveBytesOf(row);
        }

        return live;
    }

    /// <summary>When the log is too large: how far starts must move so that the oldest segments can go.</summary>
    /// <exception cref="StoreFormatException">An index file is damaged.</exception>
    public Dictionary<QueueId, long> FindOverflow(long maxBytes)
    {
        var starts = new Dictionary<QueueId, long>();
        Segment[] segments = log.Segments;
        long total = segments.Sum(segment => segment.FileBytes);
        foreach (Segment segment in segments)
        {
            if (total <= maxBytes || !segment.HasIndex)
                break;
            total -= segment.FileBytes;
            if (segment.IsLost)
                continue;
            foreach (SealedQueue row in RowsOf(segment))
            {
                if (row.EntryCount > 0 && row.Queue != QueueId.State)
                    starts[row.Queue] = row.NextOffset;
            }
        }

        return starts;
    }

    /// <summary>Whether no reader can come to what was lost with the oldest segment: the next index tells where each
    /// queue goes on, and its own index may be gone. Until then the log keeps the segment, so that it is counted as
    /// lost.</summary>
    private bool IsPast(Segment oldest)
    {
        Segment? next = Array.Find(
            log.Segments, segment => segment.BasePosition >= oldest.EndPosition && !segment.IsLost);
        return next is { HasIndex: true } && RowsOf(next).All(BeginsIn);
    }

    /// <summary>Whether a queue begins in the segment of this row or behind it.</summary>
    private bool BeginsIn(SealedQueue row) =>
        row.Queue == QueueId.State
        || log.State.Queues.Find(row.Queue) is not { } queue
        || queue.Start >= row.FirstOffset;

    private long LiveBytesOf(in SealedQueue row)
    {
        if (row.EntryCount == 0 || row.Queue == QueueId.State || log.State.Queues.Find(row.Queue) is not { } queue)
            return 0;
        long start = queue.Start;
        if (start >= row.NextOffset)
            return 0;
        return start <= row.FirstOffset
            ? row.Bytes
            : Math.Max(1, (long)((double)(row.NextOffset - start) / (row.NextOffset - row.FirstOffset) * row.Bytes));
    }

    // Opened for this look alone: the files that readers have open are those that readers need. A segment that is found
    // to be lost meanwhile fails the look: without rows it would seem dead.
    private IEnumerable<SealedQueue> RowsOf(Segment segment)
    {
        using SealedIndex index = segment.OpenIndex(disk, log.LogId);
        foreach (SealedQueue row in index.ReadQueues())
            yield return row;
    }
}
