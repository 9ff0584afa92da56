using System.Buffers.Binary;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The file <c>clean</c>: an orderly stop left the log durable up to a position (little-endian).</summary>
/// <remarks>
/// <code>
///  0 magic          8 B  "EQUEUE\0C"
///  8 format version u16  1
/// 10 used length    u16  44
/// 12 reserved       u32  0
/// 16 store id       16 B
/// 32 end position   u64  everything before it is durable
/// 40 crc            u32  CRC-32C of bytes 0..39
/// </code>
/// Removed, and the removal synced, before the log takes anything new. It saves the rewriting of the last bytes, never
/// a check.
/// </remarks>
internal static class CleanMarker
{
    /// <summary>The file's name.</summary>
    public const string FileName = "clean";

    /// <summary>The file's bytes.</summary>
    public const int Length = 44;

    private const ushort CurrentVersion = 1;
    private const int CrcOffset = 40;

    private static ReadOnlySpan<byte> Magic => "EQUEUE\0C"u8;

    /// <summary>Writes the marker durably; the log must be durable up to <paramref name="endPosition"/>
    /// already.</summary>
    public static void Write(IDisk disk, string dataDirectory, Guid storeId, LogPosition endPosition)
    {
        byte[] bytes = new byte[Length];
        Magic.CopyTo(bytes);
        BinaryPrimitives.WriteUInt16LittleEndian(bytes.AsSpan(8), CurrentVersion);
        BinaryPrimitives.WriteUInt16LittleEndian(bytes.AsSpan(10), Length);
        storeId.TryWriteBytes(bytes.AsSpan(16), bigEndian: true, out _);
        BinaryPrimitives.WriteInt64LittleEndian(bytes.AsSpan(32), endPosition.Value);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(CrcOffset), Crc32C.Compute(bytes.AsSpan(0, CrcOffset)));
        WholeFile.Write(disk, LogFiles.CleanFile(dataDirectory), bytes);
    }

    /// <summary>Reads the marker; false when there is none that counts for this store.</summary>
    public static bool TryRead(IDisk disk, string dataDirectory, Guid storeId, out LogPosition endPosition)
    {
        endPosition = default;
        byte[] bytes = WholeFile.Read(disk, LogFiles.CleanFile(dataDirectory), Length);
        if (bytes.Length < Length || !bytes.AsSpan().StartsWith(Magic)
            || BinaryPrimitives.ReadUInt16LittleEndian(bytes.AsSpan(8)) != CurrentVersion
            || BinaryPrimitives.ReadUInt32LittleEndian(bytes.AsSpan(CrcOffset))
                != Crc32C.Compute(bytes.AsSpan(0, CrcOffset))
            || new Guid(bytes.AsSpan(16, 16), bigEndian: true) != storeId)
        {
            return false;
        }

        endPosition = new LogPosition(BinaryPrimitives.ReadInt64LittleEndian(bytes.AsSpan(32)));
        return endPosition.Value >= 0;
    }

    /// <summary>Removes the marker durably; nothing when there is none.</summary>
    public static void Remove(IDisk disk, string dataDirectory)
    {
        string path = LogFiles.CleanFile(dataDirectory);
        if (!disk.Exists(path))
            return;

        disk.Delete(path);
        disk.SyncDirectory(dataDirectory);
    }
}
