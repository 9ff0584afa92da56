namespace EQueue.MessageStore;

/// <summary>Small files that are there whole or not at all.</summary>
internal static class WholeFile
{
    /// <summary>Writes a file durably under its name: temporary file, sync, rename, sync of the directory.</summary>
    public static void Write(IDisk disk, string path, ReadOnlySpan<byte> bytes)
    {
        string temporary = path + LogFiles.TemporarySuffix;
        if (disk.Exists(temporary))
            disk.Delete(temporary);
        using (IDiskFile file = disk.Open(temporary, DiskOpen.CreateNew))
        {
            file.Write(bytes, 0);
            file.Sync();
        }

        disk.Rename(temporary, path);
        disk.SyncDirectory(Path.GetDirectoryName(path)!);
    }

    /// <summary>Reads a file, at most <paramref name="maxSize"/> bytes of it; empty when there is none.</summary>
    public static byte[] Read(IDisk disk, string path, int maxSize)
    {
        if (!disk.Exists(path))
            return [];

        using IDiskFile file = disk.Open(path, DiskOpen.ReadOnly);
        byte[] bytes = new byte[Math.Min(file.Length, maxSize)];
        int size = file.Read(bytes, 0);
        return size == bytes.Length ? bytes : bytes[..size];
    }
}
