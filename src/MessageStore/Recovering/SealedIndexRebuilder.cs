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
    /// <param name="segment">Sealed, or packed.</param>
    /// <param name="nowMs">Unix milliseconds.</param>
    /// <returns>Bytes of the segment that are damaged and therefore not in the index.</returns>
    public static long Rebuild(
        IDisk disk, string directory, (Guid StoreId, Guid LogId) store, Segment segment, long nowMs)
    {
        var basePosition = new LogPosition(segment.BasePosition);
        var endPosition = new LogPosition(segment.EndPosition);
        var queues = new SortedDictionary<uint, RebuiltQueue>();
        ReadDirectory(disk, directory, store.LogId, basePosition, queues);
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

        writer.Complete(store.StoreId, store.LogId, basePosition, endPosition, scanner.Epoch, nowMs);
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

    // What the index before this one says of queues that have nothing here.
    private static void ReadDirectory(
        IDisk disk,
        string directory,
        Guid logId,
        LogPosition basePosition,
        SortedDictionary<uint, RebuiltQueue> queues)
    {
        foreach ((string path, LogPosition position) in IndexesBefore(disk, directory, basePosition))
        {
            if (SealedIndex.TryOpen(disk, path, logId, position, out SealedIndex? index) != FileVerdict.Valid)
                continue;
            using (index)
            {
                if (index!.Header.EndPosition != basePosition || !index.VerifyAll())
                    continue;
                foreach (SealedQueue row in index.ReadQueues())
                {
                    queues[row.Queue.Value] = new RebuiltQueue
                    {
                        NextOffset = row.NextOffset,
                        LastStoredTimeMs = row.LastStoredTimeMs,
                    };
                }

                return;
            }
        }
    }

    private static IEnumerable<(string Path, LogPosition Position)> IndexesBefore(
        IDisk disk, string directory, LogPosition basePosition)
    {
        foreach (DiskEntry entry in disk.List(directory))
        {
            if (!entry.Name.EndsWith(LogFiles.IndexSuffix, StringComparison.Ordinal))
                continue;
            string pack = entry.Name[..^LogFiles.IndexSuffix.Length];
            bool isIndex = LogFiles.TryParse(entry.Name, LogFiles.IndexSuffix, out LogPosition position)
                || PackFile.TryParse(pack, out position, out _);
            if (isIndex && position < basePosition)
                yield return (Path.Combine(directory, entry.Name), position);
        }
    }

    private sealed class RebuiltQueue
    {
        public List<SealedEntry> Entries { get; } = [];

        public long NextOffset { get; set; }

        public long LastStoredTimeMs { get; set; }
    }
}
