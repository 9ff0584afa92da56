namespace EQueue.MessageStore;

/// <summary>The file <c>restoring</c>: a restore began here and has not ended. No store opens beside it.</summary>
internal static class RestoreMarker
{
    /// <summary>The file's name.</summary>
    public const string FileName = "restoring";

    /// <summary>What it is called until it is whole.</summary>
    public const string TemporaryName = FileName + LogFiles.TemporarySuffix;

    /// <summary>Whether a restore has not ended.</summary>
    public static bool IsThere(IDisk disk, string dataDirectory) => disk.Exists(PathOf(dataDirectory));

    /// <summary>Refuses a directory in which a restore has not ended.</summary>
    /// <exception cref="StoreFormatException">It has not.</exception>
    public static void Check(IDisk disk, string dataDirectory)
    {
        if (IsThere(disk, dataDirectory))
        {
            throw new StoreFormatException(
                PathOf(dataDirectory),
                "a restore into this directory has not ended: run 'equeue restore' again, or empty the directory.");
        }
    }

    /// <summary>Leaves the marker, durably.</summary>
    public static void Write(IDisk disk, string dataDirectory) => WholeFile.Write(
        disk, PathOf(dataDirectory), "A restore into this directory has not ended.\n"u8);

    /// <summary>Removes it, durably.</summary>
    public static void Remove(IDisk disk, string dataDirectory)
    {
        disk.Delete(PathOf(dataDirectory));
        disk.SyncDirectory(dataDirectory);
    }

    private static string PathOf(string dataDirectory) => Path.Combine(dataDirectory, FileName);
}
