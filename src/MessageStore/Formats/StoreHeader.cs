using System.Buffers.Binary;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The file <c>store</c> at the root of a data directory: who the store is (little-endian, ids as RFC
/// 9562).</summary>
/// <remarks>
/// <code>
///  0 magic          8 B  "EQUEUE\0D"
///  8 format version u16  1
/// 10 used length    u16  bytes of the file: 60 + 16 x logs
/// 12 compatible     u32  bits that an older reader may ignore
/// 16 incompatible   u32  bits that an older reader must refuse
/// 20 reserved       u32  0
/// 24 store id       16 B
/// 40 created        i64  Unix milliseconds
/// 48 reserved       u32  0
/// 52 log count      u32  1..64
/// 56 log ids        16 B each, log 0 first
///    crc            u32  CRC-32C of everything before
/// </code> Written once, when the directory is made: temporary file, sync, rename, sync of the directory.
/// </remarks>
internal sealed record StoreHeader
{
    /// <summary>The file's name.</summary>
    public const string FileName = "store";

    /// <summary>The largest file that can be valid.</summary>
    public const int MaxLength = LogIdsOffset + (MaxLogs * 16) + sizeof(uint);

    /// <summary>The most logs that a store can hold.</summary>
    public const int MaxLogs = 64;

    private const ushort CurrentVersion = 1;
    private const int LogIdsOffset = 56;

    /// <summary>The store's identity, given once.</summary>
    public required Guid StoreId { get; init; }

    /// <summary>When the directory was made, Unix milliseconds.</summary>
    public required long CreatedMs { get; init; }

    /// <summary>The identity of each log; seeds the CRC of its entries.</summary>
    public required IReadOnlyList<Guid> LogIds { get; init; }

    private static ReadOnlySpan<byte> Magic => "EQUEUE\0D"u8;

    /// <summary>The file's bytes.</summary>
    public byte[] ToBytes()
    {
        byte[] bytes = new byte[LogIdsOffset + (LogIds.Count * 16) + sizeof(uint)];
        Span<byte> span = bytes;
        Magic.CopyTo(span);
        BinaryPrimitives.WriteUInt16LittleEndian(span[8..], CurrentVersion);
        BinaryPrimitives.WriteUInt16LittleEndian(span[10..], (ushort)bytes.Length);
        StoreId.TryWriteBytes(span[24..], bigEndian: true, out _);
        BinaryPrimitives.WriteInt64LittleEndian(span[40..], CreatedMs);
        BinaryPrimitives.WriteInt32LittleEndian(span[52..], LogIds.Count);
        for (int i = 0; i < LogIds.Count; i++)
            LogIds[i].TryWriteBytes(span[(LogIdsOffset + (i * 16))..], bigEndian: true, out _);
        BinaryPrimitives.WriteUInt32LittleEndian(span[^4..], Crc32C.Compute(span[..^4]));
        return bytes;
    }

    /// <summary>Reads and checks the file's bytes.</summary>
    public static FileVerdict Read(ReadOnlySpan<byte> source, out StoreHeader? header)
    {
        header = null;
        if (!source.ContainsAnyExcept((byte)0))
            return FileVerdict.Empty;
        if (source.Length < LogIdsOffset + sizeof(uint) || !source.StartsWith(Magic))
            return FileVerdict.Damaged;

        int usedLength = BinaryPrimitives.ReadUInt16LittleEndian(source[10..]);
        if (usedLength < LogIdsOffset + sizeof(uint) || usedLength > source.Length)
            return FileVerdict.Damaged;
        ReadOnlySpan<byte> covered = source[..(usedLength - sizeof(uint))];
        if (BinaryPrimitives.ReadUInt32LittleEndian(source[covered.Length..]) != Crc32C.Compute(covered))
            return FileVerdict.Damaged;
        if (BinaryPrimitives.ReadUInt16LittleEndian(source[8..]) != CurrentVersion
            || BinaryPrimitives.ReadUInt32LittleEndian(source[16..]) != 0)
        {
            return FileVerdict.Refused;
        }

        int logCount = BinaryPrimitives.ReadInt32LittleEndian(source[52..]);
        if (logCount is < 1 or > MaxLogs || LogIdsOffset + (logCount * 16) > covered.Length)
            return FileVerdict.Damaged;
        var logIds = new Guid[logCount];
        for (int i = 0; i < logCount; i++)
            logIds[i] = new Guid(source.Slice(LogIdsOffset + (i * 16), 16), bigEndian: true);

        header = new StoreHeader
        {
            StoreId = new Guid(source.Slice(24, 16), bigEndian: true),
            CreatedMs = BinaryPrimitives.ReadInt64LittleEndian(source[40..]),
            LogIds = logIds,
        };
        return FileVerdict.Valid;
    }
}
