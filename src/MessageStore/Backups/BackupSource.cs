using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>One look at a data directory: which files, and how much of the last one, are its log up to a
/// point.</summary>
/// <remarks>
/// Reads only, also while a store has the directory open. The order makes it consistent: snapshots first, for the log
/// that is read later holds at least what they prove; then the list of segments, until two lists are the same, for a
/// pack has its name before its sources lose theirs; then the walk over the end of the log, as recovery does it. A file
/// that goes meanwhile ends the look with <see cref="DiskFault.NotFound"/>: the caller looks again.
/// </remarks>
internal sealed class BackupSource
{
    /// <summary>Of the newest bytes of the log the page cache keeps what it has.</summary>
    private const long RecentBytes = 256L << 20;

    private readonly IDisk _disk;
    private readonly string _dataDirectory;
    private readonly string _directory;
    private readonly List<SourceFile> _files = [];
    private readonly List<LogPosition> _snapshots = [];
    private Dictionary<string, long> _sizes = [];
    private List<LogPosition> _bases = [];
    private List<PackFile> _packs = [];
    private LogPosition _replayFrom;
    private LogPosition _proven;

    private BackupSource(IDisk disk, string dataDirectory)
    {
        (_disk, _dataDirectory) = (disk, dataDirectory);
        _directory = LogFiles.LogDirectory(dataDirectory);
        Store = ReadStore(disk, dataDirectory);
    }

    /// <summary>Who the store is.</summary>
    public StoreHeader Store { get; }

    /// <summary>What the backup must hold: what may go soonest comes first, the end of the log last.</summary>
    public IReadOnlyList<SourceFile> Files => _files;

    /// <summary>Where the log begins.</summary>
    public LogPosition First { get; private set; }

    /// <summary>The point: whole entries, all of them, stand before it. What was acknowledged before the look is
    /// among them.</summary>
    public LogPosition End { get; private set; }

    /// <summary>The log's epoch at the point.</summary>
    public int Epoch { get; private set; }

    /// <summary>Looks at a data directory.</summary>
    /// <exception cref="StoreFormatException">No store, one of a later version, or one that could not be
    /// opened.</exception>
    /// <exception cref="DiskException">A file went meanwhile (NotFound), or the disk failed.</exception>
    public static BackupSource Look(IDisk disk, string dataDirectory, CancellationToken cancellationToken)
    {
        var source = new BackupSource(disk, dataDirectory);
        source.AddStore();
        source.AddSnapshots();
        source.ListSegments();
        source.AddLog(cancellationToken);
        return source;
    }

    /// <summary>Reads who the store of a directory is.</summary>
    /// <exception cref="StoreFormatException">There is none, or it is a later version's.</exception>
    public static StoreHeader ReadStore(IDisk disk, string dataDirectory)
    {
        RestoreMarker.Check(disk, dataDirectory);
        MoveMarker.Check(disk, dataDirectory);
        string path = LogFiles.StoreFile(dataDirectory);
        FileVerdict verdict =
            StoreHeader.Read(WholeFile.Read(disk, path, StoreHeader.MaxLength), out StoreHeader? store);
        return verdict switch
        {
            FileVerdict.Valid => store!,
            FileVerdict.Refused => throw LaterVersion.Refuse(disk, path),
            FileVerdict.Empty => throw new StoreFormatException(path, "there is no store here."),
            _ => throw new StoreFormatException(
                path, "the file is damaged; opening the store rebuilds it from the segments."),
        };
    }

    private void AddStore()
    {
        string path = LogFiles.StoreFile(_dataDirectory);
        _files.Add(new SourceFile(StoreHeader.FileName, path, StoreHeader.MaxLength));
    }

    /// <summary>Takes all whole snapshots; the newest says where recovery begins.</summary>
    private void AddSnapshots()
    {
        List<LogPosition> starts = LogFiles.Find(_disk, _directory, LogFiles.SnapshotSuffix);
        starts.Reverse();
        foreach (LogPosition start in starts)
        {
            string path = LogFiles.Snapshot(_directory, start);
            FileVerdict verdict =
                SnapshotReader.TryOpen(_disk, path, Store.LogIds[0], start, out SnapshotReader? snapshot);
            using (snapshot)
            {
                if (verdict == FileVerdict.Refused)
                    throw LaterVersion.Refuse(_disk, path);
                if (verdict == FileVerdict.Empty && !_disk.Exists(path))
                    throw new DiskException(DiskFault.NotFound, path, "open", "a newer one took its place");
                if (verdict != FileVerdict.Valid || !snapshot!.Verify())
                    continue;
                _snapshots.Add(start);
                if (_proven < snapshot.Header.EndPosition)
                    _proven = snapshot.Header.EndPosition;
            }
        }

        _replayFrom = _snapshots.FirstOrDefault();

        if (CleanMarker.TryRead(_disk, _dataDirectory, Store.StoreId, out LogPosition end) && _proven < end)
            _proven = end;
    }

    private void ListSegments()
    {
        bool isSame;
        do
        {
            (List<PackFile> packs, List<LogPosition> bases, _) = SegmentFiles.Find(_disk, _directory);
            isSame = packs.SequenceEqual(_packs) && bases.SequenceEqual(_bases);
            (_packs, _bases) = (packs, bases);
        }
        while (!isSame);
        _sizes = _disk.List(_directory).ToDictionary(entry => entry.Name, entry => entry.Size, StringComparer.Ordinal);
        if (_bases.Count == 0)
            throw new StoreFormatException(_directory, "the store has no log yet.");
    }

    private void AddLog(CancellationToken cancellationToken)
    {
        foreach (LogPosition snapshot in _snapshots)
            Add(LogFiles.Snapshot(_directory, snapshot));
        First = _bases.Concat(_packs.Select(pack => pack.From)).Min();
        if (First > _replayFrom)
        {
            throw new StoreFormatException(
                _directory, $"no whole snapshot is left for the log, which begins at position {First}.");
        }

        uint seed = EntryHeader.SeedOf(Store.LogIds[0]);
        var walk = new LogWalk(_disk, _directory, seed, _bases, _proven);
        int first = Math.Clamp(
            _bases.FindLastIndex(position => position <= _replayFrom), 0, Math.Max(0, _bases.Count - 1));
        walk.Run(first, _ => { }, cancellationToken);
        End = new LogPosition(walk.End);
        Epoch = walk.Epoch;
        foreach (PackFile pack in _packs)
        {
            Add(pack.Path, isOld: true);
            Add(pack.IndexPath, isDerived: true);
        }

        List<LogPosition> chain =
        [
            .. _bases.Take(first),
            .. walk.Chain.Where(segment => segment <= walk.EndSegment).Select(segment => _bases[segment]),
        ];
        for (int i = 0; i < chain.Count; i++)
        {
            long end = i + 1 < chain.Count ? EndOf(chain[i], chain[i + 1]) : walk.End;
            long size = SegmentHeader.FileOffsetOf(new LogPosition(end), chain[i]);
            Add(LogFiles.Segment(_directory, chain[i]), size, isOld: end < walk.End - RecentBytes);
            if (i + 1 < chain.Count || walk.EndsWithSeal)
                Add(LogFiles.Index(_directory, chain[i]), isDerived: true);
        }
    }

    /// <summary>Where a segment ends: where the next one, or a pack between the two, begins.</summary>
    private long EndOf(LogPosition segment, LogPosition next) => _packs
        .Where(pack => pack.From > segment && pack.From < next)
        .Select(pack => pack.From.Value)
        .Append(next.Value)
        .Min();

    /// <summary>Takes a file, up to a size; one that the store has taken away since it was looked into ends the
    /// look.</summary>
    private void Add(string path, long size = long.MaxValue, bool isDerived = false, bool isOld = false)
    {
        string name = Path.GetFileName(path);
        if (_sizes.TryGetValue(name, out long length))
        {
            long wanted = size == long.MaxValue ? length : size;
            _files.Add(new SourceFile(BackupFile.LogFolder + name, path, wanted, isDerived, isOld));
        }
        else if (!isDerived)
        {
            throw new DiskException(DiskFault.NotFound, path, "list", "it was taken away");
        }
    }
}
