using EQueue.MessageStore;

namespace EQueue.Support;

/// <summary>A disk in memory that forgets like a real one: unsynced writes and names may be lost, torn and reordered by
/// a power cut.</summary>
/// <remarks>
/// Thread-safe. Everything is durable only when a real disk would promise it: bytes after <see cref="IDiskFile.Sync"/>,
/// names after <see cref="IDisk.SyncDirectory"/>. With <see cref="Journal"/> the changes are kept, so that a test can
/// cut the power after any byte of a run that is over: <see cref="DiskReplay"/>.
/// </remarks>
public sealed class SimulatedDisk : IDisk
{
    private readonly Lock _lock = new();
    private readonly HashSet<string> _locked = [];
    private readonly DiskModel _model;
    private readonly List<DiskOperation>? _journal;
    private long _bytesLeft = long.MaxValue;
    private bool _isOff;

    /// <summary>An empty disk.</summary>
    public SimulatedDisk(bool keepsJournal = false)
        : this(new DiskModel()) => _journal = keepsJournal ? [] : null;

    internal SimulatedDisk(DiskModel model) => _model = model;

    /// <summary>Called before each change with its kind and path; may throw a <see cref="DiskException"/> or hold the
    /// caller.</summary>
    public Action<DiskOperationKind, string>? OnChange { get; set; }

    /// <summary>What <see cref="FreeBytes"/> answers.</summary>
    public long Free { get; set; } = 1L << 40;

    /// <summary>The largest file for which there is room.</summary>
    public long LargestFile { get; set; } = 1L << 30;

    /// <summary>How many changes were made so far.</summary>
    public int ChangeCount
    {
        get
        {
            lock (_lock)
                return _journal?.Count ?? 0;
        }
    }

    /// <summary>All changes, if the disk was made to keep them.</summary>
    public IReadOnlyList<DiskOperation> Journal
    {
        get
        {
            lock (_lock)
                return _journal?.ToArray() ?? throw new InvalidOperationException("The disk keeps no journal.");
        }
    }

    /// <summary>The names of all files.</summary>
    public IReadOnlyList<string> Files
    {
        get
        {
            lock (_lock)
                return [.. _model.Names.Keys.Order(StringComparer.Ordinal)];
        }
    }

    /// <summary>The power goes after so many more written bytes, in the middle of a write if need be; then every call
    /// fails.</summary>
    public void CutAfterBytes(long bytes)
    {
        lock (_lock)
            _bytesLeft = bytes;
    }

    /// <summary>The process is dead: a disk with all that was written.</summary>
    public SimulatedDisk Kill()
    {
        lock (_lock)
        {
            _isOff = true;
            return new SimulatedDisk(_model.Killed());
        }
    }

    /// <summary>The process is dead, the system goes on: the same files for the next process, in which what was not
    /// synced can still be lost. For use when nobody uses this disk any more.</summary>
    public SimulatedDisk KillProcess()
    {
        lock (_lock)
        {
            _isOff = true;
            return new SimulatedDisk(_model);
        }
    }

    /// <summary>Another disk with all that was written; this one goes on.</summary>
    public SimulatedDisk Copy()
    {
        lock (_lock)
            return new SimulatedDisk(_model.Killed());
    }

    /// <summary>The power is gone: a disk that this may have left.</summary>
    public SimulatedDisk CutPower(int seed, PowerCutStyle style = PowerCutStyle.Subset)
    {
        lock (_lock)
        {
            _isOff = true;
            return AfterPowerCut(seed, style);
        }
    }

    /// <summary>A disk that a power cut might leave now; this one goes on.</summary>
    public SimulatedDisk AfterPowerCut(int seed, PowerCutStyle style = PowerCutStyle.Subset)
    {
        lock (_lock)
            return new SimulatedDisk(_model.AfterPowerCut(new Random(seed), style));
    }

    /// <summary>A bit rots on the disk.</summary>
    public void FlipBit(string path, long offset, int bit)
    {
        lock (_lock)
            _model.File(_model.Names[path]).FlipBit(offset, bit);
    }

    /// <summary>A sync of this file has failed: what was not synced is forgotten, as Linux forgets it.</summary>
    public void LoseUnsynced(string path)
    {
        lock (_lock)
            _model.File(_model.Names[path]).LosePending();
    }

    /// <summary>A file's bytes.</summary>
    public byte[] ReadAll(string path)
    {
        lock (_lock)
        {
            SimulatedFile file = _model.File(_model.Names[path]);
            byte[] bytes = new byte[file.Length];
            file.Read(bytes, 0);
            return bytes;
        }
    }

    /// <summary>Makes a file durable with these bytes.</summary>
    public void WriteAll(string path, byte[] bytes)
    {
        lock (_lock)
        {
            if (_model.Names.TryGetValue(path, out int old))
                _model.Apply(new DiskOperation(DiskOperationKind.Delete, old, path));
            int file = _model.NextFile;
            _model.Apply(new DiskOperation(DiskOperationKind.CreateDirectory, -1, Path.GetDirectoryName(path)!));
            _model.Apply(new DiskOperation(DiskOperationKind.Create, file, path));
            _model.Apply(new DiskOperation(DiskOperationKind.Write, file, Offset: 0, Bytes: bytes));
            _model.Apply(new DiskOperation(DiskOperationKind.SyncFile, file));
            _model.Apply(new DiskOperation(DiskOperationKind.SyncDirectory, -1, Path.GetDirectoryName(path)!));
        }
    }

    public IDiskFile Open(string path, DiskOpen mode)
    {
        lock (_lock)
        {
            RequirePower(path);
            bool exists = _model.Names.TryGetValue(path, out int file);
            if (mode != DiskOpen.CreateNew)
                return exists ? new OpenFile(this, file, path) : throw Failure(DiskFault.NotFound, path, "open");
            if (exists)
                throw Failure(DiskFault.Exists, path, "open");
        }

        OnChange?.Invoke(DiskOperationKind.Create, path);
        lock (_lock)
        {
            int file = _model.NextFile;
            Change(new DiskOperation(DiskOperationKind.Create, file, path));
            return new OpenFile(this, file, path);
        }
    }

    public bool Exists(string path)
    {
        lock (_lock)
        {
            RequirePower(path);
            return _model.Names.ContainsKey(path) || _model.HasDirectory(path);
        }
    }

    public IReadOnlyList<DiskEntry> List(string directory)
    {
        lock (_lock)
        {
            RequirePower(directory);
            return
            [
                .. _model.Names.Where(pair => Path.GetDirectoryName(pair.Key) == directory)
                    .Select(pair => new DiskEntry(Path.GetFileName(pair.Key), _model.File(pair.Value).Length)),
            ];
        }
    }

    public void CreateDirectory(string path) =>
        Change(
            DiskOperationKind.CreateDirectory,
            path,
            () => new DiskOperation(DiskOperationKind.CreateDirectory, -1, path));

    public void Delete(string path) => Change(
        DiskOperationKind.Delete,
        path,
        () => _model.Names.TryGetValue(path, out int file)
            ? new DiskOperation(DiskOperationKind.Delete, file, path)
            : null);

    public void Rename(string from, string to) => Change(
        DiskOperationKind.Rename,
        from,
        () => _model.Names.TryGetValue(from, out int file)
            ? new DiskOperation(DiskOperationKind.Rename, file, from, to)
            : throw Failure(DiskFault.NotFound, from, "rename"));

    public void SyncDirectory(string directory) => Change(
        DiskOperationKind.SyncDirectory,
        directory,
        () => new DiskOperation(DiskOperationKind.SyncDirectory, -1, directory));

    public long FreeBytes(string directory) => Free;

    public IDisposable Lock(string path)
    {
        lock (_lock)
        {
            RequirePower(path);
            if (!_locked.Add(path))
                throw Failure(DiskFault.Locked, path, "lock");
            return new HeldLock(this, path);
        }
    }

    private static DiskException Failure(DiskFault fault, string path, string operation) =>
        new(fault, path, operation, "as simulated");

    private void RequirePower(string path)
    {
        if (_isOff)
            throw Failure(DiskFault.Io, path, "power");
    }

    private void Change(DiskOperationKind kind, string path, Func<DiskOperation?> make)
    {
        OnChange?.Invoke(kind, path);
        lock (_lock)
        {
            RequirePower(path);
            if (make() is { } operation)
                Change(operation);
        }
    }

    private void Change(DiskOperation operation)
    {
        RequirePower(operation.Path);
        _model.Apply(operation);
        _journal?.Add(operation);
    }

    private void Write(int file, string path, ReadOnlySpan<byte> bytes, long fileOffset)
    {
        OnChange?.Invoke(DiskOperationKind.Write, path);
        lock (_lock)
        {
            RequirePower(path);
            bool isCut = bytes.Length > _bytesLeft;
            byte[] written = bytes[..(int)Math.Min(bytes.Length, _bytesLeft)].ToArray();
            _bytesLeft -= written.Length;
            Change(new DiskOperation(DiskOperationKind.Write, file, path, Offset: fileOffset, Bytes: written));
            if (!isCut)
                return;
            _isOff = true;
            throw Failure(DiskFault.Io, path, "write");
        }
    }

    private sealed class HeldLock(SimulatedDisk disk, string path) : IDisposable
    {
        public void Dispose()
        {
            lock (disk._lock)
                disk._locked.Remove(path);
        }
    }

    private sealed class OpenFile(SimulatedDisk disk, int file, string path) : IDiskFile
    {
        public long Length
        {
            get
            {
                lock (disk._lock)
                    return disk._model.File(file).Length;
            }
        }

        public void Write(ReadOnlySpan<byte> bytes, long fileOffset) => disk.Write(file, path, bytes, fileOffset);

        public int Read(Span<byte> buffer, long fileOffset)
        {
            lock (disk._lock)
            {
                disk.RequirePower(path);
                return disk._model.File(file).Read(buffer, fileOffset);
            }
        }

        public void Sync() => disk.Change(
            DiskOperationKind.SyncFile, path, () => new DiskOperation(DiskOperationKind.SyncFile, file, path));

        public void Preallocate(long fileOffset, long length) => disk.Change(
            DiskOperationKind.SetLength,
            path,
            () => disk._model.File(file).Length >= fileOffset + length
                ? null
                : fileOffset + length > disk.LargestFile
                ? throw Failure(DiskFault.Full, path, "allocate")
                : new DiskOperation(DiskOperationKind.SetLength, file, path, Offset: fileOffset + length));

        public void Truncate(long length) => disk.Change(
            DiskOperationKind.SetLength,
            path,
            () => new DiskOperation(DiskOperationKind.SetLength, file, path, Offset: length));

        public void Advise(long fileOffset, long length, DiskAdvice advice)
        {
        }

        public void Dispose()
        {
        }
    }
}
