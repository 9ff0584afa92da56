using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The files of log 0 as they stand, for those who only look.</summary>
internal sealed class LogContents
{
    private const int MaxLooks = 5;

    private readonly IDisk _disk;

    private LogContents(IDisk disk, string dataDirectory, StoreHeader store)
    {
        _disk = disk;
        Directory = LogFiles.LogDirectory(dataDirectory);
        Store = store;
        LogSeed = EntryHeader.SeedOf(store.LogIds[0]);
    }

    /// <summary>The log's folder.</summary>
    public string Directory { get; }

    /// <summary>Who the store is.</summary>
    public StoreHeader Store { get; }

    /// <summary>Begins the checksum of its entries.</summary>
    public uint LogSeed { get; }

    /// <summary>Base positions of the segments, rising.</summary>
    public IReadOnlyList<LogPosition> Bases { get; private set; } = [];

    /// <summary>Packed segments, by position.</summary>
    public IReadOnlyList<PackFile> Packs { get; private set; } = [];

    /// <summary>What snapshots prove to have been durable.</summary>
    public LogPosition ProvenDurable { get; private set; }

    /// <summary>Snapshots: where replay starts and whether each is whole.</summary>
    public IReadOnlyList<(LogPosition Start, LogPosition End, bool IsWhole)> Snapshots { get; private set; } = [];

    /// <summary>Indexes and snapshots that do not match their checksums.</summary>
    public IReadOnlyList<BadRange> DamagedFiles { get; private set; } = [];

    /// <summary>Looks at the files. Those that a live store replaces meanwhile are skipped.</summary>
    /// <exception cref="StoreFormatException">No store there, or a later version's.</exception>
    public static LogContents Read(IDisk disk, string dataDirectory)
    {
        string path = LogFiles.StoreFile(dataDirectory);
        FileVerdict verdict =
            StoreHeader.Read(WholeFile.Read(disk, path, StoreHeader.MaxLength), out StoreHeader? store);
        if (verdict == FileVerdict.Refused)
            throw LaterVersion.Refuse(disk, path);
        if (verdict != FileVerdict.Valid)
        {
            throw new StoreFormatException(path, verdict == FileVerdict.Empty
                ? "there is no store here."
                : "the file is damaged; opening the store rebuilds it from the segments.");
        }

        var contents = new LogContents(disk, dataDirectory, store!);
        // Snapshots first: the log that is read later holds at least what they prove.
        var damaged = new List<BadRange>();
        contents.Snapshots = contents.ReadSnapshots(damaged);
        (contents.Packs, List<LogPosition> bases, _) = SegmentFiles.Find(disk, contents.Directory);
        contents.Bases = bases;
        IEnumerable<(LogPosition Base, string Path)> indexes = bases
            .Select(position => (position, LogFiles.Index(contents.Directory, position)))
            .Concat(contents.Packs.Select(pack => (pack.From, pack.IndexPath)));
        foreach ((LogPosition basePosition, string index) in indexes)
        {
            if (contents.IsIndexWhole(index, basePosition) == false)
                damaged.Add(contents.FileRange(index, basePosition));
        }

        contents.DamagedFiles = damaged;
        return contents;
    }

    /// <summary>Looks at a log that a live store may be cleaning: when one of its files goes meanwhile, looks at all
    /// of it again.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="dataDirectory">The folder of the store.</param>
    /// <param name="look">Called for each look.</param>
    /// <returns>What the last look gave; of a store that never holds still, the last of
    /// <see cref="MaxLooks"/>.</returns>
    public static T Look<T>(IDisk disk, string dataDirectory, Func<LogContents, T> look)
    {
        for (int number = 1; ; number++)
        {
            try
            {
                LogContents contents = Read(disk, dataDirectory);
                T seen = look(contents);
                if (number == MaxLooks || contents.StillStands())
                    return seen;
            }
            catch (DiskException exception) when (exception.Fault == DiskFault.NotFound && number < MaxLooks)
            {
                // Removed or packed between the listing and the opening.
            }
            catch (StoreFormatException exception) when (number < MaxLooks
                && PackFile.TryParse(Path.GetFileName(exception.Path), out _, out _) && !disk.Exists(exception.Path))
            {
                // A pack that a later one replaced.
            }
        }
    }

    /// <summary>Bytes of all segments and packs.</summary>
    public long SizeOfLog() => _disk.List(Directory)
        .Where(entry => LogFiles.TryParse(entry.Name, LogFiles.SegmentSuffix, out _)
            || entry.Name.EndsWith(PackFile.Suffix, StringComparison.Ordinal))
        .Sum(entry => entry.Size);

    /// <summary>Reads a segment's header; refuses later versions and other stores.</summary>
    public FileVerdict ReadHeader(LogPosition basePosition, out SegmentHeader? header) =>
        ReadHeader(LogFiles.Segment(Directory, basePosition), basePosition, out header);

    /// <summary>Reads the header of a segment or pack; refuses later versions and other stores.</summary>
    public FileVerdict ReadHeader(string path, LogPosition basePosition, out SegmentHeader? header)
    {
        FileVerdict verdict = SegmentHeader.Read(WholeFile.Read(_disk, path, SegmentHeader.Length), out header);
        if (verdict == FileVerdict.Refused)
            throw LaterVersion.Refuse(_disk, path);
        bool isForeign = verdict == FileVerdict.Valid
            && (header!.StoreId != Store.StoreId || header.LogId != Store.LogIds[0]
                || header.BasePosition != basePosition);
        return isForeign ? FileVerdict.Damaged : verdict;
    }

    /// <summary>Whether a segment's index is whole; null when it has none.</summary>
    public bool? IsIndexWhole(string path, LogPosition basePosition)
    {
        FileVerdict verdict = SealedIndex.TryOpen(_disk, path, Store.LogIds[0], basePosition, out SealedIndex? index);
        using (index)
        {
            if (verdict == FileVerdict.Empty && !_disk.Exists(path))
                return null;
            return verdict == FileVerdict.Valid && index!.VerifyAll();
        }
    }

    private List<(LogPosition, LogPosition, bool)> ReadSnapshots(List<BadRange> damaged)
    {
        var snapshots = new List<(LogPosition, LogPosition, bool)>();
        foreach (LogPosition start in LogFiles.Find(_disk, Directory, LogFiles.SnapshotSuffix))
        {
            string path = LogFiles.Snapshot(Directory, start);
            SnapshotReader? snapshot;
            FileVerdict verdict;
            try
            {
                verdict = SnapshotReader.TryOpen(_disk, path, Store.LogIds[0], start, out snapshot);
            }
            catch (DiskException exception) when (exception.Fault == DiskFault.NotFound)
            {
                continue; // a live store replaced it
            }

            using (snapshot)
            {
                bool isWhole = verdict == FileVerdict.Valid && snapshot!.Verify();
                snapshots.Add((start, isWhole ? snapshot!.Header.EndPosition : start, isWhole));
                if (isWhole && snapshot!.Header.EndPosition > ProvenDurable)
                    ProvenDurable = snapshot.Header.EndPosition;
                if (!isWhole && _disk.Exists(path))
                    damaged.Add(FileRange(path, start));
            }
        }

        return snapshots;
    }

    private bool StillStands()
    {
        var names = _disk.List(Directory).Select(entry => entry.Name).ToHashSet(StringComparer.Ordinal);
        return Bases.All(position => names.Contains(Path.GetFileName(LogFiles.Segment(Directory, position))))
            && Packs.All(pack => names.Contains(Path.GetFileName(pack.Path)));
    }

    private BadRange FileRange(string path, LogPosition position)
    {
        string name = Path.GetFileName(path);
        long size = _disk.List(Directory).FirstOrDefault(entry => entry.Name == name).Size;
        return new BadRange(name, position, size);
    }
}
