using System.Buffers;
using System.Runtime.InteropServices;

namespace EQueue.MessageStore;

/// <summary>Reads entries from files in few large reads, and checks their CRC. On the disk threads.</summary>
internal sealed class EntryReader(CommitLog log, OpenSegments segments, ColdPages pages)
{
    /// <summary>Entries of other queues between two of this one are read over up to so many bytes: cheaper than
    /// another read.</summary>
    private const int LargestSkip = 32 << 10;

    /// <summary>The most bytes of one read, a larger single entry excepted.</summary>
    private const int LargestRead = 1 << 20;

    private readonly uint _logSeed = EntryHeader.SeedOf(log.LogId);

    /// <summary>Reads the first entries that lie close to each other.</summary>
    /// <param name="open">Where they are.</param>
    /// <param name="id">Whose they are.</param>
    /// <param name="entries">By rising offset, at least one; those that were read are taken off.</param>
    /// <param name="destination">Takes the whole ones, up to the first that is not.</param>
    /// <param name="isDamaged">Whether the first of those that are left is not whole.</param>
    /// <returns>Bytes given.</returns>
    public int Read(
        OpenSegment open,
        QueueId id,
        ref ReadOnlySpan<SealedEntry> entries,
        IBufferWriter<byte> destination,
        out bool isDamaged)
    {
        ReadOnlySpan<SealedEntry> neighbours = entries[..CountNeighbours(entries, LargestRead)];
        int size = (int)(End(neighbours[^1]) - neighbours[0].FileOffset);
        int whole = SizeOf(neighbours) == size
            ? ReadInto(open, id, neighbours, destination, size)
            : ReadOver(open, id, neighbours, destination, size);
        isDamaged = whole < neighbours.Length;
        entries = entries[whole..];
        return SizeOf(neighbours[..whole]);
    }

    /// <summary>When the reader has what it wanted: lets the system's page cache go of what was read long ago, and has
    /// it fetch what the next read of the queue will want, while others see to what was just read.</summary>
    /// <param name="found">What was looked at; null = nothing, or there is no next read.</param>
    public void TidyUp(FoundEntries? found)
    {
        pages.LetGoOfOld();
        if (found is { Ahead.Count: > 0 } && pages.IsOld(found.Ahead[^1].Position))
            ReadAhead(found);
    }

    private void ReadAhead(FoundEntries found)
    {
        ReadOnlySpan<SealedEntry> entries = CollectionsMarshal.AsSpan(found.Ahead);
        OpenSegment open = segments.Acquire(found.Segment!);
        try
        {
            while (entries.Length > 0)
            {
                int count = CountNeighbours(entries, int.MaxValue);
                long start = entries[0].FileOffset;
                open.File.Advise(start, End(entries[count - 1]) - start, DiskAdvice.WillNeed);
                entries = entries[count..];
            }
        }
        catch (DiskException)
        {
            // The segment has been removed or packed: the next read finds out itself.
        }
        finally
        {
            segments.Release(open);
        }
    }

    /// <summary>How many of the first entries lie so close that one read is cheaper than several.</summary>
    private static int CountNeighbours(ReadOnlySpan<SealedEntry> entries, int largestRead)
    {
        int count = 1;
        while (count < entries.Length
            && entries[count].FileOffset - End(entries[count - 1]) <= LargestSkip
            && End(entries[count]) - entries[0].FileOffset <= largestRead)
        {
            count++;
        }
        return count;
    }

    /// <summary>Reads entries with nothing between them to where they are wanted.</summary>
    /// <returns>How many of them are whole.</returns>
    private int ReadInto(
        OpenSegment open,
        QueueId id,
        ReadOnlySpan<SealedEntry> neighbours,
        IBufferWriter<byte> destination,
        int size)
    {
        Span<byte> bytes = destination.GetSpan(size)[..size];
        int whole = ReadWhole(open, id, neighbours, bytes);
        destination.Advance(SizeOf(neighbours[..whole]));
        return whole;
    }

    /// <summary>Reads entries with those of other queues between them, which are left out.</summary>
    /// <returns>How many of them are whole.</returns>
    private int ReadOver(
        OpenSegment open,
        QueueId id,
        ReadOnlySpan<SealedEntry> neighbours,
        IBufferWriter<byte> destination,
        int size)
    {
        byte[] buffer = ArrayPool<byte>.Shared.Rent(size);
        try
        {
            int whole = ReadWhole(open, id, neighbours, buffer.AsSpan(0, size));
            foreach (ref readonly SealedEntry entry in neighbours[..whole])
                destination.Write(buffer.AsSpan((int)(entry.FileOffset - neighbours[0].FileOffset), entry.Size));
            return whole;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    /// <returns>How many of the entries are whole, up to the first that is not.</returns>
    private int ReadWhole(OpenSegment open, QueueId id, ReadOnlySpan<SealedEntry> neighbours, Span<byte> bytes)
    {
        long start = neighbours[0].FileOffset;
        int read = ReadNeighbours(open.File, bytes, neighbours);
        pages.Note(open.Segment, neighbours[^1].Position, start, bytes.Length);
        int whole = 0;
        while (whole < neighbours.Length && IsWhole(bytes[..read], start, id, neighbours[whole]))
            whole++;
        return whole;
    }

    /// <summary>Reads entries at once, or, where the device cannot, one by one up to the first that it cannot
    /// read.</summary>
    /// <returns>Bytes up to there.</returns>
    private static int ReadNeighbours(IDiskFile file, Span<byte> bytes, ReadOnlySpan<SealedEntry> entries)
    {
        long start = entries[0].FileOffset;
        int read = file.ReadOrNothing(bytes, start);
        if (read > 0)
            return read;
        foreach (ref readonly SealedEntry entry in entries)
        {
            int at = (int)(entry.FileOffset - start);
            if (file.ReadOrNothing(bytes.Slice(at, entry.Size), entry.FileOffset) < entry.Size)
                return at;
            read = at + entry.Size;
        }
        return read;
    }

    private static long End(in SealedEntry entry) => entry.FileOffset + entry.Size;

    private static int SizeOf(ReadOnlySpan<SealedEntry> entries)
    {
        int size = 0;
        foreach (ref readonly SealedEntry entry in entries)
            size += entry.Size;
        return size;
    }

    private bool IsWhole(ReadOnlySpan<byte> bytes, long start, QueueId id, in SealedEntry entry)
    {
        int at = (int)(entry.FileOffset - start);
        return bytes.Length - at >= entry.Size
            && StoredEntry.IsWhole(bytes.Slice(at, entry.Size), id, entry, _logSeed);
    }
}
