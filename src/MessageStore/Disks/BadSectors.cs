namespace EQueue.MessageStore;

/// <summary>Reads of what checksums cover: bytes that the device cannot read count as damaged ones.</summary>
internal static class BadSectors
{
    /// <summary>As <see cref="IDiskFile.Read"/>, but gives nothing where the device fails.</summary>
    /// <returns>Bytes read; 0 when one of them cannot be read.</returns>
    public static int ReadOrNothing(this IDiskFile file, Span<byte> buffer, long fileOffset)
    {
        try
        {
            return file.Read(buffer, fileOffset);
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Io)
        {
            return 0;
        }
    }
}
