using System.Buffers.Binary;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>One row of a packed segment's placement section: where in the file a block's entries begin
/// (little-endian).</summary>
/// <remarks>
/// <code>
/// 0 file offset  u64  of the block's first entry; the others follow it without a gap
/// 8 crc          u32  CRC-32C of bytes 0..7
/// </code>
/// </remarks>
internal static class BlockPlacement
{
    /// <summary>Bytes of a row.</summary>
    public const int RowSize = 12;

    public static void Write(Span<byte> row, long fileOffset)
    {
        BinaryPrimitives.WriteInt64LittleEndian(row, fileOffset);
        BinaryPrimitives.WriteUInt32LittleEndian(row[8..], Crc32C.Compute(row[..8]));
    }

    public static bool TryRead(ReadOnlySpan<byte> row, out long fileOffset)
    {
        fileOffset = BinaryPrimitives.ReadInt64LittleEndian(row);
        return BinaryPrimitives.ReadUInt32LittleEndian(row[8..]) == Crc32C.Compute(row[..8])
            && fileOffset >= SegmentHeader.Length;
    }
}
