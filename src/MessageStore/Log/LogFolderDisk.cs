namespace EQueue.MessageStore;

/// <summary>The disk of those who work beside the log in its folder: the folder is synced by the log.</summary>
/// <remarks>Names of segments may be among what a sync makes durable, and the system tells once that they are lost:
/// the notified party ends the log.</remarks>
/// <param name="disk">Does all the rest.</param>
/// <param name="folder">The log's.</param>
internal sealed class LogFolderDisk(IDisk disk, LogFolder folder) : ForwardingDisk(disk)
{
    public override void SyncDirectory(string directory)
    {
        if (directory == folder.Path)
            folder.Sync();
        else
            base.SyncDirectory(directory);
    }
}
