using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Makes a backup: looks at the data directory, copies what the folder lacks, writes the manifest.</summary>
/// <remarks>
/// One thread; reads the data directory, writes in the backup's folder alone. The manifest is the commit: until it has
/// its name the former backup stands with all of its files, afterwards what it does not list is removed. A store that
/// takes files away meanwhile (retention, packing) makes it look again; what was copied is there then.
/// </remarks>
internal sealed class BackupWriter
{
    /// <summary>After so many looks the store takes files away faster than they can be copied.</summary>
    private const int MaxLooks = 1000;

    private readonly BackupOptions _options;
    private readonly IDisk _disk;
    private readonly IDisk _target;
    private readonly CancellationToken _cancellationToken;
    private BackupFolder _folder = null!;
    private long _doneBytes;
    private long _totalBytes;
    private readonly HashSet<BackupFile> _copied = [];
    private double _debtSeconds;

    private BackupWriter(BackupOptions options, IDisk disk, IDisk target, CancellationToken cancellationToken) =>
        (_options, _disk, _target, _cancellationToken) = (options, disk, target, cancellationToken);

    private string Data => _options.DataDirectory;

    private string Backup => _options.BackupDirectory;

    /// <inheritdoc cref="StoreBackup.Write"/>
    public static BackupResult Run(
        BackupOptions options, IDisk disk, IDisk target, CancellationToken cancellationToken) =>
        new BackupWriter(options, disk, target, cancellationToken).Run();

    private BackupResult Run()
    {
        StoreHeader store = BackupSource.ReadStore(_disk, Data);
        CheckFolder(store);
        MakeFolder();
        using IDisposable folderLock = BackupLock.Take(_target, Backup);
        if (CheckOwner(store) is null)
            Write(store, default, default, epoch: 0, []);
        _target.CreateDirectory(LogFiles.LogDirectory(Backup));
        _folder = new BackupFolder(_target, Backup, NoteMoved);
        for (int look = 1; ; look++)
        {
            _cancellationToken.ThrowIfCancellationRequested();
            try
            {
                return CopyAll();
            }
            catch (DiskException exception) when (look < MaxLooks
                && exception.Fault == DiskFault.NotFound && IsInData(exception.Path))
            {
                // Retention or packing took a file away: the next look finds what took its place.
            }
            catch (StoreFormatException exception) when (look < MaxLooks
                && IsInData(exception.Path) && !_disk.Exists(exception.Path))
            {
                // A pack that a later one replaced.
            }
        }
    }

    private bool IsInData(string path) =>
        path.StartsWith(Data + Path.DirectorySeparatorChar, StringComparison.Ordinal);

    /// <summary>Refuses a folder that holds something else, before anything is written.</summary>
    private void CheckFolder(StoreHeader store)
    {
        if (CheckOwner(store) is null && _target.List(Backup).Any(IsForeign))
        {
            throw new BackupException(
                BackupFault.WrongDirectory, Backup, "the directory is not empty, and no backup of a broker.");
        }
    }

    private void MakeFolder()
    {
        _target.CreateDirectory(Backup);
        FolderNames.Sync(_target, Backup);
    }

    private static bool IsForeign(DiskEntry entry) => entry.Name
        is not (BackupLock.FileName or BackupManifest.FileName + LogFiles.TemporarySuffix);

    private BackupManifest? CheckOwner(StoreHeader store)
    {
        var manifest = BackupManifest.Read(_target, Backup);
        return manifest is null || manifest.Header.StoreId == store.StoreId
            ? manifest
            : throw new BackupException(
                BackupFault.OtherStore, Backup,
                $"the backup is of the store {manifest.Header.StoreId}, and {Data} is the store {store.StoreId}.");
    }

    private BackupResult CopyAll()
    {
        long beganMs = _options.Time.GetUtcNow().ToUnixTimeMilliseconds();
        var source = BackupSource.Look(_disk, Data, _cancellationToken);
        var files = new List<BackupFile>(source.Files.Count);
        (_doneBytes, _totalBytes) = (0, source.Files.Sum(file => file.Size));
        foreach (SourceFile file in source.Files)
        {
            _cancellationToken.ThrowIfCancellationRequested();
            if (TryTake(file) is { } taken)
                files.Add(taken);
        }

        _folder.Sync();
        Write(source.Store, source.First, source.End, source.Epoch, files, beganMs);
        _folder.RemoveAllBut(files);
        ILookup<bool, BackupFile> isCopied = files.ToLookup(_copied.Contains);
        return new BackupResult(
            source.Store.StoreId,
            DateTimeOffset.FromUnixTimeMilliseconds(beganMs),
            isCopied[true].Count(), isCopied[true].Sum(file => file.Size),
            isCopied[false].Count(), isCopied[false].Sum(file => file.Size),
            source.First, source.End);
    }

    private BackupFile? TryTake(SourceFile source)
    {
        IDiskFile file;
        try
        {
            file = _disk.Open(source.Path, DiskOpen.ReadOnly);
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.NotFound && source.IsDerived)
        {
            return null;
        }

        using (file)
        {
            long size = Math.Min(file.Length, source.Size);
            if (_folder.Find(source, file, size) is { } there)
            {
                _totalBytes -= size;
                Report();
                return there;
            }

            BackupFile copy = _folder.Copy(source, file, size);
            if (source.IsOld)
                file.Advise(0, size, DiskAdvice.DontNeed);
            _copied.Add(copy);
            return copy;
        }
    }

    private void Write(
        StoreHeader store, LogPosition first, LogPosition end, int epoch, List<BackupFile> files, long createdMs = 0)
    {
        var header = new SectionFileHeader
        {
            StoreId = store.StoreId,
            LogId = store.LogIds[0],
            StartPosition = first,
            EndPosition = end,
            Epoch = epoch,
            CreatedMs = createdMs,
        };
        new BackupManifest(header, files).Write(_target, Backup);
    }

    private void NoteMoved(int bytes)
    {
        _doneBytes += bytes;
        Report();
        _cancellationToken.ThrowIfCancellationRequested();
        if (_options.BytesPerSecond is not { } rate)
            return;
        _debtSeconds += (double)bytes / rate;
        if (_debtSeconds >= 0.1)
        {
            _cancellationToken.WaitHandle.WaitOne(TimeSpan.FromSeconds(_debtSeconds));
            _debtSeconds = 0;
        }
    }

    private void Report() => _options.Progress?.Invoke(new FileProgress(_doneBytes, Math.Max(_doneBytes, _totalBytes)));
}
