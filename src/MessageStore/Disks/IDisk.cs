namespace EQueue.MessageStore;

/// <summary>The store's only way to files. Every call blocks: the store calls it from threads of its own.</summary>
/// <remarks>
/// Thread-safe. Paths are absolute. Each call either does the whole of what it says or throws a
/// <see cref="DiskException"/>.
/// Two implementations serve real systems (Linux calls, the BCL), <see cref="MemoryDisk"/> keeps files in memory, one
/// in the tests loses, tears and reorders writes.
/// </remarks>
public interface IDisk
{
    /// <summary>Opens a file.</summary>
    /// <param name="path">Its folder must exist.</param>
    /// <param name="mode">Whether it must be new, and whether it may be written.</param>
    IDiskFile Open(string path, DiskOpen mode);

    /// <summary>Whether a file or folder of that name exists.</summary>
    bool Exists(string path);

    /// <summary>The files of a folder (not its folders), in no order; empty when there is no such folder.</summary>
    IReadOnlyList<DiskEntry> List(string directory);

    /// <summary>Makes a folder and those above it; nothing when it exists. Durable after <see cref="SyncDirectory"/>
    /// of its parent.</summary>
    void CreateDirectory(string path);

    /// <summary>Removes a file; nothing when there is none.</summary>
    void Delete(string path);

    /// <summary>Gives a file another name and replaces a file of that name in one step.</summary>
    void Rename(string from, string to);

    /// <summary>Makes creations, renames and removals in a folder survive a power cut.</summary>
    void SyncDirectory(string directory);

    /// <summary>Bytes that this process may still write on the volume of a folder.</summary>
    long FreeBytes(string directory);

    /// <summary>Bytes of the volume of a folder, whatever files they hold; <see cref="long.MaxValue"/>: not
    /// known.</summary>
    long CapacityBytes(string directory) => long.MaxValue;

    /// <summary>Takes a lock file for this process until the result is disposed; a dead process holds
    /// nothing.</summary>
    /// <exception cref="DiskException">With <see cref="DiskFault.Locked"/> when someone else holds it.</exception>
    IDisposable Lock(string path);
}
