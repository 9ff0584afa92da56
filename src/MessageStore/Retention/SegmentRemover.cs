using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Finds and removes the oldest segments when nothing in them is needed any more. The keeper's own, but for
/// <see cref="FindOverflow"/>.</summary>
/// <remarks>
/// A segment goes when every queue's start has passed it, or the queue is gone, and recovery does not begin in it from
/// either of the two kept snapshots. Always the oldest one, so that the log stays one piece.
/// </remarks>
internal sealed class SegmentRemover(
    CommitLog log, StoreOptions options, IDisk disk, string directory, OpenSegments open, ILogger logger)
{
    /// <summary>Without a bound of its own the log takes this share of what its volume could give it.</summary>
    private const double DiskShare = 0.8;

    private long _removed;

    /// <summary>Segments removed since the store was opened.</summary>
    public long Removed => Volatile.Read(ref _removed);

    /// <summary>Removes the oldest segment if it is dead.</summary>
    /// <param name="replayFrom">Recovery may begin here: from the older of the two snapshots.</param>
    /// <returns>Whether one was removed; then ask again.</returns>
    public bool TryRemoveOldest(LogPosition replayFrom)
    {
        Segment segment = log.Segments[0];
        if (!segment.HasIndex || segment.EndPosition > replayFrom.Value || !IsDead(segment))
            return false;

        log.ForgetOldest(segment);
        open.Forget(segment);
        // The segment first: an index without one is removed by recovery, the other way round it would be built again.
        disk.Delete(segment.Path);
        disk.Delete(LogFiles.Index(directory, new LogPosition(segment.BasePosition)));
        disk.SyncDirectory(directory);
        Volatile.Write(ref _removed, _removed + 1);
        Log.SegmentRemoved(logger, segment.Path, segment.EndPosition - segment.BasePosition);
        return true;
    }

    /// <summary>When the log is too large: how far starts must move so that the oldest segments can go.</summary>
    public Dictionary<QueueId, long> FindOverflow()
    {
        var starts = new Dictionary<QueueId, long>();
        Segment[] segments = log.Segments;
        long total = segments.Sum(SizeOf);
        long most = options.MaxLogBytes ?? (long)(DiskShare * (total + disk.FreeBytes(directory)));
        foreach (Segment segment in segments)
        {
            if (total <= most || !segment.HasIndex)
                break;
            total -= SizeOf(segment);
            foreach (SealedQueue row in RowsOf(segment))
            {
                if (row.EntryCount > 0 && row.Queue != QueueId.State)
                    starts[row.Queue] = row.NextOffset;
            }
        }

        return starts;
    }

    private static long SizeOf(Segment segment) =>
        Segment.HeaderSize + (segment.IsSealed ? segment.EndPosition - segment.BasePosition : segment.Capacity);

    private bool IsDead(Segment segment) => RowsOf(segment).All(IsDead);

    private bool IsDead(SealedQueue row) =>
        row.EntryCount == 0 || row.Queue == QueueId.State
        || log.State.Queues.Find(row.Queue) is not { } queue || queue.Start >= row.NextOffset;

    // Opened for this look alone: the files that readers have open are those that readers need.
    private IEnumerable<SealedQueue> RowsOf(Segment segment)
    {
        var position = new LogPosition(segment.BasePosition);
        string path = LogFiles.Index(directory, position);
        FileVerdict verdict = SealedIndex.TryOpen(disk, path, log.LogId, position, out SealedIndex? index);
        if (verdict != FileVerdict.Valid)
            throw new StoreFormatException(path, $"the sealed index cannot be used ({verdict}).");
        using (index)
        {
            foreach (SealedQueue row in index!.ReadQueues())
                yield return row;
        }
    }
}
