using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Goes over one sealed segment and gathers the keys of each queue into a filter.</summary>
/// <remarks>
/// A queue whose messages cannot all be looked into gets none, so that a search for a key is told of them. Memory:
/// the filters, at most <see cref="MaxBytes"/> together; queues beyond that get none. One thread.
/// </remarks>
internal sealed class SegmentKeys
{
    /// <summary>Memory for the filters of one segment.</summary>
    private const long MaxBytes = 32 << 20;

    /// <summary>The most bytes of one decompressed batch.</summary>
    private const int MaxPlainBytes = KeySearch.MaxPlainBytes;

    private readonly Dictionary<uint, QueueKeys> _queues = [];

    private SegmentKeys(SealedIndex index)
    {
        long bytes = 0;
        foreach (SealedQueue row in index.ReadQueues())
        {
            if (row.EntryCount == 0 || row.Queue == QueueId.State)
                continue;
            var filter = new KeyFilter(row.NextOffset - row.FirstOffset);
            bytes += filter.SizeBytes;
            if (bytes > MaxBytes)
                break;
            _queues.Add(row.Queue.Value, new QueueKeys(filter, row.NextOffset) { Next = row.FirstOffset });
        }
    }

    /// <summary>Reads a segment.</summary>
    /// <param name="file">The segment's, given up to this call.</param>
    /// <param name="segment">Sealed, or packed.</param>
    /// <param name="index">Its index.</param>
    /// <param name="logId">The log's.</param>
    /// <returns>The filters by queue id; null when the segment is damaged: what was there is unknown.</returns>
    public static SortedDictionary<uint, KeyFilter>? Gather(
        IDiskFile file, Segment segment, SealedIndex index, Guid logId)
    {
        var endPosition = new LogPosition(segment.EndPosition);
        using var scanner = new SegmentScanner(
            file,
            segment.Path,
            new LogPosition(segment.BasePosition),
            EntryHeader.SeedOf(logId),
            segment.IsPacked ? endPosition : default);
        var keys = new SegmentKeys(index);
        long end = segment.IsPacked ? scanner.EndOfFile : segment.EndPosition;
        while (scanner.TryStep(end, out (long Position, long Size) bad))
        {
            if (bad.Size > 0)
                return null;
            if (scanner.Header.HasBatch && keys._queues.TryGetValue(scanner.Header.Queue.Value, out QueueKeys? queue)
                && !queue.TryAdd(scanner.Batch))
            {
                keys._queues.Remove(scanner.Header.Queue.Value);
            }
        }

        return keys.Conclude();
    }

    private SortedDictionary<uint, KeyFilter> Conclude()
    {
        var filters = new SortedDictionary<uint, KeyFilter>();
        foreach ((uint id, QueueKeys queue) in _queues)
        {
            if (queue.Next != queue.End || !queue.Filter.IsUseful)
                continue;
            queue.Filter.Fold();
            filters.Add(id, queue.Filter);
        }

        return filters;
    }

    /// <summary>One queue: its filter, and the offset up to which it is complete.</summary>
    private sealed class QueueKeys(KeyFilter filter, long end)
    {
        public KeyFilter Filter { get; } = filter;

        public long End { get; } = end;

        public long Next { get; set; }

        /// <summary>Adds the keys of the queue's next batch; false when some would be missing.</summary>
        public bool TryAdd(ReadOnlySpan<byte> batch)
        {
            RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _);
            if (header.BaseOffset.Value != Next)
                return false;
            Next = header.NextOffset.Value;
            if (header.Codec == RecordCodec.None)
                return TryAddPlain(batch);
            return RecordBatch.Decompress(batch.ToArray(), MaxPlainBytes, out ReadOnlyMemory<byte> plain)
                == ErrorCode.None && TryAddPlain(plain.Span);
        }

        private bool TryAddPlain(ReadOnlySpan<byte> batch)
        {
            var records = new RecordReader(batch);
            while (records.TryRead(out RecordView record))
            {
                if (record.HasKey)
                    Filter.Add(KeyFilter.HashOf(record.Key));
            }

            return records.Error == ErrorCode.None;
        }
    }
}
