using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Gives a leader's log to its followers, byte for byte, by position.</summary>
internal sealed class StoredReader(CommitLog log, IDisk disk)
{
    /// <inheritdoc cref="QueueStore.ReadStored"/>
    public int Read(LogPosition from, Span<byte> destination, out int needed)
    {
        needed = 0;
        int size = ReadBytes(from.Value, destination);
        return size < 0 ? size : StoredEntries.CountWhole(destination[..size], from, out needed);
    }

    /// <inheritdoc cref="QueueStore.Holds"/>
    public bool? Holds(in ReplicaTail tail)
    {
        if (tail is { Epoch: 0, End.Value: 0 })
            return true;
        Span<byte> bytes = stackalloc byte[EntryHeader.Length];
        int size = ReadBytes(tail.Position.Value, bytes);
        if (size < 0)
            return null;
        return size == bytes.Length && ReplicaTail.Behind(EntryHeader.Read(bytes)) == tail;
    }

    /// <inheritdoc cref="QueueStore.EndOfEpoch"/>
    public (int Epoch, LogPosition End) EndOfEpoch(int epoch)
    {
        LogPosition written = log.Watermarks.Written;
        return EpochList.EndOf(log.Epochs, epoch, written);
    }

    /// <summary>Bytes up to what is written, of one segment; -1 when they are packed or gone.</summary>
    private int ReadBytes(long from, Span<byte> destination)
    {
        long written = log.Watermarks.Written.Value;
        if (from >= written)
            return 0;
        Segment? segment = Array.FindLast(log.Segments, one => one.BasePosition <= from);
        if (segment is null or { IsPacked: true } or { IsLost: true })
            return -1;
        long end = segment.IsSealed ? Math.Min(written, segment.EndPosition) : written;
        Span<byte> wanted = destination[..(int)Math.Min(destination.Length, Math.Max(0, end - from))];
        if (log.IsInMemory(from))
        {
            log.Arena.Read(from, wanted);
            if (log.IsStillInMemory(from))
                return wanted.Length;
        }

        using IDiskFile file = disk.Open(segment.Path, DiskOpen.ReadOnly);
        return file.Read(wanted, segment.FileOffsetOf(from));
    }
}
