using System.Buffers.Binary;
using System.Runtime.InteropServices;


namespace EQueue.MessageStore;

/// <summary>A queue in a snapshot: 72 bytes (little-endian; topic id as RFC 9562 writes it). Queue 0 is the log's own
/// state.</summary>
/// <remarks>
/// <code>
///  0 queue id          u32
///  4 number            u32  inside the topic
///  8 topic id          16 B
/// 24 start offset      i64  the first that may be read
/// 32 next offset       i64  that the next record gets
/// 40 applied position  u64  after the last entry that the next offset counts: replay skips up to it
/// 48 last stored time  i64  0 = never
/// 56 bytes             u64  of all its entries since it was opened, as far as known
/// 64 start bytes       u64  of those before the start offset
/// </code>
/// </remarks>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct SnapshotQueue(
    QueueId Id,
    TopicId TopicId,
    int Number,
    long Start,
    long NextOffset,
    long AppliedPosition,
    long LastStoredTimeMs,
    long Bytes,
    long StartBytes)
{
    /// <summary>Bytes of a row.</summary>
    public const int RowSize = 72;

    /// <summary>The queue as it stands; taken under the log's lock, so that next offset and applied position
    /// fit.</summary>
    public static SnapshotQueue Of(Queue queue) => new(
        queue.Id,
        queue.TopicId,
        queue.Number,
        queue.Start,
        queue.NextOffset,
        queue.AppliedPosition,
        queue.LastStoredTimeMs,
        queue.Bytes,
        queue.StartBytes);

    public void Write(Span<byte> row)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(row, Id.Value);
        BinaryPrimitives.WriteInt32LittleEndian(row[4..], Number);
        TopicId.Value.TryWriteBytes(row[8..], bigEndian: true, out _);
        BinaryPrimitives.WriteInt64LittleEndian(row[24..], Start);
        BinaryPrimitives.WriteInt64LittleEndian(row[32..], NextOffset);
        BinaryPrimitives.WriteInt64LittleEndian(row[40..], AppliedPosition);
        BinaryPrimitives.WriteInt64LittleEndian(row[48..], LastStoredTimeMs);
        BinaryPrimitives.WriteInt64LittleEndian(row[56..], Bytes);
        BinaryPrimitives.WriteInt64LittleEndian(row[64..], StartBytes);
    }

    public static SnapshotQueue Read(ReadOnlySpan<byte> row) => new(
        new QueueId(BinaryPrimitives.ReadUInt32LittleEndian(row)),
        new TopicId(new Guid(row.Slice(8, TopicId.Size), bigEndian: true)),
        BinaryPrimitives.ReadInt32LittleEndian(row[4..]),
        BinaryPrimitives.ReadInt64LittleEndian(row[24..]),
        BinaryPrimitives.ReadInt64LittleEndian(row[32..]),
        BinaryPrimitives.ReadInt64LittleEndian(row[40..]),
        BinaryPrimitives.ReadInt64LittleEndian(row[48..]),
        BinaryPrimitives.ReadInt64LittleEndian(row[56..]),
        BinaryPrimitives.ReadInt64LittleEndian(row[64..]));
}
