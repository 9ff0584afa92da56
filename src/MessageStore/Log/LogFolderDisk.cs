namespace EQueue.MessageStore;

/// <summary>The disk of those who work beside the log in its folder: the folder is synced by the log.</summary>
/// <remarks>Names of segments may be among what a sync makes durable, and the system tells once that they are lost:
/// whoever is told ends the log.</remarks>
/// <param name="disk">Does all the rest.</param>
/// <param name="log">Of the folder.</param>
internal sealed class LogFolderDisk(IDisk disk, CommitLog log) : IDisk
{
    public IDiskFile Open(string path, DiskOpen mode) => disk.Open(path, mode);

    public bool Exists(string path) => disk.Exists(path);

    public IReadOnlyList<DiskEntry> List(string directory) => disk.List(directory);

    public void CreateDirectory(string path) => disk.CreateDirectory(path);

    public void Delete(string path) => disk.Delete(path);

    public void Rename(string from, string to) => disk.Rename(from, to);

    public void SyncDirectory(string directory)
    {
        if (directory == log.Folder)
            log.SyncFolder();
        else
            disk.SyncDirectory(directory);
    }

    public long FreeBytes(string directory) => disk.FreeBytes(directory);

    public IDisposable Lock(string path) => disk.Lock(path);
}
