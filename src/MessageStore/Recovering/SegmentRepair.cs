using EQueue.Protocol;

using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Writes into the segments of a log that is opened: headers that are not whole, bytes that no entry proves
/// durable, and the end, which is cut, reserved or sealed.</summary>
/// <remarks>
/// Made by <see cref="Recovery"/> in its second phase and used on its thread. Every step may be interrupted by a crash
/// and is then repeated with the same result.
/// </remarks>
internal sealed class SegmentRepair(IDisk disk, ILogger logger, StoreHeader store, Lead? lead)
{
    private const int RewriteSize = 1 << 20;

    /// <summary>A segment with less room than this cannot hold the start of an epoch and a seal.</summary>
    private const int SmallestRoom = 2 * EntryHeader.Length;

    /// <summary>Writes the headers again that are not whole.</summary>
    /// <param name="bases">Where the segments begin that are no packs.</param>
    /// <param name="verdicts">On the headers of these.</param>
    /// <param name="segments">All of the log.</param>
    /// <param name="epoch">The last one of the log.</param>
    public void RewriteHeaders(
        List<LogPosition> bases, List<FileVerdict> verdicts, List<Segment> segments, int epoch)
    {
        foreach (Segment segment in segments.Where(segment => !segment.IsPacked))
        {
            FileVerdict verdict = verdicts[bases.FindIndex(position => position.Value == segment.BasePosition)];
            if (verdict == FileVerdict.Valid)
                continue;

            Log.SegmentHeaderRewritten(logger, segment.Path, verdict);
            var header = new SegmentHeader
            {
                StoreId = store.StoreId,
                LogId = store.LogIds[0],
                BasePosition = new LogPosition(segment.BasePosition),
                Epoch = epoch,
                CreatedMs = segment.CreatedTimeMs,
                Capacity = segment.Capacity,
            };
            byte[] bytes = new byte[SegmentHeader.Length];
            header.Write(bytes);
            using IDiskFile file = disk.Open(segment.Path, DiskOpen.ReadWrite);
            file.Write(bytes, 0);
            file.Sync();
        }
    }

    /// <summary>
    /// Writes again and syncs what no entry proves durable: after the death of the process the bytes are in the
    /// system's memory, and a sync that failed before may have forgotten them.
    /// </summary>
    public long RewriteUnproven(List<Segment> segments, LogWalk walk)
    {
        long total = 0;
        byte[] bytes = new byte[RewriteSize];
        for (int i = 0; i < segments.Count; i++)
        {
            long from = Math.Max(lead?.Durable.Value ?? walk.ProvenDurable, segments[i].BasePosition);
            long to = Math.Min(walk.End, i + 1 < segments.Count ? segments[i + 1].BasePosition : walk.End);
            if (from >= to || segments[i].IsPacked)
                continue;

            using IDiskFile file = disk.Open(segments[i].Path, DiskOpen.ReadWrite);
            Rewrite(file, 0, SegmentHeader.Length, bytes);
            Rewrite(file, segments[i].FileOffsetOf(from), segments[i].FileOffsetOf(to), bytes);
            file.Sync();
            total += to - from;
        }

        return total;
    }

    /// <summary>Writes a range of a file again, as it reads now; its sync is the caller's.</summary>
    public static void Rewrite(IDiskFile file, long from, long to, byte[] bytes)
    {
        while (from < to)
        {
            int size = file.Read(bytes.AsSpan(0, (int)Math.Min(bytes.Length, to - from)), from);
            if (size <= 0)
                return;
            file.Write(bytes.AsSpan(0, size), from);
            from += size;
        }
    }

    /// <summary>Cuts what follows the end and leaves the segment open for appends, or seals it when it is as good as
    /// full.</summary>
    /// <param name="last">The segment in which the log ends.</param>
    /// <param name="walk">Found its end.</param>
    /// <param name="lastStoredTimeMs">Stamped into a seal.</param>
    /// <param name="epochs">Of the log; a seal is noted there.</param>
    public void OpenLast(Segment last, LogWalk walk, long lastStoredTimeMs, EpochList epochs)
    {
        IDiskFile file = disk.Open(last.Path, DiskOpen.ReadWrite);
        try
        {
            long end = last.FileOffsetOf(walk.End);
            long length = SegmentHeader.Length + last.Capacity;
            bool hasRoom = walk.End + SmallestRoom <= last.BasePosition + last.Capacity;
            if (walk.HasTornTail)
            {
                Log.TornTailCut(logger, last.Path, walk.End, file.Length - end);
                file.Truncate(end);
                file.Sync();
            }

            if (hasRoom)
            {
                Reserve(file, length);
                last.File = file;
                return;
            }

            last.EndPosition = Seal(file, last, walk, lastStoredTimeMs, epochs);
            file.Dispose();
        }
        catch
        {
            file.Dispose();
            throw;
        }
    }

    /// <summary>Without room nothing is reserved: the log takes no messages until there is some.</summary>
    private static void Reserve(IDiskFile file, long length)
    {
        try
        {
            file.Preallocate(0, length);
            file.Sync();
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Full)
        {
            // A passing shortage is no reason not to open.
        }
    }

    private long Seal(IDiskFile file, Segment last, LogWalk walk, long lastStoredTimeMs, EpochList epochs)
    {
        var position = new LogPosition(walk.End);
        var header = new EntryHeader
        {
            Size = EntryHeader.Length,
            Position = position,
            Queue = QueueId.State,
            // An entry of the epoch before that its leader never wrote would contradict what that has here.
            Epoch = lead?.Epoch ?? walk.Epoch,
            StoredTimeMs = lastStoredTimeMs,
            Kind = EntryKind.Seal,
        };
        if (walk.End + EntryHeader.Length > last.BasePosition + last.Capacity)
            return walk.End; // damage reaches to the end of the file: the next segment just begins behind it

        Span<byte> bytes = stackalloc byte[EntryHeader.Length];
        EntryHeader.Write(bytes, header, EntryHeader.SeedOf(store.LogIds[0]), []);
        file.Write(bytes, last.FileOffsetOf(walk.End));
        file.Sync();
        epochs.Visit(header);
        return walk.End + EntryHeader.Length;
    }
}
