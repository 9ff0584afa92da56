using System.Buffers.Binary;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <content>Key filters: section 4, which an index has once it was asked for.</content>
internal sealed partial class SealedIndex
{
    /// <summary>Whether it has key filters, good or not.</summary>
    public bool HasKeyFilters => _file.TryFind(KeyFilterSection.Type, out _);

    /// <summary>Looks a key up in the filter of a queue: a few small reads, each checked.</summary>
    /// <param name="queue">Whose filter.</param>
    /// <param name="hash">From <see cref="KeyFilter.HashOf"/>.</param>
    public KeyVerdict LookUpKey(QueueId queue, ulong hash)
    {
        if (!_file.TryFind(KeyFilterSection.Type, out FileSection section))
            return KeyVerdict.NoFilters;
        Span<byte> bytes = stackalloc byte[KeyFilterRow.RowSize];
        long low = 0, high = Math.Min(section.ItemCount, section.Length / KeyFilterRow.RowSize);
        while (low < high)
        {
            long middle = low + ((high - low) / 2);
            if (!_file.TryRead(section, middle * KeyFilterRow.RowSize, bytes)
                || !KeyFilterRow.TryRead(bytes, out KeyFilterRow row))
            {
                return KeyVerdict.Damaged;
            }

            if (row.Queue == queue)
                return LookUpKey(section, row, hash);
            if (row.Queue.Value < queue.Value)
                low = middle + 1;
            else
                high = middle;
        }

        return KeyVerdict.Unknown;
    }

    private KeyVerdict LookUpKey(in FileSection section, in KeyFilterRow row, ulong hash)
    {
        if (row.BitsPerKey != KeyFilter.BitsPerKey)
            return KeyVerdict.Unknown;
        if (row.IsEmpty)
            return KeyVerdict.Absent;
        Span<byte> block = stackalloc byte[KeyFilter.LargestBlock + KeyFilterRow.BlockCrcSize];
        block = block[..(row.BlockBytes + KeyFilterRow.BlockCrcSize)];
        long offset = row.Offset + ((long)KeyFilter.BlockOf(hash, row.BlockCount) * block.Length);
        if (!_file.TryRead(section, offset, block))
            return KeyVerdict.Damaged;
        ReadOnlySpan<byte> bits = block[..row.BlockBytes];
        if (BinaryPrimitives.ReadUInt32LittleEndian(block[row.BlockBytes..]) != Crc32C.Compute(bits))
            return KeyVerdict.Damaged;
        return KeyFilter.MayHold(hash, bits) ? KeyVerdict.Maybe : KeyVerdict.Absent;
    }
}
