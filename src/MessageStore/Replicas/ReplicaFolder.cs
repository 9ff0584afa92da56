using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The folder of a replica's log: where its files are, and what each says that it covers.</summary>
internal sealed class ReplicaFolder(IDisk disk, string directory, StoreHeader store)
{
    public IDisk Disk { get; } = disk;

    public string Directory { get; } = directory;

    public Guid StoreId => store.StoreId;

    public Guid LogId => store.LogIds[0];

    /// <summary>Seeds the checksums of the log's entries.</summary>
    public uint LogSeed { get; } = EntryHeader.SeedOf(store.LogIds[0]);

    /// <summary>Where a file of this name lies.</summary>
    /// <exception cref="ReplicaException">No such file belongs to a log.</exception>
    public string PathOf(string name) => ReplicaFileName.Parse(name) is null
        ? throw new ReplicaException($"{TextOf(name)} is no file of a log.")
        : Path.Combine(Directory, name);

    /// <summary>Where the state of a snapshot ends; null when it is not whole, or not of this log.</summary>
    public LogPosition? EndOfSnapshot(string path, LogPosition start)
    {
        FileVerdict verdict = SnapshotReader.TryOpen(Disk, path, LogId, start, out SnapshotReader? snapshot);
        using (snapshot)
            return verdict == FileVerdict.Valid && snapshot!.Verify() ? snapshot.Header.EndPosition : null;
    }

    /// <summary>Where the entries of an index end; null when it is not whole, or not of this log.</summary>
    public LogPosition? EndOfIndex(string path, LogPosition basePosition, bool isPacked)
    {
        FileVerdict verdict = SealedIndex.TryOpen(Disk, path, LogId, basePosition, out SealedIndex? index);
        using (index)
        {
            return verdict == FileVerdict.Valid && index!.IsPacked == isPacked && index.VerifyAll()
                ? index.Header.EndPosition
                : null;
        }
    }

    /// <summary>Where the entries of a pack end; null when it is not whole, or not of this log.</summary>
    /// <param name="path">The pack.</param>
    /// <param name="from">Where they begin.</param>
    /// <param name="takesBad">Whether it may hold entries that have rotted: a newcomer takes it as it is, and readers
    /// are told. A replica that follows has the entries themselves.</param>
    public LogPosition? EndOfPack(string path, LogPosition from, bool takesBad)
    {
        FileVerdict verdict = SegmentHeader.Read(
            WholeFile.Read(Disk, path, SegmentHeader.Length), out SegmentHeader? header);
        if (verdict != FileVerdict.Valid || !header!.IsPacked || header.LogId != LogId || header.BasePosition != from)
            return null;
        using var scanner = new SegmentScanner(
            Disk.Open(path, DiskOpen.ReadOnly), path, from, LogSeed, header.PackedTo);
        while (scanner.TryStep(scanner.EndOfFile, out (long Position, long Size) bad))
        {
            if (bad.Size > 0 && !takesBad)
                return null;
        }

        return header.PackedTo;
    }

    /// <summary>When a pack was made; null when it cannot be read.</summary>
    public long? CreatedMsOfPack(string path) =>
        SegmentHeader.Read(WholeFile.Read(Disk, path, SegmentHeader.Length), out SegmentHeader? header)
            == FileVerdict.Valid ? header!.CreatedMs : null;

    /// <summary>When an index was made; null when it cannot be read.</summary>
    public long? CreatedMsOfIndex(string path)
    {
        FileVerdict verdict = SectionFileReader.TryOpen(
            Disk, path, SealedIndexWriter.Magic, out SectionFileReader? index);
        using (index)
            return verdict == FileVerdict.Valid ? index!.Header.CreatedMs : null;
    }

    /// <summary>Whether a file is a snapshot of more than the log holds when it ends there.</summary>
    public bool IsSnapshotTooFar(string name, LogPosition end)
    {
        if (!LogFiles.TryParse(name, LogFiles.SnapshotSuffix, out LogPosition start))
            return false;
        string file = Path.Combine(Directory, name);
        FileVerdict verdict = SnapshotReader.TryOpen(Disk, file, LogId, start, out SnapshotReader? snapshot);
        using (snapshot)
        {
            return verdict != FileVerdict.Refused
                && (verdict != FileVerdict.Valid || snapshot!.Header.EndPosition > end);
        }
    }

    private static string TextOf(string name) => name.Length > 100 ? $"{name[..100]}..." : name;
}
