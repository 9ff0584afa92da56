namespace EQueue.MessageStore;

/// <summary>Lets the system's page cache go of parts of files. Hints: what they cannot do they leave.</summary>
internal static class CachedPages
{
    private const long PageBytes = 4096;

    /// <summary>Lets go of the pages in which so many bytes lie.</summary>
    public static void LetGo(this IDiskFile file, long offset, long bytes)
    {
        long page = offset & -PageBytes;
        file.Advise(page, offset + bytes - page, DiskAdvice.DontNeed);
    }

    /// <summary>The same with a file that may be closed, or gone, and with it its pages.</summary>
    public static void LetGo(this IDisk disk, string path, IEnumerable<(long Offset, long Bytes)> ranges)
    {
        try
        {
            using IDiskFile file = disk.Open(path, DiskOpen.ReadOnly);
            foreach ((long offset, long bytes) in ranges)
                file.LetGo(offset, bytes);
        }
        catch (DiskException)
        {
            // Nothing to let go of.
        }
    }
}
