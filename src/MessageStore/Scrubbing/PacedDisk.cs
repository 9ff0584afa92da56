namespace EQueue.MessageStore;

/// <summary>A disk whose files are read no faster than a <see cref="ScrubPace"/> allows.</summary>
internal sealed class PacedDisk(IDisk disk, ScrubPace pace) : IDisk
{
    public IDiskFile Open(string path, DiskOpen mode) => Open(path, letsGo: false);

    /// <summary>Opens a file for reading.</summary>
    /// <param name="path">It must exist.</param>
    /// <param name="letsGo">Whether the system's page cache lets go of what was read.</param>
    public IDiskFile Open(string path, bool letsGo) =>
        new PacedFile(disk.Open(path, DiskOpen.ReadOnly), pace, letsGo);

    public bool Exists(string path) => disk.Exists(path);

    public IReadOnlyList<DiskEntry> List(string directory) => disk.List(directory);

    public void CreateDirectory(string path) => disk.CreateDirectory(path);

    public void Delete(string path) => disk.Delete(path);

    public void Rename(string from, string to) => disk.Rename(from, to);

    public void SyncDirectory(string directory) => disk.SyncDirectory(directory);

    public long FreeBytes(string directory) => disk.FreeBytes(directory);

    public IDisposable Lock(string path) => disk.Lock(path);
}
