namespace EQueue.MessageStore;

/// <summary>One typed, checksummed run of bytes of a sealed index or a snapshot. Layout:
/// <see cref="SectionFileHeader"/>.</summary>
/// <param name="Type">What it holds; unknown types are skipped.</param>
/// <param name="Flags">Low byte ignorable, high byte refuse if unknown.</param>
/// <param name="Crc">CRC-32C of the section's bytes.</param>
/// <param name="FileOffset">Where it begins in the file.</param>
/// <param name="Length">Its bytes.</param>
/// <param name="ItemCount">How many items it holds.</param>
internal readonly record struct FileSection(
    ushort Type, ushort Flags, uint Crc, long FileOffset, long Length, long ItemCount)
{
    /// <summary>Whether the section lies behind the header and inside a file of that length.</summary>
    public bool IsInside(long fileLength) =>
        FileOffset >= SectionFileHeader.Length && Length >= 0 && FileOffset <= fileLength
        && Length <= fileLength - FileOffset && ItemCount >= 0 && ItemCount <= Length;
}
