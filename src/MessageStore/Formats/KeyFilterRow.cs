using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.InteropServices;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>One row of a sealed index's key section: where the key filter of a queue is (little-endian).</summary>
/// <remarks>
/// <code>
///  0 queue id      u32
///  4 block size    u16  bytes of bits in each block: 16 to 4096, a power of two; 0 = no message has a key
///  6 bits per key  u8   7; a filter with another number tells nothing
///  7 reserved      u8   0
///  8 block count   u32  a power of two; 0 with block size 0
/// 12 block offset  u64  of the first block, from the section's first byte
/// 20 crc           u32  CRC-32C of bytes 0..19
/// </code>
/// A block is its bits, then their CRC-32C (u32).
/// </remarks>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct KeyFilterRow(QueueId Queue, int BlockBytes, int BitsPerKey, int BlockCount, long Offset)
{
    /// <summary>Bytes of a row.</summary>
    public const int RowSize = 24;

    /// <summary>Bytes of a block's checksum.</summary>
    public const int BlockCrcSize = 4;

    private const int CrcOffset = 20;

    /// <summary>Whether no message of the queue has a key.</summary>
    public bool IsEmpty => BlockBytes == 0;

    public void Write(Span<byte> row)
    {
        row.Clear();
        BinaryPrimitives.WriteUInt32LittleEndian(row, Queue.Value);
        BinaryPrimitives.WriteUInt16LittleEndian(row[4..], (ushort)BlockBytes);
        row[6] = (byte)BitsPerKey;
        BinaryPrimitives.WriteInt32LittleEndian(row[8..], BlockCount);
        BinaryPrimitives.WriteInt64LittleEndian(row[12..], Offset);
        BinaryPrimitives.WriteUInt32LittleEndian(row[CrcOffset..], Crc32C.Compute(row[..CrcOffset]));
    }

    public static bool TryRead(ReadOnlySpan<byte> row, out KeyFilterRow filter)
    {
        filter = new KeyFilterRow(
            new QueueId(BinaryPrimitives.ReadUInt32LittleEndian(row)),
            BinaryPrimitives.ReadUInt16LittleEndian(row[4..]),
            row[6],
            BinaryPrimitives.ReadInt32LittleEndian(row[8..]),
            BinaryPrimitives.ReadInt64LittleEndian(row[12..]));
        if (BinaryPrimitives.ReadUInt32LittleEndian(row[CrcOffset..]) != Crc32C.Compute(row[..CrcOffset]))
            return false;
        return filter.IsEmpty
            || (filter.BlockBytes is >= KeyFilter.SmallestBlock and <= KeyFilter.LargestBlock
                && filter.BlockCount > 0 && filter.Offset >= 0
                && BitOperations.IsPow2(filter.BlockBytes) && BitOperations.IsPow2(filter.BlockCount));
    }
}
