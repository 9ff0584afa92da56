using System.Buffers.Binary;

namespace EQueue.Protocol;

/// <summary>
/// One entry as the log stores it and a fetch gives it: the fields of its header that a reader needs, then the batch.
/// </summary>
/// <remarks>
/// Little-endian; the whole table is in docs/storage-format.md. The header's own CRC is seeded with the log's id and is
/// the broker's to check; the batch's CRC is the reader's.
/// <code>
/// offset size field
/// 0      4    size of the entry, u32
/// 16     4    queue id, u32
/// 20     4    epoch, u32
/// 24     8    stored time, i64 Unix ms
/// 32     1    kind (1 = messages)
/// 33     1    header length, 48 or more: the batch starts there
/// 36     4    tag bits, u32
/// </code>
/// </remarks>
/// <param name="Size">Bytes of the whole entry.</param>
/// <param name="Queue">The queue whose messages the batch holds.</param>
/// <param name="Epoch">The opening of the log that stamped the entry.</param>
/// <param name="StoredTimeMs">When it was stamped; Unix ms.</param>
/// <param name="Kind">What it holds; <see cref="MessagesKind"/> or something a reader passes over.</param>
/// <param name="HeaderSize">Bytes before the batch, 48 or more.</param>
/// <param name="TagBits">As <see cref="Protocol.TagBits"/> makes them; all ones: unknown.</param>
public readonly record struct EntryView(
    int Size, QueueId Queue, int Epoch, long StoredTimeMs, byte Kind, int HeaderSize, uint TagBits)
{
    /// <summary>Entries with messages; others are passed over.</summary>
    public const byte MessagesKind = 1;

    private const int MinHeaderSize = 48;

    /// <summary>Reads the entry at the start of <paramref name="rest"/>, which then holds it whole.</summary>
    /// <returns>Whether it is all there, and its sizes fit each other.</returns>
    public static bool TryRead(ReadOnlySpan<byte> rest, out EntryView entry)
    {
        entry = default;
        if (rest.Length < MinHeaderSize)
            return false;
        entry = new EntryView(
            BinaryPrimitives.ReadInt32LittleEndian(rest),
            new QueueId(BinaryPrimitives.ReadUInt32LittleEndian(rest[16..])),
            BinaryPrimitives.ReadInt32LittleEndian(rest[20..]),
            BinaryPrimitives.ReadInt64LittleEndian(rest[24..]),
            rest[32],
            rest[33],
            BinaryPrimitives.ReadUInt32LittleEndian(rest[36..]));
        return entry.HeaderSize >= MinHeaderSize && entry.Size >= entry.HeaderSize && entry.Size <= rest.Length;
    }
}
