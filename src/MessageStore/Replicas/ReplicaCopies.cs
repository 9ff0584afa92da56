using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Files copied from another replica: sealed indexes, snapshots, packs, and the sealed segments of a
/// newcomer.</summary>
/// <remarks>One thread at a time, the log's.</remarks>
internal sealed class ReplicaCopies(ReplicaFolder folder, ReplicaNotes notes, ReplicaLog log)
{
    private const int KeptSnapshots = 2;

    private LogPosition? _replayFrom;
    private LogPosition? _copiedTo;

    /// <inheritdoc cref="ReplicaFiles.BeginCopy"/>
    public ReplicaCopy BeginCopy(string name) => new(this, folder.Disk, folder.PathOf(name));

    /// <inheritdoc cref="ReplicaFiles.BeginAt"/>
    public void BeginAt(LogPosition begin)
    {
        if (!IsFilled || log.Segments.Count > 0)
            throw new ReplicaException($"a log that ends at {log.Tail.End} begins where it does.");
        log.BeginAt(begin);
    }

    /// <inheritdoc cref="ReplicaFiles.BeginCopying"/>
    public void BeginCopying()
    {
        _copiedTo = null;
        notes.Write(notes.Note with { Durable = log.Durable, IsCopying = true });
    }

    /// <inheritdoc cref="ReplicaFiles.EndCopying"/>
    public string? EndCopying(LogPosition begin)
    {
        if (!IsFilled)
            throw new InvalidOperationException("The directory is not being copied.");
        if (log.Begin > begin)
            return $"the log begins at {begin}, and here at {log.Begin}";
        for (int i = 1; i < log.Segments.Count; i++)
        {
            if (log.Segments[i].BasePosition != log.Segments[i - 1].EndPosition)
                return $"nothing is here of {log.Segments[i - 1].EndPosition} to {log.Segments[i].BasePosition}";
        }

        long replayed = log.Segments.Where(one => one.IsPacked)
            .Select(one => one.EndPosition)
            .LastOrDefault(log.Begin.Value);
        if (ReplayFrom.Value < replayed)
            return $"no snapshot is here that begins at {replayed} or behind it";
        _copiedTo = folder.EndOfSnapshot(LogFiles.Snapshot(folder.Directory, ReplayFrom), ReplayFrom)
            ?? new LogPosition(0);
        NoteCopied();
        return null;
    }

    /// <summary>The copy counts once the log has what its snapshots were taken of: before that, an opening would find
    /// them to be of more than is there.</summary>
    public void NoteCopied()
    {
        if (_copiedTo is not { } to || log.Durable < to)
            return;
        _copiedTo = null;
        notes.Write(notes.Note with { Durable = log.Durable, IsCopying = false });
    }

    /// <summary>The log is being cut: what its snapshots were taken of may go.</summary>
    /// <param name="end">Where.</param>
    /// <returns>Snapshots of more go: what a newcomer has copied snapshots of is committed, and comes again.</returns>
    public LogPosition BeginCut(LogPosition end)
    {
        _replayFrom = null;
        return _copiedTo is { } copied && copied > end ? copied : end;
    }

    /// <inheritdoc cref="ReplicaFiles.ListFiles"/>
    public IReadOnlyList<(string Name, long Length)> ListFiles(LogPosition settled) =>
    [
        .. folder.Disk.List(folder.Directory)
            .Where(entry => EndOf(Path.Combine(folder.Directory, entry.Name), entry.Name) is { } end && end <= settled)
            .Select(entry => (entry.Name, entry.Size)),
    ];

    /// <inheritdoc cref="ReplicaFiles.RemoveBelow"/>
    public void RemoveBelow(LogPosition begin, LogPosition committed)
    {
        if (begin > Settled(committed))
            throw new ReplicaException($"nothing above {Settled(committed)} is committed and durable: {begin} stays.");
        long gone = Math.Min(begin.Value, ReplayFrom.Value);
        log.RemoveBelow(gone);
    }

    /// <inheritdoc cref="ReplicaFiles.HasFile"/>
    public bool HasFile(string name) => folder.Disk.Exists(folder.PathOf(name));

    /// <inheritdoc cref="ReplicaFiles.Needs"/>
    public bool Needs(string name) =>
        !HasFile(name)
        && !(ReplicaFileName.Parse(name) is { Kind: ReplicaFileKind.Segment } segment && segment.From < log.Tail.End);

    /// <inheritdoc cref="ReplicaFiles.Follows"/>
    public bool Follows(string name) => !HasFile(name) && ReplicaFileName.Parse(name)!.Value switch
    {
        { Kind: ReplicaFileKind.Segment } => false,
        { Kind: ReplicaFileKind.PackIndex } => HasFile(name[..^LogFiles.IndexSuffix.Length]),
        { Kind: ReplicaFileKind.Index } index =>
            log.Segments.Any(one => !one.IsPacked && one.BasePosition == index.From.Value),
        { Kind: ReplicaFileKind.Snapshot } snapshot =>
            LogFiles.Find(folder.Disk, folder.Directory, LogFiles.SnapshotSuffix)
                .Count(one => one > snapshot.From) < KeptSnapshots,
        _ => true,
    };

    /// <summary>Reads a copied file whole. Sealed segments are walked when they are taken.</summary>
    /// <returns>Where what it covers ends.</returns>
    public LogPosition CheckCopy(ReplicaCopy copy)
    {
        string name = Path.GetFileName(copy.Path);
        ReplicaFileName file = ReplicaFileName.Parse(name)!.Value;
        if (file.Kind == ReplicaFileKind.Segment)
            return default;
        if (EndOf(copy.Temporary, name) is { } end)
            return end;
        ReplicaSegment? instead = file.Kind == ReplicaFileKind.Pack
            ? log.Segments.FirstOrDefault(one => one.BasePosition == file.From.Value)
            : null;
        throw new ReplicaException($"{name} is not whole, or not of this log.")
        {
            InTheWay = instead is null ? null : Path.GetFileName(instead.Path),
        };
    }

    /// <summary>Takes a checked file: gives it its name.</summary>
    public void Take(ReplicaCopy copy, LogPosition committed)
    {
        string name = Path.GetFileName(copy.Path);
        ReplicaFileName file = ReplicaFileName.Parse(name)!.Value;
        if (file.Kind == ReplicaFileKind.Segment)
        {
            TakeSegment(copy, file.From);
            return;
        }

        LogPosition found = copy.End!.Value;
        if (found > Settled(committed))
            throw new ReplicaException($"{name} ends at {found}: committed and durable here is {Settled(committed)}.");
        if (file.Kind == ReplicaFileKind.Pack)
        {
            CheckState(name, found);
            CheckFit(name, file.From, found);
        }

        if (file.Kind == ReplicaFileKind.PackIndex)
            CheckPackOf(copy);
        folder.Disk.Rename(copy.Temporary, copy.Path);
        folder.Disk.SyncDirectory(folder.Directory);
        if (file.Kind == ReplicaFileKind.Pack)
            TakePack(copy.Path);
        if (file.Kind == ReplicaFileKind.Snapshot)
        {
            _replayFrom = null;
            ForgetOldSnapshots();
        }
    }

    /// <exception cref="ReplicaException">The state would have to be replayed from what the pack stands for, and it has
    /// nothing of that. Into a directory that is being copied the snapshots come later.</exception>
    private void CheckState(string name, LogPosition to)
    {
        if (!IsFilled && to > ReplayFrom)
            throw new ReplicaException($"{name} ends at {to}: the newest snapshot here begins at {ReplayFrom}.");
    }

    /// <summary>Every leader packs as it sees fit. A pack takes the place of what lies in it alone: of a piece that
    /// reaches beyond it, a part would be gone, or there twice.</summary>
    /// <exception cref="ReplicaException">There is such a piece, or a pack that is as good.</exception>
    private void CheckFit(string name, LogPosition from, LogPosition to)
    {
        ReplicaSegment? kept = log.Segments.FirstOrDefault(
            one => one.BasePosition < to.Value && one.EndPosition > from.Value && !IsReplaced(one));
        if (kept is null)
            return;
        string inTheWay = Path.GetFileName(kept.Path);
        throw new ReplicaException(
            $"{name} holds {from} to {to}: that does not replace {inTheWay}, {kept.BasePosition} to "
            + $"{kept.EndPosition}.")
        {
            InTheWay = inTheWay,
        };

        bool IsReplaced(ReplicaSegment one) =>
            one.BasePosition >= from.Value && one.EndPosition <= to.Value && Path.GetFileName(one.Path) != name
            && !(one.BasePosition == from.Value && one.EndPosition == to.Value
                && GenerationOf(Path.GetFileName(one.Path)) >= GenerationOf(name));

        static int GenerationOf(string name) => PackFile.TryParse(name, out _, out int generation) ? generation : -1;
    }

    /// <summary>Two leaders may have given one name to different packs.</summary>
    /// <exception cref="ReplicaException">The pack of that name is not here, or is another one.</exception>
    private void CheckPackOf(ReplicaCopy index)
    {
        string pack = index.Path[..^LogFiles.IndexSuffix.Length];
        if (!folder.Disk.Exists(pack) || folder.CreatedMsOfIndex(index.Temporary) != folder.CreatedMsOfPack(pack))
        {
            throw new ReplicaException($"{Path.GetFileName(index.Path)} is of no pack that is here.")
            {
                InTheWay = Path.GetFileName(pack),
            };
        }
    }

    /// <summary>Whether the directory is filled with files, and is no log yet: there the order of files does not
    /// matter, for all are durable when it becomes one.</summary>
    private bool IsFilled => notes.Note.IsCopying && _copiedTo is null;

    /// <summary>Below it everything is committed and durable here: nothing above it is derived from, or goes.</summary>
    private LogPosition Settled(LogPosition committed) =>
        IsFilled || committed < log.Durable ? committed : log.Durable;

    /// <summary>A sealed segment of a newcomer: it is walked, byte by byte, before it counts.</summary>
    private void TakeSegment(ReplicaCopy copy, LogPosition basePosition)
    {
        string name = Path.GetFileName(copy.Path);
        if (!IsFilled || (log.Segments.Count > 0 && basePosition != log.Tail.End))
            throw new ReplicaException($"{name} does not follow a log that ends at {log.Tail.End}.");
        FileVerdict verdict = SegmentHeader.Read(
            WholeFile.Read(folder.Disk, copy.Temporary, SegmentHeader.Length), out SegmentHeader? header);
        if (verdict != FileVerdict.Valid || header!.LogId != folder.LogId || header.BasePosition != basePosition)
            throw new ReplicaException($"{name} is not whole, or not of this log.");
        var segment = new ReplicaSegment(copy.Path, basePosition.Value, header.Capacity) { IsSealed = true };
        var entries = new List<EntryHeader>();
        using (var scanner = new SegmentScanner(
            folder.Disk.Open(copy.Temporary, DiskOpen.ReadOnly), copy.Temporary, basePosition, folder.LogSeed))
        {
            // What has rotted there travels as it is: its place is kept, and readers are told.
            EntryHeader last = default;
            while (scanner.TryStep(scanner.EndOfFile, out (long Position, long Size) bad))
            {
                if (bad.Size > 0)
                    continue;
                last = scanner.Header;
                entries.Add(last);
            }

            if (last.Kind != EntryKind.Seal)
                throw new ReplicaException($"{name} does not end with its seal.");
            segment.EndPosition = ReplicaTail.Behind(last).End.Value;
        }

        folder.Disk.Rename(copy.Temporary, copy.Path);
        folder.Disk.SyncDirectory(folder.Directory);
        log.Add(segment, entries, copy.Length);
    }

    private void TakePack(string path)
    {
        PackFile pack = PackFile.Find(folder.Disk, folder.Directory, out List<string> replaced)
            .First(one => one.Path == path);
        log.Replace(pack, replaced);
    }

    /// <summary>Where the newest whole snapshot begins, 0 without one: opened to lead, the state is replayed from
    /// there.</summary>
    private LogPosition ReplayFrom => _replayFrom ??= LogFiles
        .Find(folder.Disk, folder.Directory, LogFiles.SnapshotSuffix)
        .LastOrDefault(start => folder.EndOfSnapshot(LogFiles.Snapshot(folder.Directory, start), start) is not null);

    private void ForgetOldSnapshots()
    {
        List<LogPosition> snapshots = LogFiles.Find(folder.Disk, folder.Directory, LogFiles.SnapshotSuffix);
        foreach (LogPosition old in snapshots.SkipLast(KeptSnapshots))
            folder.Disk.Delete(LogFiles.Snapshot(folder.Directory, old));
    }

    /// <summary>Where what a file covers ends; null when it is not whole, not of this log, or still grows.</summary>
    private LogPosition? EndOf(string path, string name) => ReplicaFileName.Parse(name) switch
    {
        { Kind: ReplicaFileKind.Snapshot } file => folder.EndOfSnapshot(path, file.From),
        { Kind: ReplicaFileKind.Index } file => folder.EndOfIndex(path, file.From, isPacked: false),
        { Kind: ReplicaFileKind.PackIndex } file => folder.EndOfIndex(path, file.From, isPacked: true),
        { Kind: ReplicaFileKind.Pack } file => folder.EndOfPack(path, file.From, takesBad: IsFilled),
        { Kind: ReplicaFileKind.Segment } =>
            log.Segments.FirstOrDefault(one => one.Path == path) is { IsSealed: true } segment
            ? new LogPosition(segment.EndPosition)
            : null,
        _ => null,
    };
}
