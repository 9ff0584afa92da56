using System.Buffers.Binary;
using System.Text;

namespace EQueue.MessageStore;

/// <summary>The file <c>backup</c>: which files make up the last finished backup of a folder.</summary>
/// <remarks>
/// A section file (<see cref="SectionFileHeader"/>) with the magic <c>EQUEUE\0B</c>: start position = where the log
/// begins, end position = the point, created = when the backup began. Section 1 has an item for each file:
/// <code>
///  0 size         u64  bytes
///  8 crc          u32  CRC-32C of all of them
/// 12 name length  u16  bytes; 1..255
/// 14 reserved     u16  0
/// 16 name         UTF-8, in the data directory, with slashes
/// </code>
/// Without files it says whose backup the folder is to become. It is replaced whole, when all that it lists is durable.
/// </remarks>
internal sealed record BackupManifest(SectionFileHeader Header, IReadOnlyList<BackupFile> Files)
{
    /// <summary>The file's name.</summary>
    public const string FileName = "backup";

    private const ushort FilesSection = 1;
    private const int RowSize = 16;
    private const int MaxNameBytes = 255;

    /// <summary>Whether a backup was ever finished in the folder.</summary>
    public bool IsFinished => Files.Count > 0;

    private static ReadOnlySpan<byte> Magic => "EQUEUE\0B"u8;

    /// <summary>Makes the manifest durable in place of the one before it.</summary>
    public void Write(IDisk disk, string backupDirectory)
    {
        using var writer = new SectionFileWriter(disk, Path.Combine(backupDirectory, FileName));
        writer.BeginSection();
        byte[] row = new byte[RowSize + MaxNameBytes];
        foreach (BackupFile file in Files)
        {
            int nameLength = Encoding.UTF8.GetBytes(file.Name, row.AsSpan(RowSize));
            BinaryPrimitives.WriteInt64LittleEndian(row, file.Size);
            BinaryPrimitives.WriteUInt32LittleEndian(row.AsSpan(8), file.Crc);
            BinaryPrimitives.WriteInt32LittleEndian(row.AsSpan(12), nameLength);
            writer.Write(row.AsSpan(0, RowSize + nameLength));
        }

        writer.EndSection(FilesSection, Files.Count);
        writer.Complete(Header, Magic);
    }

    /// <summary>Reads the manifest of a folder; null when it has none.</summary>
    /// <exception cref="StoreFormatException">It is damaged, or of a later version.</exception>
    public static BackupManifest? Read(IDisk disk, string backupDirectory)
    {
        string path = Path.Combine(backupDirectory, FileName);
        FileVerdict verdict = SectionFileReader.TryOpen(disk, path, Magic, out SectionFileReader? reader);
        using (reader)
        {
            if (verdict == FileVerdict.Empty && !disk.Exists(path))
                return null;
            if (verdict == FileVerdict.Refused)
                throw LaterVersion.Refuse(disk, path);
            return verdict == FileVerdict.Valid && reader!.VerifyAll()
                && TryReadFiles(reader, out List<BackupFile>? files)
                ? new BackupManifest(reader.Header, files)
                : throw new StoreFormatException(path, "the list of the backup's files is damaged.");
        }
    }

    private static bool TryReadFiles(SectionFileReader reader, out List<BackupFile> files)
    {
        files = [];
        if (!reader.TryFind(FilesSection, out FileSection section))
            return false;

        using var cursor = new SectionCursor(reader, section);
        for (long i = 0; i < section.ItemCount; i++)
        {
            if (!cursor.TryTake(RowSize, out ReadOnlySpan<byte> row))
                return false;
            long size = BinaryPrimitives.ReadInt64LittleEndian(row);
            uint crc = BinaryPrimitives.ReadUInt32LittleEndian(row[8..]);
            int nameLength = BinaryPrimitives.ReadUInt16LittleEndian(row[12..]);
            if (size < 0 || !cursor.TryTake(nameLength, out ReadOnlySpan<byte> name))
                return false;
            var file = new BackupFile(Encoding.UTF8.GetString(name), size, crc);
            if (!BackupFile.IsName(file.Name))
                return false;
            files.Add(file);
        }

        return true;
    }
}
