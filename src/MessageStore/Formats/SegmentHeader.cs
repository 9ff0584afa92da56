using System.Buffers.Binary;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The first 4096 bytes of a segment file, outside positions (little-endian, ids as RFC 9562 writes
/// them).</summary>
/// <remarks>
/// <code>
///   0 magic            8 B  "EQUEUE\0L"
///   8 format version   u16  1
///  10 used length      u16  124: where the bytes of this version end
///  12 compatible       u32  bits that an older reader may ignore
///  16 incompatible     u32  bits that an older reader must refuse; 1 = packed
///  20 cipher           u16  0 = none
///  22 reserved         u16  0
///  24 store id         16 B
///  40 log id           16 B
///  56 base position    u64  of the first entry; the file's name says the same
///  64 epoch            u32  when the segment was begun
///  68 reserved         u32  0
///  72 created          i64  Unix milliseconds
///  80 capacity         u64  bytes of positions that the file was made for
///  88 packed from      u64  packed: the base position; else 0
///  96 packed to        u64  packed: where the last segment ended that it stands for; else 0
/// 104 key id           16 B  0 = none
/// 120 crc              u32  CRC-32C of bytes 0..119
/// 124 zero             up to 4096
/// </code>
/// An entry's file offset is 4096 + its position - base position; in a packed segment its index tells it. Everything
/// but the creation time also follows from the file's name, the store file and the entries (of a packed segment: from
/// its index), so a damaged header loses nothing.
/// </remarks>
internal sealed record SegmentHeader
{
    /// <summary>Bytes before the first entry.</summary>
    public const int Length = 4096;

    /// <summary>The version that this code writes.</summary>
    public const ushort CurrentVersion = 1;

    private const int UsedLength = CrcOffset + sizeof(uint);
    private const int CrcOffset = 120;
    private const uint Packed = 1;

    /// <summary>The store that the segment belongs to.</summary>
    public required Guid StoreId { get; init; }

    /// <summary>The log that the segment belongs to.</summary>
    public required Guid LogId { get; init; }

    /// <summary>Position of the first entry.</summary>
    public required LogPosition BasePosition { get; init; }

    /// <summary>Epoch in which the segment was begun.</summary>
    public required int Epoch { get; init; }

    /// <summary>When the segment was made, Unix milliseconds.</summary>
    public required long CreatedMs { get; init; }

    /// <summary>Bytes of positions that the file was made for.</summary>
    public required long Capacity { get; init; }

    /// <summary>For a packed segment: where the last one ended that it stands for; else 0.</summary>
    public LogPosition PackedTo { get; init; }

    /// <summary>Whether its entries stand queue by queue, found by its index alone.</summary>
    public bool IsPacked => PackedTo.Value > 0;

    private static ReadOnlySpan<byte> Magic => "EQUEUE\0L"u8;

    /// <summary>Fills the whole header.</summary>
    /// <param name="destination">Exactly 4096 bytes.</param>
    public void Write(Span<byte> destination)
    {
        destination = destination[..Length];
        destination.Clear();
        Magic.CopyTo(destination);
        BinaryPrimitives.WriteUInt16LittleEndian(destination[8..], CurrentVersion);
        BinaryPrimitives.WriteUInt16LittleEndian(destination[10..], UsedLength);
        if (IsPacked)
        {
            BinaryPrimitives.WriteUInt32LittleEndian(destination[16..], Packed);
            BinaryPrimitives.WriteInt64LittleEndian(destination[88..], BasePosition.Value);
            BinaryPrimitives.WriteInt64LittleEndian(destination[96..], PackedTo.Value);
        }

        StoreId.TryWriteBytes(destination[24..], bigEndian: true, out _);
        LogId.TryWriteBytes(destination[40..], bigEndian: true, out _);
        BinaryPrimitives.WriteInt64LittleEndian(destination[56..], BasePosition.Value);
        BinaryPrimitives.WriteInt32LittleEndian(destination[64..], Epoch);
        BinaryPrimitives.WriteInt64LittleEndian(destination[72..], CreatedMs);
        BinaryPrimitives.WriteInt64LittleEndian(destination[80..], Capacity);
        BinaryPrimitives.WriteUInt32LittleEndian(
            destination[CrcOffset..], Crc32C.Compute(destination[..CrcOffset]));
    }

    /// <summary>Reads and checks a header.</summary>
    /// <param name="source">The file's first bytes; fewer than 4096 where the file is shorter.</param>
    /// <param name="header">The header when valid.</param>
    public static FileVerdict Read(ReadOnlySpan<byte> source, out SegmentHeader? header)
    {
        header = null;
        if (!source.ContainsAnyExcept((byte)0))
            return FileVerdict.Empty;
        if (source.Length < Length || !source.StartsWith(Magic))
            return FileVerdict.Damaged;

        int usedLength = BinaryPrimitives.ReadUInt16LittleEndian(source[10..]);
        if (usedLength is < UsedLength or > Length)
            return FileVerdict.Damaged;
        ReadOnlySpan<byte> covered = source[..(usedLength - sizeof(uint))];
        if (BinaryPrimitives.ReadUInt32LittleEndian(source[covered.Length..]) != Crc32C.Compute(covered))
            return FileVerdict.Damaged;

        ushort version = BinaryPrimitives.ReadUInt16LittleEndian(source[8..]);
        uint incompatible = BinaryPrimitives.ReadUInt32LittleEndian(source[16..]);
        ushort cipher = BinaryPrimitives.ReadUInt16LittleEndian(source[20..]);
        if (version != CurrentVersion || (incompatible & ~Packed) != 0 || cipher != 0)
            return FileVerdict.Refused;

        header = new SegmentHeader
        {
            StoreId = new Guid(source.Slice(24, 16), bigEndian: true),
            LogId = new Guid(source.Slice(40, 16), bigEndian: true),
            BasePosition = new LogPosition(BinaryPrimitives.ReadInt64LittleEndian(source[56..])),
            Epoch = BinaryPrimitives.ReadInt32LittleEndian(source[64..]),
            CreatedMs = BinaryPrimitives.ReadInt64LittleEndian(source[72..]),
            Capacity = BinaryPrimitives.ReadInt64LittleEndian(source[80..]),
            PackedTo = new LogPosition(BinaryPrimitives.ReadInt64LittleEndian(source[96..])),
        };
        bool hasRange = (incompatible & Packed) == 0 ? !header.IsPacked : header.PackedTo > header.BasePosition;
        long most = header.IsPacked ? long.MaxValue : StoreOptions.LargestSegmentBytes;
        bool hasCapacity = header.Capacity >= 0 && header.Capacity <= most;
        return !hasRange || !hasCapacity || header.BasePosition.Value < 0 || header.Epoch < 0
            ? FileVerdict.Damaged
            : FileVerdict.Valid;
    }

    /// <summary>Where in the file the bytes of a position are.</summary>
    public static long FileOffsetOf(LogPosition position, LogPosition basePosition) =>
        Length + position.Value - basePosition.Value;
}
