using System.Buffers.Binary;

namespace EQueue.MessageStore;

/// <summary>Refuses files of later versions by naming what they are and what this build reads.</summary>
/// <remarks>Store file, segment, index, snapshot and backup have their version and their incompatible bits at the same
/// places (see <see cref="SegmentHeader"/>), in every version.</remarks>
internal static class LaterVersion
{
    private const ushort KnownVersion = 1;
    private const int HeadLength = 20;

    /// <summary>The exception for a file that was read as <see cref="FileVerdict.Refused"/>.</summary>
    public static StoreFormatException Refuse(IDisk disk, string path)
    {
        byte[] head = WholeFile.Read(disk, path, HeadLength);
        if (head.Length < HeadLength)
            return new StoreFormatException(path, "the file was written by a later version.");

        int version = BinaryPrimitives.ReadUInt16LittleEndian(head.AsSpan(8));
        uint incompatible = BinaryPrimitives.ReadUInt32LittleEndian(head.AsSpan(16));
        string found = version != KnownVersion
            ? $"it has format version {version}, this build reads version {KnownVersion}"
            : $"of format version {version} it uses features that this build does not know (0x{incompatible:x})";
        return new StoreFormatException(
            path, $"the file was written by a later version: {found}. Nothing was changed; use the later version.");
    }
}
