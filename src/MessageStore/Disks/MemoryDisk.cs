namespace EQueue.MessageStore;

/// <summary>Files in memory, up to a bound: for tests, and for stores that may die with their process.</summary>
/// <remarks>
/// Thread-safe. Counts in blocks of <see cref="BlockBytes"/>: a block is counted when it is reserved or first written,
/// before memory is taken for it, and never more are counted than the limit holds; who finds none left gets
/// <see cref="DiskFault.Full"/>. As on Linux, a deleted file lives on for those who have it open. Files are there as
/// long as the disk is; nothing is ever lost or torn.
/// </remarks>
public sealed class MemoryDisk : IDisk
{
    /// <summary>What memory is taken and counted by.</summary>
    public const int BlockBytes = 16 << 10;

    /// <summary>A store needs so many segments: some to append to, some in reserve, some that hold messages.</summary>
    private const int FewestSegments = 8;

    private readonly Lock _lock = new();
    private readonly Dictionary<string, MemoryFile> _files = new(StringComparer.Ordinal);
    private readonly HashSet<string> _directories = new(StringComparer.Ordinal);
    private readonly HashSet<string> _locks = new(StringComparer.Ordinal);
    private readonly long _limitBlocks;
    private long _usedBlocks;

    /// <summary>Makes an empty disk.</summary>
    /// <param name="limitBytes">The most that its files may hold: one block or more, used in whole blocks.</param>
    public MemoryDisk(long limitBytes)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(limitBytes, BlockBytes);
        LimitBytes = limitBytes;
        _limitBlocks = limitBytes / BlockBytes;
    }

    /// <summary>The most bytes that files may hold.</summary>
    public long LimitBytes { get; }

    /// <summary>Bytes that files hold or have reserved.</summary>
    public long UsedBytes => Volatile.Read(ref _usedBlocks) * BlockBytes;

    /// <summary>The largest segment of a store over this disk.</summary>
    public long LargestSegmentBytes => LimitBytes / FewestSegments & -StoreOptions.SmallestSegmentBytes;

    /// <inheritdoc/>
    public IDiskFile Open(string path, DiskOpen mode)
    {
        lock (_lock)
        {
            if (mode != DiskOpen.CreateNew)
                return new MemoryFile.Handle(Find(path, "open"), path, canWrite: mode == DiskOpen.ReadWrite);
            if (_files.ContainsKey(path))
                throw new DiskException(DiskFault.Exists, path, "open", "a file of that name exists");
            RequireFolderOf(path, "open");
            var file = new MemoryFile(this);
            _files.Add(path, file);
            return new MemoryFile.Handle(file, path, canWrite: true);
        }
    }

    /// <inheritdoc/>
    public bool Exists(string path)
    {
        lock (_lock)
            return _files.ContainsKey(path) || _directories.Contains(path);
    }

    /// <inheritdoc/>
    public IReadOnlyList<DiskEntry> List(string directory)
    {
        lock (_lock)
        {
            return
            [
                .. _files.Where(file => Path.GetDirectoryName(file.Key) == directory)
                    .Select(file => new DiskEntry(Path.GetFileName(file.Key), file.Value.Length)),
            ];
        }
    }

    /// <inheritdoc/>
    public void CreateDirectory(string path)
    {
        lock (_lock)
        {
            for (string? folder = path; folder is not null; folder = Path.GetDirectoryName(folder))
                _directories.Add(folder);
        }
    }

    /// <inheritdoc/>
    public void Delete(string path)
    {
        lock (_lock)
        {
            if (_files.Remove(path, out MemoryFile? file))
                file.Unlink();
        }
    }

    /// <inheritdoc/>
    public void Rename(string from, string to)
    {
        lock (_lock)
        {
            MemoryFile file = Find(from, "rename");
            RequireFolderOf(to, "rename");
            if (from == to)
                return;
            if (_files.Remove(to, out MemoryFile? replaced))
                replaced.Unlink();
            _files.Remove(from);
            _files.Add(to, file);
        }
    }

    /// <inheritdoc/>
    public void SyncDirectory(string directory)
    {
        // Names live exactly as long as the files.
    }

    /// <inheritdoc/>
    public long FreeBytes(string directory) => (_limitBlocks - Volatile.Read(ref _usedBlocks)) * BlockBytes;

    /// <inheritdoc/>
    public IDisposable Lock(string path)
    {
        lock (_lock)
        {
            return _locks.Add(path)
                ? new HeldLock(this, path)
                : throw new DiskException(DiskFault.Locked, path, "lock", "another store of this process holds it");
        }
    }

    /// <summary>Counts blocks, all or none.</summary>
    internal bool TryTake(long blocks)
    {
        long used = Volatile.Read(ref _usedBlocks);
        while (blocks <= _limitBlocks - used)
        {
            long found = Interlocked.CompareExchange(ref _usedBlocks, used + blocks, used);
            if (found == used)
                return true;
            used = found;
        }
        return false;
    }

    /// <summary>Counts blocks no longer.</summary>
    internal void GiveBack(long blocks) => Interlocked.Add(ref _usedBlocks, -blocks);

    private MemoryFile Find(string path, string operation) =>
        _files.TryGetValue(path, out MemoryFile? file)
            ? file
            : throw new DiskException(DiskFault.NotFound, path, operation, "no such file");

    private void RequireFolderOf(string path, string operation)
    {
        if (Path.GetDirectoryName(path) is { } folder && !_directories.Contains(folder))
            throw new DiskException(DiskFault.NotFound, path, operation, "no such folder");
    }

    private sealed class HeldLock(MemoryDisk disk, string path) : IDisposable
    {
        private bool _isReleased;

        public void Dispose()
        {
            lock (disk._lock)
            {
                if (!_isReleased)
                {
                    _isReleased = true;
                    disk._locks.Remove(path);
                }
            }
        }
    }
}
