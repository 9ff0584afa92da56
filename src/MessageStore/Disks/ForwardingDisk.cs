namespace EQueue.MessageStore;

/// <summary>A disk that hands every call on to another one: for those that change one or two of them.</summary>
/// <param name="disk">Does all that is not overridden.</param>
internal abstract class ForwardingDisk(IDisk disk) : IDisk
{
    public virtual IDiskFile Open(string path, DiskOpen mode) => disk.Open(path, mode);

    public virtual bool Exists(string path) => disk.Exists(path);

    public virtual IReadOnlyList<DiskEntry> List(string directory) => disk.List(directory);

    public virtual void CreateDirectory(string path) => disk.CreateDirectory(path);

    public virtual void Delete(string path) => disk.Delete(path);

    public virtual void Rename(string from, string to) => disk.Rename(from, to);

    public virtual void SyncDirectory(string directory) => disk.SyncDirectory(directory);

    public virtual long FreeBytes(string directory) => disk.FreeBytes(directory);

    public virtual long CapacityBytes(string directory) => disk.CapacityBytes(directory);

    public virtual IDisposable Lock(string path) => disk.Lock(path);
}
