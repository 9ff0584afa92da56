using System.Buffers.Binary;
using System.Diagnostics;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The 48 bytes that the store puts before every batch in the log (little-endian).</summary>
/// <remarks>
/// <code>
///  0 size            u32  the whole entry: header, optional fields, batch
///  4 crc             u32  CRC-32C of: log id (16 bytes), header from byte 8 to its end, first 21 bytes of the batch
///  8 position        u64  of the entry's first byte
/// 16 queue id        u32  0 = state, epoch start, seal
/// 20 epoch           u32  0..2^31-1, never falls inside a log
/// 24 stored time     i64  Unix milliseconds, never falls inside a log
/// 32 kind            u8
/// 33 header length   u8   48; more = optional fields follow byte 47
/// 34 flags           u16  low byte ignorable, high byte refuse if unknown
/// 36 tag bits        u32  all ones = unknown
/// 40 durable distance u32 position minus durable watermark when stamped; all ones = that or more
/// 44 mark            u32  epoch start: tells the opening from others of its epoch, 0 = none; else 0
/// </code>
/// The rest of the batch is covered by the batch's own CRC, which is among its first 21 bytes. The size is covered
/// because it must equal header length + 12 + the batch's length field (header length alone without a batch).
/// </remarks>
internal readonly record struct EntryHeader
{
    /// <summary>Bytes of a header without optional fields.</summary>
    public const int Length = 48;

    /// <summary>Bytes at the start of the batch that the entry's CRC covers: up to and with the batch's own
    /// CRC.</summary>
    public const int CoveredBatchSize = 21;

    /// <summary>Tag bits of a batch whose tags were not computed.</summary>
    public const uint UnknownTagBits = uint.MaxValue;

    /// <summary>Stands for every durable distance too long to be written.</summary>
    public const uint SaturatedDistance = uint.MaxValue;

    private const int CrcOffset = 4;
    private const int CoveredOffset = 8;
    private const ushort RefuseIfUnknown = 0xFF00;

    /// <summary>Bytes of the whole entry.</summary>
    public required int Size { get; init; }

    /// <summary>The entry's address in the log.</summary>
    public required LogPosition Position { get; init; }

    /// <summary>The queue whose messages the batch holds.</summary>
    public required QueueId Queue { get; init; }

    /// <summary>The opening of the log that stamped the entry.</summary>
    public required int Epoch { get; init; }

    /// <summary>When the entry was stamped, Unix milliseconds.</summary>
    public required long StoredTimeMs { get; init; }

    /// <summary>What follows the header.</summary>
    public required EntryKind Kind { get; init; }

    /// <summary>Bytes before the batch: 48, or more with optional fields.</summary>
    public int HeaderLength { get; init; } = Length;

    /// <summary>See <see cref="EntryFlags"/>.</summary>
    public EntryFlags Flags { get; init; }

    /// <summary>Which tag bits occur in the batch.</summary>
    public uint TagBits { get; init; } = UnknownTagBits;

    /// <summary>Position minus durable watermark when stamped; <see cref="SaturatedDistance"/> = that or
    /// more.</summary>
    public uint DurableDistance { get; init; }

    /// <summary>Of an epoch start: a random number that tells its opening from others of the same epoch; 0 = the build
    /// that wrote it made none.</summary>
    public uint Mark { get; init; }

    /// <summary>The CRC as read; ignored by <see cref="Write"/>, which computes it.</summary>
    public uint Crc { get; init; }

    /// <summary>Makes a header to be filled by an object initializer.</summary>
    public EntryHeader()
    {
    }

    /// <summary>Bytes of the batch behind the header.</summary>
    public int BatchSize => Size - HeaderLength;

    /// <summary>Whether this kind of entry carries a batch.</summary>
    public bool HasBatch => Kind is EntryKind.Messages or EntryKind.State;

    /// <summary>Whether the entry asks for an understanding that this version does not have.</summary>
    public bool MustBeRefused =>
        Kind > EntryKind.Seal || ((ushort)Flags & RefuseIfUnknown & ~(ushort)EntryFlags.More) != 0;

    /// <summary>
    /// The position below which everything was durable when the entry was stamped, or -1 when the distance was too
    /// long.
    /// </summary>
    public long ProvenDurable => DurableDistance == SaturatedDistance ? -1 : Position.Value - DurableDistance;

    /// <summary>What <see cref="DurableDistance"/> is for these watermarks.</summary>
    public static uint DistanceOf(LogPosition position, LogPosition durable)
    {
        Debug.Assert(durable <= position, "the durable watermark never passes an entry that is being stamped");
        return (uint)Math.Min(position.Value - durable.Value, SaturatedDistance);
    }

    /// <summary>Where every CRC of a log begins: the CRC of the log's id. Compute once per log.</summary>
    public static uint SeedOf(Guid logId)
    {
        Span<byte> id = stackalloc byte[16];
        logId.TryWriteBytes(id, bigEndian: true, out _);
        return Crc32C.Compute(id);
    }

    /// <summary>Writes the 48 bytes with their CRC.</summary>
    /// <param name="destination">At least 48 bytes.</param>
    /// <param name="header">A header without optional fields.</param>
    /// <param name="logSeed">From <see cref="SeedOf"/>.</param>
    /// <param name="batchStart">The batch, already stamped, or at least its first 21 bytes; empty without a
    /// batch.</param>
    public static void Write(
        Span<byte> destination, in EntryHeader header, uint logSeed, ReadOnlySpan<byte> batchStart)
    {
        Debug.Assert(header.HeaderLength == Length, "optional fields are written by a version that has some");
        BinaryPrimitives.WriteInt32LittleEndian(destination, header.Size);
        BinaryPrimitives.WriteInt64LittleEndian(destination[8..], header.Position.Value);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[16..], header.Queue.Value);
        BinaryPrimitives.WriteInt32LittleEndian(destination[20..], header.Epoch);
        BinaryPrimitives.WriteInt64LittleEndian(destination[24..], header.StoredTimeMs);
        destination[32] = (byte)header.Kind;
        destination[33] = Length;
        BinaryPrimitives.WriteUInt16LittleEndian(destination[34..], (ushort)header.Flags);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[36..], header.TagBits);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[40..], header.DurableDistance);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[44..], header.Mark);
        uint crc = ComputeCrc(logSeed, destination[..Length], batchStart);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[CrcOffset..], crc);
    }

    /// <summary>Reads the fields as they stand, checking nothing.</summary>
    /// <param name="source">At least 48 bytes.</param>
    public static EntryHeader Read(ReadOnlySpan<byte> source) => new()
    {
        Size = BinaryPrimitives.ReadInt32LittleEndian(source),
        Crc = BinaryPrimitives.ReadUInt32LittleEndian(source[CrcOffset..]),
        Position = new LogPosition(BinaryPrimitives.ReadInt64LittleEndian(source[8..])),
        Queue = new QueueId(BinaryPrimitives.ReadUInt32LittleEndian(source[16..])),
        Epoch = BinaryPrimitives.ReadInt32LittleEndian(source[20..]),
        StoredTimeMs = BinaryPrimitives.ReadInt64LittleEndian(source[24..]),
        Kind = (EntryKind)source[32],
        HeaderLength = source[33],
        Flags = (EntryFlags)BinaryPrimitives.ReadUInt16LittleEndian(source[34..]),
        TagBits = BinaryPrimitives.ReadUInt32LittleEndian(source[36..]),
        DurableDistance = BinaryPrimitives.ReadUInt32LittleEndian(source[40..]),
        Mark = BinaryPrimitives.ReadUInt32LittleEndian(source[44..]),
    };

    /// <summary>The CRC that belongs to a header and the batch behind it.</summary>
    /// <param name="logSeed">From <see cref="SeedOf"/>.</param>
    /// <param name="header">The whole header with its optional fields.</param>
    /// <param name="batchStart">The batch, or at least its first 21 bytes; empty without a batch.</param>
    public static uint ComputeCrc(uint logSeed, ReadOnlySpan<byte> header, ReadOnlySpan<byte> batchStart)
    {
        uint crc = Crc32C.Append(logSeed, header[CoveredOffset..]);
        return batchStart.IsEmpty
            ? crc
            : Crc32C.Append(crc, batchStart[..Math.Min(CoveredBatchSize, batchStart.Length)]);
    }
}
