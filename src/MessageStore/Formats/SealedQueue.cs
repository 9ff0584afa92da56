using System.Buffers.Binary;
using System.Runtime.InteropServices;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>One row of a sealed index's directory: what the segment holds of a queue (little-endian).</summary>
/// <remarks>
/// <code>
///  0 queue id          u32
///  4 entry count       u32  0 = nothing of this queue in this segment
///  8 first offset      i64  of the first record in this segment; the next offset when there is none
/// 16 next offset       i64  of the queue at the segment's end
/// 24 bytes             u64  of its entries in this segment
/// 32 last stored time  i64  of the queue, in this segment or before; 0 = never
/// 40 run offset        u64  where its blocks begin in the runs section
/// 48 block count       u32
/// 52 placement offset  u64  packed: where the rows of its blocks begin in the placement section; else 0
/// 60 crc               u32  CRC-32C of bytes 0..59
/// </code>
/// Rows are sorted by queue id: a look-up reads and checks a handful of rows.
/// </remarks>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct SealedQueue
{
    /// <summary>Bytes of a row.</summary>
    public const int RowSize = 64;

    private const int CrcOffset = 60;

    public required QueueId Queue { get; init; }

    public required int EntryCount { get; init; }

    public required long FirstOffset { get; init; }

    public required long NextOffset { get; init; }

    public required long Bytes { get; init; }

    public required long LastStoredTimeMs { get; init; }

    public required long RunOffset { get; init; }

    public required int BlockCount { get; init; }

    /// <summary>Of a packed segment: where its blocks' rows begin in the placement section.</summary>
    public long PlacementOffset { get; init; }

    public void Write(Span<byte> row)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(row, Queue.Value);
        BinaryPrimitives.WriteInt32LittleEndian(row[4..], EntryCount);
        BinaryPrimitives.WriteInt64LittleEndian(row[8..], FirstOffset);
        BinaryPrimitives.WriteInt64LittleEndian(row[16..], NextOffset);
        BinaryPrimitives.WriteInt64LittleEndian(row[24..], Bytes);
        BinaryPrimitives.WriteInt64LittleEndian(row[32..], LastStoredTimeMs);
        BinaryPrimitives.WriteInt64LittleEndian(row[40..], RunOffset);
        BinaryPrimitives.WriteInt32LittleEndian(row[48..], BlockCount);
        BinaryPrimitives.WriteInt64LittleEndian(row[52..], PlacementOffset);
        BinaryPrimitives.WriteUInt32LittleEndian(row[CrcOffset..], Crc32C.Compute(row[..CrcOffset]));
    }

    public static bool TryRead(ReadOnlySpan<byte> row, out SealedQueue queue)
    {
        queue = default;
        if (BinaryPrimitives.ReadUInt32LittleEndian(row[CrcOffset..]) != Crc32C.Compute(row[..CrcOffset]))
            return false;

        queue = new SealedQueue
        {
            Queue = new QueueId(BinaryPrimitives.ReadUInt32LittleEndian(row)),
            EntryCount = BinaryPrimitives.ReadInt32LittleEndian(row[4..]),
            FirstOffset = BinaryPrimitives.ReadInt64LittleEndian(row[8..]),
            NextOffset = BinaryPrimitives.ReadInt64LittleEndian(row[16..]),
            Bytes = BinaryPrimitives.ReadInt64LittleEndian(row[24..]),
            LastStoredTimeMs = BinaryPrimitives.ReadInt64LittleEndian(row[32..]),
            RunOffset = BinaryPrimitives.ReadInt64LittleEndian(row[40..]),
            BlockCount = BinaryPrimitives.ReadInt32LittleEndian(row[48..]),
            PlacementOffset = BinaryPrimitives.ReadInt64LittleEndian(row[52..]),
        };
        return queue is { EntryCount: >= 0, FirstOffset: >= 0, BlockCount: >= 0 }
            && queue is { RunOffset: >= 0, PlacementOffset: >= 0 }
            && queue.NextOffset >= queue.FirstOffset && queue.BlockCount <= queue.EntryCount;
    }
}
