using System.Buffers.Binary;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The first 4096 bytes of a sealed index or a snapshot: what the file covers and where its sections
/// are.</summary>
/// <remarks>
/// Little-endian, ids as RFC 9562 writes them.
/// <code>
///  0 magic            8 B  "EQUEUE\0I" (sealed index) or "EQUEUE\0S" (snapshot)
///  8 format version   u16  1
/// 10 used length      u16  92 + 32 x sections: where the bytes of this version end
/// 12 compatible       u32  bits that an older reader may ignore
/// 16 incompatible     u32  bits that an older reader must refuse
/// 20 section count    u16  0..64
/// 22 reserved         u16  0
/// 24 store id         16 B
/// 40 log id           16 B
/// 56 start position   u64  index: the segment's base; snapshot: where replay starts
/// 64 end position     u64  index: behind the seal; snapshot: the log must be durable up to here
/// 72 epoch            u32
/// 76 reserved         u32  0
/// 80 created          i64  Unix milliseconds
/// 88 sections         32 B each:
///     0 type          u16
///     2 flags         u16  low byte ignorable, high byte refuse if unknown
///     4 crc           u32  CRC-32C of the section's bytes
///     8 file offset   u64
///    16 length        u64
///    24 item count    u64
///    crc              u32  CRC-32C of everything before
/// </code>
/// </remarks>
internal sealed record SectionFileHeader
{
    /// <summary>Bytes before the first section.</summary>
    public const int Length = 4096;

    /// <summary>The most sections that a file can have.</summary>
    public const int MaxSections = 64;

    private const ushort CurrentVersion = 1;
    private const int TableOffset = 88;
    private const int SectionSize = 32;
    private const ushort RefuseIfUnknown = 0xFF00;

    /// <summary>The store that the file belongs to.</summary>
    public required Guid StoreId { get; init; }

    /// <summary>The log that the file belongs to.</summary>
    public required Guid LogId { get; init; }

    /// <summary>Index: the segment's base. Snapshot: where replay starts.</summary>
    public required LogPosition StartPosition { get; init; }

    /// <summary>Index: behind the seal. Snapshot: what must be durable for it to count.</summary>
    public required LogPosition EndPosition { get; init; }

    /// <summary>The log's epoch when the file was made.</summary>
    public required int Epoch { get; init; }

    /// <summary>When the file was made, Unix milliseconds.</summary>
    public required long CreatedMs { get; init; }

    /// <summary>What the file holds, in file order.</summary>
    public IReadOnlyList<FileSection> Sections { get; init; } = [];

    /// <summary>Fills the whole header.</summary>
    /// <param name="destination">Exactly 4096 bytes.</param>
    /// <param name="magic">8 bytes: the kind of file.</param>
    public void Write(Span<byte> destination, ReadOnlySpan<byte> magic)
    {
        destination = destination[..Length];
        destination.Clear();
        int crcOffset = TableOffset + (Sections.Count * SectionSize);
        magic.CopyTo(destination);
        BinaryPrimitives.WriteUInt16LittleEndian(destination[8..], CurrentVersion);
        BinaryPrimitives.WriteUInt16LittleEndian(destination[10..], (ushort)(crcOffset + sizeof(uint)));
        BinaryPrimitives.WriteUInt16LittleEndian(destination[20..], (ushort)Sections.Count);
        StoreId.TryWriteBytes(destination[24..], bigEndian: true, out _);
        LogId.TryWriteBytes(destination[40..], bigEndian: true, out _);
        BinaryPrimitives.WriteInt64LittleEndian(destination[56..], StartPosition.Value);
        BinaryPrimitives.WriteInt64LittleEndian(destination[64..], EndPosition.Value);
        BinaryPrimitives.WriteInt32LittleEndian(destination[72..], Epoch);
        BinaryPrimitives.WriteInt64LittleEndian(destination[80..], CreatedMs);
        for (int i = 0; i < Sections.Count; i++)
            WriteSection(destination.Slice(TableOffset + (i * SectionSize), SectionSize), Sections[i]);
        BinaryPrimitives.WriteUInt32LittleEndian(
            destination[crcOffset..], Crc32C.Compute(destination[..crcOffset]));
    }

    /// <summary>Reads and checks a header; every section it lists lies inside the file.</summary>
    /// <param name="source">The file's first 4096 bytes; fewer where the file is shorter.</param>
    /// <param name="magic">8 bytes: the kind of file expected.</param>
    /// <param name="fileLength">Bytes of the whole file.</param>
    /// <param name="header">The header when valid.</param>
    public static FileVerdict Read(
        ReadOnlySpan<byte> source, ReadOnlySpan<byte> magic, long fileLength, out SectionFileHeader? header)
    {
        header = null;
        if (!source.ContainsAnyExcept((byte)0))
            return FileVerdict.Empty;
        if (source.Length < Length || !source.StartsWith(magic))
            return FileVerdict.Damaged;

        int usedLength = BinaryPrimitives.ReadUInt16LittleEndian(source[10..]);
        if (usedLength is < TableOffset + sizeof(uint) or > Length)
            return FileVerdict.Damaged;
        ReadOnlySpan<byte> covered = source[..(usedLength - sizeof(uint))];
        if (BinaryPrimitives.ReadUInt32LittleEndian(source[covered.Length..]) != Crc32C.Compute(covered))
            return FileVerdict.Damaged;
        if (BinaryPrimitives.ReadUInt16LittleEndian(source[8..]) != CurrentVersion
            || BinaryPrimitives.ReadUInt32LittleEndian(source[16..]) != 0)
        {
            return FileVerdict.Refused;
        }

        int sectionCount = BinaryPrimitives.ReadUInt16LittleEndian(source[20..]);
        if (sectionCount > MaxSections || TableOffset + (sectionCount * SectionSize) > covered.Length)
            return FileVerdict.Damaged;
        var sections = new FileSection[sectionCount];
        for (int i = 0; i < sectionCount; i++)
        {
            sections[i] = ReadSection(source.Slice(TableOffset + (i * SectionSize), SectionSize));
            if (!sections[i].IsInside(fileLength))
                return FileVerdict.Damaged;
            if ((sections[i].Flags & RefuseIfUnknown) != 0)
                return FileVerdict.Refused;
        }

        header = new SectionFileHeader
        {
            StoreId = new Guid(source.Slice(24, 16), bigEndian: true),
            LogId = new Guid(source.Slice(40, 16), bigEndian: true),
            StartPosition = new LogPosition(BinaryPrimitives.ReadInt64LittleEndian(source[56..])),
            EndPosition = new LogPosition(BinaryPrimitives.ReadInt64LittleEndian(source[64..])),
            Epoch = BinaryPrimitives.ReadInt32LittleEndian(source[72..]),
            CreatedMs = BinaryPrimitives.ReadInt64LittleEndian(source[80..]),
            Sections = sections,
        };
        bool isOrdered = header.StartPosition.Value >= 0 && header.EndPosition >= header.StartPosition;
        return isOrdered ? FileVerdict.Valid : FileVerdict.Damaged;
    }

    private static void WriteSection(Span<byte> row, in FileSection section)
    {
        BinaryPrimitives.WriteUInt16LittleEndian(row, section.Type);
        BinaryPrimitives.WriteUInt16LittleEndian(row[2..], section.Flags);
        BinaryPrimitives.WriteUInt32LittleEndian(row[4..], section.Crc);
        BinaryPrimitives.WriteInt64LittleEndian(row[8..], section.FileOffset);
        BinaryPrimitives.WriteInt64LittleEndian(row[16..], section.Length);
        BinaryPrimitives.WriteInt64LittleEndian(row[24..], section.ItemCount);
    }

    private static FileSection ReadSection(ReadOnlySpan<byte> row) => new(
        Type: BinaryPrimitives.ReadUInt16LittleEndian(row),
        Flags: BinaryPrimitives.ReadUInt16LittleEndian(row[2..]),
        Crc: BinaryPrimitives.ReadUInt32LittleEndian(row[4..]),
        FileOffset: BinaryPrimitives.ReadInt64LittleEndian(row[8..]),
        Length: BinaryPrimitives.ReadInt64LittleEndian(row[16..]),
        ItemCount: BinaryPrimitives.ReadInt64LittleEndian(row[24..]));
}
