using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Reads a backup: checks every byte of it, or restores it into an empty data directory.</summary>
/// <remarks>
/// One thread. A restore leaves a marker first and removes it last; no store opens beside it, so that what an
/// interrupted restore left is never taken for the whole. The next restore begins anew.
/// </remarks>
internal sealed class BackupReader
{
    private const int BufferSize = 1 << 20;

    private readonly IDisk _disk;
    private readonly string _backup;
    private readonly Action<FileProgress>? _progress;
    private readonly CancellationToken _cancellationToken;
    private readonly BackupManifest _manifest;
    private readonly byte[] _buffer = new byte[BufferSize];
    private long _doneBytes;

    private BackupReader(
        IDisk disk, string backup, Action<FileProgress>? progress, CancellationToken cancellationToken)
    {
        (_disk, _backup, _progress, _cancellationToken) = (disk, backup, progress, cancellationToken);
        _manifest = ReadFinished(disk, backup);
    }

    private BackupResult Result => new(
        _manifest.Header.StoreId,
        DateTimeOffset.FromUnixTimeMilliseconds(_manifest.Header.CreatedMs),
        _manifest.Files.Count, _manifest.Files.Sum(file => file.Size), FilesPresent: 0, BytesPresent: 0,
        _manifest.Header.StartPosition, _manifest.Header.EndPosition);

    /// <inheritdoc cref="StoreBackup.Verify"/>
    public static BackupResult Verify(
        IDisk disk,
        string backupDirectory,
        Action<FileProgress>? progress,
        Action<string> damaged,
        CancellationToken cancellationToken)
    {
        ReadFinished(disk, backupDirectory);
        using IDisposable? folderLock = BackupLock.TakeForReading(disk, backupDirectory);
        var reader = new BackupReader(disk, backupDirectory, progress, cancellationToken);
        foreach (BackupFile file in reader._manifest.Files)
        {
            if (!reader.IsWhole(file, copy: null))
                damaged(BackupFile.PathOf(backupDirectory, file.StoredName));
        }

        return reader.Result;
    }

    /// <inheritdoc cref="StoreBackup.Restore"/>
    public static BackupResult Restore(
        IDisk disk,
        string backupDirectory,
        string dataDirectory,
        Action<FileProgress>? progress,
        CancellationToken cancellationToken)
    {
        ReadFinished(disk, backupDirectory);
        using IDisposable? folderLock = BackupLock.TakeForReading(disk, backupDirectory);
        var reader = new BackupReader(disk, backupDirectory, progress, cancellationToken);
        CheckEmpty(disk, dataDirectory);
        disk.CreateDirectory(dataDirectory);
        FolderNames.Sync(disk, dataDirectory);
        using IDisposable dataLock = LockData(disk, dataDirectory);
        CheckEmpty(disk, dataDirectory);
        return reader.RestoreTo(dataDirectory);
    }

    private static BackupManifest ReadFinished(IDisk disk, string backup)
    {
        var manifest = BackupManifest.Read(disk, backup);
        if (manifest is null)
            throw new BackupException(BackupFault.NoBackup, backup, "the directory holds no backup.");
        return manifest.IsFinished
            ? manifest
            : throw new BackupException(
                BackupFault.NoBackup, backup, "no backup was finished in the directory.");
    }

    private static IDisposable LockData(IDisk disk, string dataDirectory)
    {
        try
        {
            return disk.Lock(LogFiles.LockFile(dataDirectory));
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Locked)
        {
            throw new BackupException(
                BackupFault.InUse, dataDirectory, "a broker, or another restore, is using the directory.", exception);
        }
    }

    /// <summary>Whether a store may be restored into a directory: nothing is in it, or what a restore left.</summary>
    private static void CheckEmpty(IDisk disk, string dataDirectory)
    {
        if (RestoreMarker.IsThere(disk, dataDirectory))
            return;
        string lockFile = LogFiles.LockFile(dataDirectory);
        bool hasOther = disk.List(dataDirectory).Any(
                entry => entry.Name != Path.GetFileName(lockFile) && entry.Name != RestoreMarker.TemporaryName)
            || disk.Exists(Path.GetDirectoryName(LogFiles.LogDirectory(dataDirectory))!);
        if (!hasOther)
            return;
        if (disk.Exists(lockFile))
            LockData(disk, dataDirectory).Dispose();
        throw new BackupException(BackupFault.WrongDirectory, dataDirectory, "the directory is not empty.");
    }

    private BackupResult RestoreTo(string dataDirectory)
    {
        RestoreMarker.Write(_disk, dataDirectory);
        string log = LogFiles.LogDirectory(dataDirectory);
        _disk.CreateDirectory(log);
        foreach (DiskEntry entry in _disk.List(log))
            _disk.Delete(Path.Combine(log, entry.Name));
        foreach (BackupFile file in _manifest.Files)
        {
            string path = BackupFile.PathOf(dataDirectory, file.Name);
            _disk.Delete(path);
            using IDiskFile copy = _disk.Open(path, DiskOpen.CreateNew);
            if (!IsWhole(file, copy))
            {
                throw new StoreFormatException(
                    BackupFile.PathOf(_backup, file.StoredName),
                    "the file of the backup is damaged or gone; nothing can be restored from it.");
            }

            copy.Sync();
        }

        _disk.SyncDirectory(log);
        _disk.SyncDirectory(Path.GetDirectoryName(log)!);
        _disk.SyncDirectory(dataDirectory);
        RestoreMarker.Remove(_disk, dataDirectory);
        return Result;
    }

    /// <summary>Reads a file of the backup, copies it if wanted, and says whether it is as it was written.</summary>
    private bool IsWhole(BackupFile file, IDiskFile? copy)
    {
        string path = BackupFile.PathOf(_backup, file.StoredName);
        if (!_disk.Exists(path))
            return false;
        using IDiskFile source = _disk.Open(path, DiskOpen.ReadOnly);
        if (source.Length != file.Size)
            return false;

        uint crc = 0;
        for (long done = 0; done < file.Size;)
        {
            _cancellationToken.ThrowIfCancellationRequested();
            Span<byte> bytes = _buffer.AsSpan(0, (int)Math.Min(_buffer.Length, file.Size - done));
            if (source.Read(bytes, done) < bytes.Length)
                return false;
            crc = Crc32C.Append(crc, bytes);
            copy?.Write(bytes, done);
            done += bytes.Length;
            _doneBytes += bytes.Length;
            _progress?.Invoke(new FileProgress(_doneBytes, Result.BytesCopied));
        }

        return crc == file.Crc;
    }
}
