using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Entries as a log stores them, back to back in memory: what a leader gives and a follower takes.</summary>
internal static class StoredEntries
{
    /// <summary>How many of these bytes may be given in one answer: whole entries, whole groups, nothing behind a seal,
    /// and the start of an epoch only as the first.</summary>
    /// <param name="bytes">From the start of an entry on; the last may be cut off.</param>
    /// <param name="position">Where they stand in the log.</param>
    /// <param name="needed">Bytes that the first entry, or its group, needs when nothing may be given; 0 when they do
    /// not say.</param>
    public static int CountWhole(ReadOnlySpan<byte> bytes, LogPosition position, out int needed)
    {
        int whole = 0;
        int next = 0;
        needed = 0;
        while (bytes.Length - next >= EntryHeader.Length)
        {
            var header = EntryHeader.Read(bytes[next..]);
            if (header.Size < EntryHeader.Length || header.Position.Value != position.Value + next)
                return whole;
            if (header.Kind == EntryKind.EpochStart && next > 0)
                return whole;
            if (header.Size > bytes.Length - next)
            {
                needed = whole == 0 ? next + header.Size : 0;
                return whole;
            }

            next += header.Size;
            if (header.Flags.HasFlag(EntryFlags.More))
                continue;
            whole = next;
            if (header.Kind == EntryKind.Seal)
                return whole;
        }

        needed = whole == 0 && next > 0 ? next + EntryHeader.Length : 0;
        return whole;
    }

    /// <summary>Checks entries of a leader, every byte of them.</summary>
    /// <param name="bytes">Whole entries and groups.</param>
    /// <param name="tail">What they follow.</param>
    /// <param name="epoch">The leader's: none of them is above it.</param>
    /// <param name="logSeed">From <see cref="EntryHeader.SeedOf"/>.</param>
    /// <exception cref="ReplicaException">They are not what may stand there.</exception>
    /// <exception cref="StoreFormatException">They are a later version's.</exception>
    public static List<EntryHeader> Check(ReadOnlySpan<byte> bytes, ReplicaTail tail, int epoch, uint logSeed)
    {
        var headers = new List<EntryHeader>();
        int last = tail.Epoch;
        for (int next = 0; next < bytes.Length;)
        {
            long position = tail.End.Value + next;
            ReadOnlySpan<byte> rest = bytes[next..];
            if (!TryRead(rest, position, logSeed, out EntryHeader header))
                throw new ReplicaException($"no whole entry at {position}: {rest.Length} bytes do not begin with one.");
            if (header.MustBeRefused)
                throw new StoreFormatException($"entry at {position}", "it was written by a later version.");
            if (header.Epoch < last || header.Epoch > epoch)
                throw new ReplicaException($"the entry at {position} has epoch {header.Epoch}, not {last} to {epoch}.");
            bool isInGroup = headers.Count > 0 && headers[^1].Flags.HasFlag(EntryFlags.More);
            if (isInGroup && (header.Epoch != last || !header.HasBatch))
                throw new ReplicaException($"the group that the entry at {position} ends is not whole.");
            last = header.Epoch;
            headers.Add(header);
            next += header.Size;
        }

        if (headers.Count > 0 && headers[^1].Flags.HasFlag(EntryFlags.More))
            throw new ReplicaException($"the group at {headers[^1].Position} is not whole.");
        return headers;
    }

    /// <summary>Reads an entry and compares its checksum and its batch's.</summary>
    private static bool TryRead(ReadOnlySpan<byte> bytes, long position, uint logSeed, out EntryHeader header)
    {
        header = default;
        if (bytes.Length < EntryHeader.Length)
            return false;
        header = EntryHeader.Read(bytes);
        if (header.Position.Value != position || header.HeaderLength < EntryHeader.Length || header.Epoch < 0
            || header.Size < header.HeaderLength || header.Size > bytes.Length)
        {
            return false;
        }

        ReadOnlySpan<byte> batch = bytes[header.HeaderLength..header.Size];
        uint crc = EntryHeader.ComputeCrc(logSeed, bytes[..header.HeaderLength], batch);
        if (crc != header.Crc)
            return false;
        return SegmentScanner.HasRightSize(header, bytes)
            && (!header.HasBatch
                || (RecordBatch.TryReadHeader(batch, out _, out _) && RecordBatch.HasValidCrc(batch)));
    }
}
