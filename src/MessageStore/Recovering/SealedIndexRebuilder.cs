using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Writes the index of a sealed segment: from its runs in memory, or from its file when the index is gone or
/// damaged.</summary>
internal static class SealedIndexRebuilder
{
    /// <summary>Scans a segment and writes its index.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="directory">The log's folder.</param>
    /// <param name="store">Store and log id.</param>
    /// <param name="basePosition">Of the segment.</param>
    /// <param name="endPosition">Of the segment: the next one's base.</param>
    /// <param name="nowMs">Unix milliseconds.</param>
    /// <returns>Bytes of the segment that are damaged and therefore not in the index.</returns>
    public static long Rebuild(
        IDisk disk,
        string directory,
        (Guid StoreId, Guid LogId) store,
        LogPosition basePosition,
        LogPosition endPosition,
        long nowMs)
    {
        string path = LogFiles.Segment(directory, basePosition);
        var segment = new Segment(path, basePosition.Value, capacity: 0, createdTimeMs: 0);
        var queues = new SortedDictionary<uint, Queue>();
        ReadDirectory(disk, directory, store.LogId, basePosition, queues);
        uint seed = EntryHeader.SeedOf(store.LogId);
        using var scanner = new SegmentScanner(disk.Open(path, DiskOpen.ReadOnly), path, basePosition, seed);
        long damagedBytes = 0;
        while (scanner.Position < endPosition.Value)
        {
            long position = scanner.Position;
            if (scanner.Next() == ScanVerdict.Entry)
            {
                Add(queues, segment, scanner);
                continue;
            }

            long end = endPosition.Value;
            long next = scanner.TryFindNext(position + 1) ? Math.Min(scanner.Position, end) : end;
            damagedBytes += next - position;
            scanner.MoveTo(next);
        }

        using var writer = new SealedIndexWriter(disk, LogFiles.Index(directory, basePosition));
        foreach (Queue queue in queues.Values)
        {
            writer.BeginQueue(queue.Id, new QueueOffset(queue.NextOffset), queue.LastStoredTimeMs);
            WriteRuns(writer, queue.Tail);
        }

        writer.Complete(store.StoreId, store.LogId, basePosition, endPosition, scanner.Epoch, nowMs);
        return damagedBytes;
    }

    /// <summary>Adds the entries of a run and of those of the same segment before it, oldest first.</summary>
    public static void WriteRuns(SealedIndexWriter writer, IndexRun? run)
    {
        var runs = new Stack<IndexRun>();
        for (IndexRun? next = run; next is not null && next.Segment == run!.Segment; next = next.Previous)
            runs.Push(next);
        foreach (IndexRun next in runs)
        {
            for (int i = 0; i < next.Count; i++)
            {
                int size = (int)next[i].Size;
                writer.Add(new SealedEntry(
                    next.FirstOffsetOf(i),
                    next.EndOffsetOf(i),
                    next.PositionOf(i),
                    size,
                    next.TimeOf(i),
                    next[i].TagBits));
            }
        }
    }

    private static void Add(SortedDictionary<uint, Queue> queues, Segment segment, SegmentScanner scanner)
    {
        EntryHeader header = scanner.Header;
        if (!header.HasBatch)
            return;

        RecordBatch.TryReadHeader(scanner.Batch, out RecordBatchHeader batch, out _);
        if (!queues.TryGetValue(header.Queue.Value, out Queue? queue))
        {
            queue = new Queue(header.Queue, default, number: 0);
            queues.Add(header.Queue.Value, queue);
        }

        queue.AddEntry(
            segment,
            header.Position.Value,
            header.Size,
            batch.BaseOffset.Value,
            batch.NextOffset.Value,
            header.StoredTimeMs,
            header.TagBits);
    }

    // What the index before this one says of queues that have nothing here.
    private static void ReadDirectory(
        IDisk disk, string directory, Guid logId, LogPosition basePosition, SortedDictionary<uint, Queue> queues)
    {
        List<LogPosition> indexes = LogFiles.Find(disk, directory, LogFiles.IndexSuffix);
        int before = indexes.FindLastIndex(position => position < basePosition);
        if (before < 0)
            return;

        string path = LogFiles.Index(directory, indexes[before]);
        if (SealedIndex.TryOpen(disk, path, logId, indexes[before], out SealedIndex? index) != FileVerdict.Valid)
            return;
        using (index)
        {
            if (index!.Header.EndPosition != basePosition || !index.VerifyAll())
                return;
            for (long i = 0; i < index.QueueCount; i++)
            {
                SealedQueue row = index.ReadQueue(i);
                queues[row.Queue.Value] = new Queue(row.Queue, default, number: 0)
                {
                    NextOffset = row.NextOffset,
                    LastStoredTimeMs = row.LastStoredTimeMs,
                };
            }
        }
    }
}
