using System.Globalization;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>One file of a data directory as a backup holds it.</summary>
/// <param name="Name">In the data directory, with slashes: <c>store</c>,
/// <c>logs/0/00000000000000001234.log</c>.</param>
/// <param name="Size">Bytes.</param>
/// <param name="Crc">CRC-32C of all of them.</param>
/// <remarks>
/// In the backup it is called by what it holds: <c>NAME.SIZE.CRC</c>, the CRC as 8 hexadecimal digits. So a file is
/// never written over by another one, and one that has this name is whole.
/// </remarks>
internal sealed record BackupFile(string Name, long Size, uint Crc)
{
    /// <summary>Folder of log 0, as names spell it.</summary>
    public const string LogFolder = "logs/0/";

    private const int CrcDigits = 8;

    /// <summary>Its name in the backup's folder.</summary>
    public string StoredName => string.Create(CultureInfo.InvariantCulture, $"{Name}.{Size}.{Crc:x8}");

    /// <summary>Where a name lies below a directory.</summary>
    public static string PathOf(string directory, string name) =>
        Path.Combine(directory, name.Replace('/', Path.DirectorySeparatorChar));

    /// <summary>Whether a data directory may have a file of that name: nothing else is ever written, whatever a
    /// backup says.</summary>
    public static bool IsName(string name)
    {
        if (name == StoreHeader.FileName)
            return true;
        if (!name.StartsWith(LogFolder, StringComparison.Ordinal))
            return false;

        string leaf = name[LogFolder.Length..];
        string pack = leaf.EndsWith(PackFile.Suffix + LogFiles.IndexSuffix, StringComparison.Ordinal)
            ? leaf[..^LogFiles.IndexSuffix.Length]
            : leaf;
        return LogFiles.TryParse(leaf, LogFiles.SegmentSuffix, out _)
            || LogFiles.TryParse(leaf, LogFiles.IndexSuffix, out _)
            || LogFiles.TryParse(leaf, LogFiles.SnapshotSuffix, out _)
            || PackFile.TryParse(pack, out LogPosition _, out _);
    }

    /// <summary>Reads name, size and CRC out of <see cref="StoredName"/>.</summary>
    public static bool TryParse(string storedName, out BackupFile? file)
    {
        file = null;
        int crcDot = storedName.LastIndexOf('.');
        int sizeDot = crcDot > 0 ? storedName.LastIndexOf('.', crcDot - 1) : -1;
        if (sizeDot <= 0 || storedName.Length - crcDot - 1 != CrcDigits
            || !uint.TryParse(
                storedName.AsSpan(crcDot + 1), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture,
                out uint crc)
            || !long.TryParse(
                storedName.AsSpan(sizeDot + 1, crcDot - sizeDot - 1), NumberStyles.None,
                CultureInfo.InvariantCulture, out long size)
            || !IsName(storedName[..sizeDot]))
        {
            return false;
        }

        file = new BackupFile(storedName[..sizeDot], size, crc);
        return true;
    }
}
