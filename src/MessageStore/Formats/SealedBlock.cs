using System.Buffers.Binary;
using System.Runtime.InteropServices;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>One row of a run's block table, and the coding of the up to 128 entries of a block
/// (little-endian).</summary>
/// <remarks>
/// <code>
///  0 first offset   i64  of the block's first record
///  8 first position u64  of its first entry
/// 16 first time     i64  stored time of its first entry
/// 24 block offset   u32  from the end of the run's block table
/// 28 length         u16  bytes of the block
/// 30 entry count    u16  1..128
/// 32 crc            u32  CRC-32C of the block
/// 36 row crc        u32  CRC-32C of bytes 0..35
/// </code>
/// A block is its entries, each six unsigned LEB128 numbers: position - previous position, size, first offset -
/// previous end offset (above 0 where records are lost), records, stored time - previous stored time, tag bits XOR
/// previous tag bits.
/// Before the first entry stand the row's values and tag bits 0.
/// </remarks>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct SealedBlock(
    long FirstOffset, long FirstPosition, long FirstTimeMs, uint BlockOffset, int Length, int EntryCount, uint Crc)
{
    /// <summary>Bytes of a row.</summary>
    public const int RowSize = 40;

    /// <summary>The most entries of a block.</summary>
    public const int MaxEntries = 128;

    /// <summary>The most bytes of a block: six numbers of at most 10 bytes for each entry.</summary>
    public const int MaxLength = MaxEntries * 6 * MaxNumberSize;

    private const int MaxNumberSize = 10;
    private const int RowCrcOffset = 36;

    public void Write(Span<byte> row)
    {
        BinaryPrimitives.WriteInt64LittleEndian(row, FirstOffset);
        BinaryPrimitives.WriteInt64LittleEndian(row[8..], FirstPosition);
        BinaryPrimitives.WriteInt64LittleEndian(row[16..], FirstTimeMs);
        BinaryPrimitives.WriteUInt32LittleEndian(row[24..], BlockOffset);
        BinaryPrimitives.WriteUInt16LittleEndian(row[28..], (ushort)Length);
        BinaryPrimitives.WriteUInt16LittleEndian(row[30..], (ushort)EntryCount);
        BinaryPrimitives.WriteUInt32LittleEndian(row[32..], Crc);
        BinaryPrimitives.WriteUInt32LittleEndian(row[RowCrcOffset..], Crc32C.Compute(row[..RowCrcOffset]));
    }

    public static bool TryRead(ReadOnlySpan<byte> row, out SealedBlock block)
    {
        block = new SealedBlock(
            BinaryPrimitives.ReadInt64LittleEndian(row),
            BinaryPrimitives.ReadInt64LittleEndian(row[8..]),
            BinaryPrimitives.ReadInt64LittleEndian(row[16..]),
            BinaryPrimitives.ReadUInt32LittleEndian(row[24..]),
            BinaryPrimitives.ReadUInt16LittleEndian(row[28..]),
            BinaryPrimitives.ReadUInt16LittleEndian(row[30..]),
            BinaryPrimitives.ReadUInt32LittleEndian(row[32..]));
        return BinaryPrimitives.ReadUInt32LittleEndian(row[RowCrcOffset..]) == Crc32C.Compute(row[..RowCrcOffset]);
    }

    /// <summary>Encodes entries of one queue in rising order.</summary>
    /// <param name="entries">1 to 128.</param>
    /// <param name="blockOffset">Where the block goes, from the end of the run's table.</param>
    /// <param name="destination">At least <see cref="MaxLength"/> bytes.</param>
    public static SealedBlock Encode(ReadOnlySpan<SealedEntry> entries, uint blockOffset, Span<byte> destination)
    {
        SealedEntry first = entries[0];
        long position = first.Position, offset = first.FirstOffset, time = first.StoredTimeMs;
        uint tagBits = 0;
        int at = 0;
        foreach (SealedEntry entry in entries)
        {
            at = WriteNumber(destination, at, (ulong)(entry.Position - position));
            at = WriteNumber(destination, at, (uint)entry.Size);
            at = WriteNumber(destination, at, (ulong)(entry.FirstOffset - offset));
            at = WriteNumber(destination, at, (ulong)(entry.EndOffset - entry.FirstOffset));
            at = WriteNumber(destination, at, (ulong)(entry.StoredTimeMs - time));
            at = WriteNumber(destination, at, entry.TagBits ^ tagBits);
            (position, offset, time, tagBits) = (entry.Position, entry.EndOffset, entry.StoredTimeMs, entry.TagBits);
        }

        uint crc = Crc32C.Compute(destination[..at]);
        return new SealedBlock(
            first.FirstOffset, first.Position, first.StoredTimeMs, blockOffset, at, entries.Length, crc);
    }

    /// <summary>Decodes the block's bytes; false when they are not what was written.</summary>
    /// <param name="block">Exactly <see cref="Length"/> bytes.</param>
    /// <param name="entries">Room for <see cref="EntryCount"/>.</param>
    public bool TryDecode(ReadOnlySpan<byte> block, Span<SealedEntry> entries)
    {
        if (EntryCount is < 1 or > MaxEntries || block.Length != Length || Crc32C.Compute(block) != Crc)
            return false;

        long position = FirstPosition, offset = FirstOffset, time = FirstTimeMs;
        uint tagBits = 0;
        int at = 0;
        for (int i = 0; i < EntryCount; i++)
        {
            if (!TryReadNumber(block, ref at, out ulong positionDelta) || !TryReadNumber(block, ref at, out ulong size)
                || !TryReadNumber(block, ref at, out ulong gap) || !TryReadNumber(block, ref at, out ulong count)
                || !TryReadNumber(block, ref at, out ulong timeDelta)
                || !TryReadNumber(block, ref at, out ulong tagChange)
                || size is < EntryHeader.Length or > int.MaxValue || count is 0 or > int.MaxValue)
            {
                return false;
            }

            position += (long)positionDelta;
            offset += (long)gap;
            time += (long)timeDelta;
            tagBits ^= (uint)tagChange;
            entries[i] = new SealedEntry(offset, offset + (long)count, position, (int)size, time, tagBits);
            offset += (long)count;
        }

        return at == block.Length;
    }

    private static int WriteNumber(Span<byte> destination, int at, ulong value)
    {
        while (value > 0x7F)
        {
            destination[at++] = (byte)(value | 0x80);
            value >>= 7;
        }

        destination[at] = (byte)value;
        return at + 1;
    }

    private static bool TryReadNumber(ReadOnlySpan<byte> source, ref int at, out ulong value)
    {
        value = 0;
        for (int shift = 0; shift < 64 && at < source.Length; shift += 7)
        {
            byte next = source[at++];
            value |= (ulong)(next & 0x7F) << shift;
            if (next < 0x80)
                return true;
        }

        return false;
    }
}
