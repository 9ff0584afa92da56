namespace EQueue.MessageStore;

/// <summary>The names of folders that may be new.</summary>
internal static class FolderNames
{
    /// <summary>Makes the name of a folder durable, and those of the folders above it: without them nothing in it is
    /// found again.</summary>
    /// <param name="disk">Where they are.</param>
    /// <param name="folder">A path that is absolute; those above it that are not ours to open were there
    /// before.</param>
    /// <exception cref="DiskException">A sync failed.</exception>
    public static void Sync(IDisk disk, string folder)
    {
        for (string? parent = Path.GetDirectoryName(folder); parent is not null; parent = Path.GetDirectoryName(parent))
        {
            try
            {
                disk.SyncDirectory(parent);
            }
            catch (DiskException exception) when (exception.Fault is DiskFault.Denied or DiskFault.ReadOnly)
            {
                return;
            }
        }
    }
}
