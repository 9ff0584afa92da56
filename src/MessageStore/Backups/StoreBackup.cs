namespace EQueue.MessageStore;

/// <summary>Backups of a data directory: made beside a store that has it open, checked, restored.</summary>
/// <remarks>Everything runs on the caller's thread, and takes as long as the disks take. docs/message-store.md says
/// what is promised.</remarks>
public static class StoreBackup
{
    /// <summary>Copies what the backup's folder does not have yet, and makes it the backup as of now: everything that
    /// was acknowledged before the call, and nothing in part. Interrupted at any place, it leaves the former backup as
    /// it was.</summary>
    /// <param name="options">From where to where.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="BackupException">The folder holds something else.</exception>
    /// <exception cref="StoreFormatException">The data directory holds no store, one of a later version, or one that
    /// would not open; or the backup's own list is damaged.</exception>
    /// <exception cref="DiskException">A disk failed, or the backup's is full.</exception>
    public static BackupResult Write(BackupOptions options, CancellationToken cancellationToken)
    {
        if (options.BytesPerSecond is < 1)
            throw new ArgumentOutOfRangeException(nameof(options), "BytesPerSecond must be 1 or more.");
        string data = Path.GetFullPath(options.DataDirectory), backup = Path.GetFullPath(options.BackupDirectory);
        CheckApart(data, backup);
        if (!File.Exists(Path.Combine(backup, BackupManifest.FileName)))
            CheckNoFolders(backup);
        IDisk disk = PortableDisk.ForThisSystem();
        return BackupWriter.Run(
            options with { DataDirectory = data, BackupDirectory = backup }, disk, disk, cancellationToken);
    }

    /// <summary>Reads every byte of a backup and compares it with the checksums that were taken when it was
    /// made.</summary>
    /// <param name="backupDirectory">The backup's folder.</param>
    /// <param name="progress">Called on the same thread after each piece.</param>
    /// <param name="damaged">Is given each file that is damaged or gone.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="BackupException">There is no finished backup, or one is being made.</exception>
    /// <exception cref="StoreFormatException">The list of its files is damaged, or a later version's.</exception>
    /// <exception cref="DiskException">The disk failed.</exception>
    public static BackupResult Verify(
        string backupDirectory,
        Action<FileProgress>? progress,
        Action<string> damaged,
        CancellationToken cancellationToken) => BackupReader.Verify(
            PortableDisk.ForThisSystem(), Path.GetFullPath(backupDirectory), progress, damaged, cancellationToken);

    /// <summary>Makes a data directory of a backup, checking every byte. An interrupted restore leaves a directory that
    /// no store opens, and may be repeated.</summary>
    /// <param name="backupDirectory">The backup's folder.</param>
    /// <param name="dataDirectory">New or empty.</param>
    /// <param name="progress">Called on the same thread after each piece.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="BackupException">There is no finished backup, or the directory is in use or not
    /// empty.</exception>
    /// <exception cref="StoreFormatException">The backup is damaged, or a later version's.</exception>
    /// <exception cref="DiskException">A disk failed or is full.</exception>
    public static BackupResult Restore(
        string backupDirectory,
        string dataDirectory,
        Action<FileProgress>? progress,
        CancellationToken cancellationToken)
    {
        string data = Path.GetFullPath(dataDirectory), backup = Path.GetFullPath(backupDirectory);
        CheckApart(data, backup);
        IDisk disk = PortableDisk.ForThisSystem();
        if (disk.List(data).Count == 0)
            CheckNoFolders(data);
        return BackupReader.Restore(disk, backup, data, progress, cancellationToken);
    }

    /// <summary>Refuses a directory for what <see cref="IDisk"/> does not list: other directories in it.</summary>
    private static void CheckNoFolders(string path)
    {
        string? folder = Directory.Exists(path)
            ? Directory.EnumerateDirectories(path).Select(Path.GetFileName).FirstOrDefault(name => name != "lost+found")
            : null;
        if (folder is not null)
        {
            throw new BackupException(
                BackupFault.WrongDirectory, path, $"the directory is not empty: it holds the directory '{folder}'.");
        }
    }

    private static void CheckApart(string data, string backup)
    {
        if (IsInside(backup, data) || IsInside(data, backup))
        {
            throw new BackupException(
                BackupFault.WrongDirectory, backup, $"backup and data directory ({data}) must not lie in each other.");
        }
    }

    private static bool IsInside(string one, string other)
    {
        string relative = Path.GetRelativePath(other, one);
        return relative == "."
            || (relative.Split(Path.DirectorySeparatorChar)[0] != ".." && !Path.IsPathRooted(relative));
    }
}
