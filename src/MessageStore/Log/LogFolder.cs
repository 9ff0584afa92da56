namespace EQueue.MessageStore;

/// <summary>The folder of the log's files, for all that make names in it durable: the flusher, the preparer, and those
/// that work beside the log.</summary>
/// <remarks>
/// Any thread; one sync at a time. A failure is latched before another thread may sync the folder: names that it lost
/// are told once. A folder that cannot be opened for want of a descriptor is not synced yet: that waits.
/// </remarks>
/// <param name="disk">Where it is.</param>
/// <param name="path">The folder.</param>
/// <param name="shortage">Is told when descriptors run out, and when there are some again.</param>
/// <param name="fault">Ends the log.</param>
internal sealed class LogFolder(IDisk disk, string path, ShortageWatch shortage, LogFault fault)
{
    private static readonly TimeSpan RetryInterval = TimeSpan.FromSeconds(1);

    private readonly Lock _lock = new();

    public string Path => path;

    public void Sync()
    {
        lock (_lock)
        {
            while (!TrySync())
                fault.WaitToRetry(RetryInterval);
        }
    }

    /// <returns>False when it is to be tried again.</returns>
    private bool TrySync()
    {
        if (fault.Reason is { } reason)
            throw reason;
        try
        {
            disk.SyncDirectory(path);
            shortage.NoteEnd();
            return true;
        }
        catch (Exception exception) when (ShortageWatch.IsShortage(exception) && !fault.IsStopping)
        {
            shortage.Note(exception);
            return false;
        }
        catch (DiskException exception) when (exception.Fault != DiskFault.Full)
        {
            fault.Latch(exception);
            throw;
        }
    }
}
