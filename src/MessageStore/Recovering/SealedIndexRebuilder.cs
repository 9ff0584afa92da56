using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Writes the index of a sealed segment: from its runs in memory, or from its file when the index is gone or
/// damaged.</summary>
internal static class SealedIndexRebuilder
{
    /// <summary>An index continues the one before it, so those before it that cannot be used are rebuilt
    /// first.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="logId">Whose.</param>
    /// <param name="chain">The log's segments, oldest first.</param>
    /// <param name="at">Which one is to be rebuilt.</param>
    /// <returns>The one to begin with; this one or before it.</returns>
    public static int FirstToRebuild(IDisk disk, Guid logId, IReadOnlyList<Segment> chain, int at)
    {
        while (at > 0 && !IsWhole(disk, logId, chain[at - 1]))
            at--;
        return at;
    }

    /// <summary>Scans a segment and writes its index.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="store">Store and log id.</param>
    /// <param name="chain">The log's segments, oldest first.</param>
    /// <param name="at">Which one: sealed, or packed; the one before it has a whole index.</param>
    /// <param name="nowMs">Unix milliseconds.</param>
    /// <returns>Bytes of the segment that are damaged and therefore not in the index.</returns>
    /// <exception cref="StoreFormatException">The index before it cannot be used.</exception>
    public static long Rebuild(
        IDisk disk, (Guid StoreId, Guid LogId) store, IReadOnlyList<Segment> chain, int at, long nowMs)
    {
        Segment segment = chain[at];
        var basePosition = new LogPosition(segment.BasePosition);
        var endPosition = new LogPosition(segment.EndPosition);
        var queues = new SortedDictionary<uint, RebuiltQueue>();
        if (at > 0)
            ReadDirectory(disk, store.LogId, chain[at - 1], queues);
        using var scanner = new SegmentScanner(
            disk.Open(segment.Path, DiskOpen.ReadOnly),
            segment.Path,
            basePosition,
            EntryHeader.SeedOf(store.LogId),
            segment.IsPacked ? endPosition : default);
        long end = segment.IsPacked ? scanner.EndOfFile : segment.EndPosition;
        long damagedBytes = 0;
        while (scanner.TryStep(end, out (long Position, long Size) bad))
        {
            if (bad.Size == 0)
                Add(queues, scanner);
            damagedBytes += bad.Size;
        }

        using var writer = new SealedIndexWriter(disk, segment.IndexPath, segment.IsPacked);
        foreach ((uint id, RebuiltQueue queue) in queues)
        {
            writer.BeginQueue(new QueueId(id), new QueueOffset(queue.NextOffset), queue.LastStoredTimeMs);
            foreach (SealedEntry entry in queue.Entries)
                writer.Add(entry);
        }

        // A pack and its index are known to belong together by their time.
        writer.Complete(
            store.StoreId, store.LogId, basePosition, endPosition, scanner.Epoch, segment.PackedMs ?? nowMs);
        return damagedBytes;
    }

    private static void Add(SortedDictionary<uint, RebuiltQueue> queues, SegmentScanner scanner)
    {
        EntryHeader header = scanner.Header;
        if (!header.HasBatch)
            return;

        RecordBatch.TryReadHeader(scanner.Batch, out RecordBatchHeader batch, out _);
        if (!queues.TryGetValue(header.Queue.Value, out RebuiltQueue? queue))
        {
            queue = new RebuiltQueue();
            queues.Add(header.Queue.Value, queue);
        }

        var entry = new SealedEntry(
            batch.BaseOffset.Value,
            batch.NextOffset.Value,
            header.Position.Value,
            header.Size,
            header.StoredTimeMs,
            header.TagBits)
        {
            FileOffset = scanner.FileOffset,
        };
        queue.Entries.Add(entry);
        queue.NextOffset = entry.EndOffset;
        queue.LastStoredTimeMs = entry.StoredTimeMs;
    }

    // What the index before this one says of queues that have nothing here: without their rows, readers that look for
    // them would take it that they came later.
    private static void ReadDirectory(
        IDisk disk, Guid logId, Segment previous, SortedDictionary<uint, RebuiltQueue> queues)
    {
        using SealedIndex index = previous.OpenIndex(disk, logId);
        foreach (SealedQueue row in index.ReadQueues())
        {
            queues[row.Queue.Value] = new RebuiltQueue
            {
                NextOffset = row.NextOffset,
                LastStoredTimeMs = row.LastStoredTimeMs,
            };
        }
    }

    private static bool IsWhole(IDisk disk, Guid logId, Segment segment)
    {
        var basePosition = new LogPosition(segment.BasePosition);
        var endPosition = new LogPosition(segment.EndPosition);
        using var index =
            SealedIndex.OpenOf(disk, segment.IndexPath, logId, basePosition, endPosition, segment.PackedMs);
        return index is not null && index.VerifyAll();
    }

    private sealed class RebuiltQueue
    {
        public List<SealedEntry> Entries { get; } = [];

        public long NextOffset { get; set; }

        public long LastStoredTimeMs { get; set; }
    }
}
