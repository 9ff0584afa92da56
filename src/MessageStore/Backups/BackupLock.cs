namespace EQueue.MessageStore;

/// <summary>The file <c>lock</c> of a backup's folder: one backup or restore at a time.</summary>
internal static class BackupLock
{
    /// <summary>The file's name.</summary>
    public const string FileName = "lock";

    /// <summary>Takes the folder for this process until the result is disposed.</summary>
    /// <exception cref="BackupException">Another process has it.</exception>
    public static IDisposable Take(IDisk disk, string backupDirectory)
    {
        try
        {
            return disk.Lock(Path.Combine(backupDirectory, FileName));
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Locked)
        {
            throw new BackupException(
                BackupFault.InUse, backupDirectory, "another backup or restore is using the directory.", exception);
        }
    }

    /// <summary>The same for one who only reads: where writing is not allowed, as on a medium that is read-only, there
    /// is nothing to wait for.</summary>
    public static IDisposable? TakeForReading(IDisk disk, string backupDirectory)
    {
        try
        {
            return Take(disk, backupDirectory);
        }
        catch (DiskException exception) when (exception.Fault is DiskFault.ReadOnly or DiskFault.Denied)
        {
            return null;
        }
    }
}
