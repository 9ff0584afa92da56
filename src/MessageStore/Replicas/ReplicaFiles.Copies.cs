using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <content>Files copied from another replica: sealed indexes, snapshots, packs, and the sealed segments of a
/// newcomer.</content>
public sealed partial class ReplicaFiles
{
    private const int KeptSnapshots = 2;

    private LogPosition? _replayFrom;
    private LogPosition? _copiedTo;

    /// <summary>Begins to copy a file.</summary>
    /// <param name="name">As the other replica calls it: <c>*.log</c>, <c>*.index</c>, <c>*.state</c>,
    /// <c>*.pack</c>, <c>*.pack.index</c>.</param>
    /// <exception cref="ReplicaException">No such file belongs to a log.</exception>
    public ReplicaCopy BeginCopy(string name) => new(this, _disk, PathOf(name));

    /// <summary>Has the log of a newcomer begin where its leader's does, when the leader has no older file to
    /// copy.</summary>
    /// <param name="begin">The base position of a segment of the leader.</param>
    /// <exception cref="ReplicaException">The directory is not being copied, or has entries.</exception>
    public void BeginAt(LogPosition begin)
    {
        if (!IsFilled || _segments.Count > 0)
            throw new ReplicaException($"a log that ends at {Tail.End} begins where it does.");
        Tail = new ReplicaTail(begin, 0, default, 0);
        Durable = begin;
    }

    /// <summary>Begins the time in which the directory is filled with a leader's files and is no log; durable when it
    /// returns.</summary>
    public void BeginCopying()
    {
        _copiedTo = null;
        WriteNote(_note.Note with { Durable = Durable, IsCopying = true });
    }

    /// <summary>Makes a log of what was copied: from now on it is appended to. It stays marked as being copied, and is
    /// worth nothing after a restart, until it has what the newest copied snapshot was taken of.</summary>
    /// <param name="begin">The leader's begin.</param>
    /// <returns>What is missing for that; null when nothing is.</returns>
    public string? EndCopying(LogPosition begin)
    {
        if (!IsFilled)
            throw new InvalidOperationException("The directory is not being copied.");
        if (Begin > begin)
            return $"the log begins at {begin}, and here at {Begin}";
        for (int i = 1; i < _segments.Count; i++)
        {
            if (_segments[i].BasePosition != _segments[i - 1].EndPosition)
                return $"nothing is here of {_segments[i - 1].EndPosition} to {_segments[i].BasePosition}";
        }

        long replayed = _segments.Where(one => one.IsPacked).Select(one => one.EndPosition).LastOrDefault(Begin.Value);
        if (ReplayFrom.Value < replayed)
            return $"no snapshot is here that begins at {replayed} or behind it";
        _copiedTo = EndOfSnapshot(LogFiles.Snapshot(_directory, ReplayFrom), ReplayFrom) ?? new LogPosition(0);
        NoteCopied();
        return null;
    }

    /// <summary>The files of the log that another replica may copy: sealed segments, packs, indexes,
    /// snapshots.</summary>
    /// <param name="settled">Only what ends at or below it: committed, and durable here.</param>
    public IReadOnlyList<(string Name, long Length)> ListFiles(LogPosition settled) =>
    [
        .. _disk.List(_directory)
            .Where(entry => EndOf(Path.Combine(_directory, entry.Name), entry.Name) is { } end && end <= settled)
            .Select(entry => (entry.Name, entry.Size)),
    ];

    /// <summary>Removes segments and packs that end at or below a position, with their indexes: the leader has none of
    /// them any more. What lies above the newest snapshot here stays: the state is replayed from it.</summary>
    /// <param name="begin">The leader's begin.</param>
    /// <param name="committed">What is known to be committed.</param>
    /// <exception cref="ReplicaException">More would go than is committed and durable here.</exception>
    public void RemoveBelow(LogPosition begin, LogPosition committed)
    {
        if (begin > Settled(committed))
            throw new ReplicaException($"nothing above {Settled(committed)} is committed and durable: {begin} stays.");
        long gone = Math.Min(begin.Value, ReplayFrom.Value);
        // The last one stays: it is where the log continues.
        while (_segments.Count > 1 && _segments[0].EndPosition <= gone)
        {
            ReplicaSegment segment = _segments[0];
            segment.Dispose();
            _disk.Delete(segment.Path);
            _disk.Delete(segment.IsPacked
                ? PackFile.IndexOf(segment.Path)
                : LogFiles.Index(_directory, new LogPosition(segment.BasePosition)));
            _segments.RemoveAt(0);
        }

        _disk.SyncDirectory(_directory);
    }

    /// <summary>Whether there is a file of this name.</summary>
    /// <exception cref="ReplicaException">No such file belongs to a log.</exception>
    public bool HasFile(string name) => _disk.Exists(PathOf(name));

    /// <summary>Whether a directory that is being copied lacks a file: none of this name is there, and it is no segment
    /// of what is there already.</summary>
    public bool Needs(string name) =>
        !HasFile(name)
        && !(ReplicaFileName.Parse(name) is { Kind: ReplicaFileKind.Segment } segment && segment.From < Tail.End);

    /// <summary>Whether a replica that follows copies a file of its leader's: it is not here, does not come with the
    /// log itself, and is no index of a segment or a pack that is not here.</summary>
    public bool Follows(string name) => !HasFile(name) && ReplicaFileName.Parse(name)!.Value switch
    {
        { Kind: ReplicaFileKind.Segment } => false,
        { Kind: ReplicaFileKind.PackIndex } => HasFile(name[..^LogFiles.IndexSuffix.Length]),
        { Kind: ReplicaFileKind.Index } index =>
            _segments.Exists(one => !one.IsPacked && one.BasePosition == index.From.Value),
        { Kind: ReplicaFileKind.Snapshot } snapshot =>
            LogFiles.Find(_disk, _directory, LogFiles.SnapshotSuffix).Count(one => one > snapshot.From) < KeptSnapshots,
        _ => true,
    };

    /// <summary>Whether a file has entries, and cannot be made anew.</summary>
    public static bool IsPiece(string name) =>
        ReplicaFileName.Parse(name) is { Kind: ReplicaFileKind.Segment or ReplicaFileKind.Pack };

    /// <summary>Whether a file is a snapshot: those come first, for packs have nothing of the state.</summary>
    public static bool IsSnapshot(string name) =>
        ReplicaFileName.Parse(name) is { Kind: ReplicaFileKind.Snapshot };

    /// <summary>Reads a copied file whole. Sealed segments are walked when they are taken.</summary>
    /// <returns>Where what it covers ends.</returns>
    internal LogPosition CheckCopy(ReplicaCopy copy)
    {
        string name = Path.GetFileName(copy.Path);
        ReplicaFileName file = ReplicaFileName.Parse(name)!.Value;
        if (file.Kind == ReplicaFileKind.Segment)
            return default;
        if (EndOf(copy.Temporary, name) is { } end)
            return end;
        ReplicaSegment? instead = file.Kind == ReplicaFileKind.Pack
            ? _segments.Find(one => one.BasePosition == file.From.Value)
            : null;
        throw new ReplicaException($"{name} is not whole, or not of this log.")
        {
            InTheWay = instead is null ? null : Path.GetFileName(instead.Path),
        };
    }

    /// <summary>Takes a checked file: gives it its name.</summary>
    internal void Take(ReplicaCopy copy, LogPosition committed)
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
        _disk.Rename(copy.Temporary, copy.Path);
        _disk.SyncDirectory(_directory);
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
        ReplicaSegment? kept = _segments.Find(
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
        if (!_disk.Exists(pack) || CreatedMsOfIndex(index.Temporary) != CreatedMsOfPack(pack))
        {
            throw new ReplicaException($"{Path.GetFileName(index.Path)} is of no pack that is here.")
            {
                InTheWay = Path.GetFileName(pack),
            };
        }
    }

    private long? CreatedMsOfPack(string path) =>
        SegmentHeader.Read(WholeFile.Read(_disk, path, SegmentHeader.Length), out SegmentHeader? header)
            == FileVerdict.Valid ? header!.CreatedMs : null;

    private long? CreatedMsOfIndex(string path)
    {
        FileVerdict verdict = SectionFileReader.TryOpen(
            _disk, path, SealedIndexWriter.Magic, out SectionFileReader? index);
        using (index)
            return verdict == FileVerdict.Valid ? index!.Header.CreatedMs : null;
    }

    /// <summary>Whether the directory is filled with files, and is no log yet: there the order of files does not
    /// matter, for all are durable when it becomes one.</summary>
    private bool IsFilled => Note.IsCopying && _copiedTo is null;

    /// <summary>Below it everything is committed and durable here: nothing above it is derived from, or goes.</summary>
    private LogPosition Settled(LogPosition committed) =>
        IsFilled || committed < Durable ? committed : Durable;

    /// <summary>The copy counts once the log has what its snapshots were taken of: before that, an opening would find
    /// them to be of more than is there.</summary>
    private void NoteCopied()
    {
        if (_copiedTo is not { } to || Durable < to)
            return;
        _copiedTo = null;
        WriteNote(_note.Note with { Durable = Durable, IsCopying = false });
    }

    /// <summary>A sealed segment of a newcomer: it is walked, byte by byte, before it counts.</summary>
    private void TakeSegment(ReplicaCopy copy, LogPosition basePosition)
    {
        string name = Path.GetFileName(copy.Path);
        if (!IsFilled || (_segments.Count > 0 && basePosition != Tail.End))
            throw new ReplicaException($"{name} does not follow a log that ends at {Tail.End}.");
        FileVerdict verdict = SegmentHeader.Read(
            WholeFile.Read(_disk, copy.Temporary, SegmentHeader.Length), out SegmentHeader? header);
        if (verdict != FileVerdict.Valid || header!.LogId != LogId || header.BasePosition != basePosition)
            throw new ReplicaException($"{name} is not whole, or not of this log.");
        var segment = new ReplicaSegment(copy.Path, basePosition.Value, header.Capacity) { IsSealed = true };
        var epochs = new List<EntryHeader>();
        using (var scanner = new SegmentScanner(
            _disk.Open(copy.Temporary, DiskOpen.ReadOnly), copy.Temporary, basePosition, _logSeed))
        {
            // What has rotted there travels as it is: its place is kept, and readers are told.
            EntryHeader last = default;
            while (scanner.TryStep(scanner.EndOfFile, out (long Position, long Size) bad))
            {
                if (bad.Size > 0)
                    continue;
                last = scanner.Header;
                epochs.Add(last);
            }

            if (last.Kind != EntryKind.Seal)
                throw new ReplicaException($"{name} does not end with its seal.");
            Tail = ReplicaTail.Behind(last);
            segment.EndPosition = Tail.End.Value;
        }

        _disk.Rename(copy.Temporary, copy.Path);
        _disk.SyncDirectory(_directory);
        foreach (EntryHeader entry in epochs)
            _epochs.Visit(entry);
        _segments.Add(segment);
        segment.GiveBackRest(_disk, copy.Length);
        Durable = Tail.End;
    }

    /// <summary>A pack takes the place of what it was made from; a newcomer has nothing of that.</summary>
    private void TakePack(string path)
    {
        PackFile pack = PackFile.Find(_disk, _directory, out List<string> replaced).First(one => one.Path == path);
        foreach (ReplicaSegment covered in _segments.Where(one => pack.Covers(new LogPosition(one.BasePosition))))
        {
            covered.Dispose();
            replaced.Add(covered.Path);
            if (!covered.IsPacked)
                replaced.Add(LogFiles.Index(_directory, new LogPosition(covered.BasePosition)));
        }

        _segments.RemoveAll(one => pack.Covers(new LogPosition(one.BasePosition)));
        _segments.Add(new ReplicaSegment(path, pack.From.Value, pack.To.Value - pack.From.Value)
        {
            EndPosition = pack.To.Value,
            IsSealed = true,
            IsPacked = true,
        });
        _segments.Sort((one, other) => one.BasePosition.CompareTo(other.BasePosition));
        foreach (string file in replaced)
            _disk.Delete(file);
        _disk.SyncDirectory(_directory);
        if (pack.To > Tail.End)
        {
            Tail = new ReplicaTail(pack.To, 0, default, 0);
            Durable = Tail.End;
        }
    }

    /// <summary>Where the newest whole snapshot begins, 0 without one: opened to lead, the state is replayed from
    /// there.</summary>
    private LogPosition ReplayFrom => _replayFrom ??= LogFiles.Find(_disk, _directory, LogFiles.SnapshotSuffix)
        .LastOrDefault(start => EndOfSnapshot(LogFiles.Snapshot(_directory, start), start) is not null);

    private void ForgetOldSnapshots()
    {
        List<LogPosition> snapshots = LogFiles.Find(_disk, _directory, LogFiles.SnapshotSuffix);
        foreach (LogPosition old in snapshots.SkipLast(KeptSnapshots))
            _disk.Delete(LogFiles.Snapshot(_directory, old));
    }

    /// <summary>Where what a file covers ends; null when it is not whole, not of this log, or still grows.</summary>
    private LogPosition? EndOf(string path, string name) => ReplicaFileName.Parse(name) switch
    {
        { Kind: ReplicaFileKind.Snapshot } file => EndOfSnapshot(path, file.From),
        { Kind: ReplicaFileKind.Index } file => EndOfIndex(path, file.From, isPacked: false),
        { Kind: ReplicaFileKind.PackIndex } file => EndOfIndex(path, file.From, isPacked: true),
        { Kind: ReplicaFileKind.Pack } file => EndOfPack(path, file.From),
        { Kind: ReplicaFileKind.Segment } => _segments.Find(one => one.Path == path) is { IsSealed: true } segment
            ? new LogPosition(segment.EndPosition)
            : null,
        _ => null,
    };

    private LogPosition? EndOfSnapshot(string path, LogPosition start)
    {
        FileVerdict verdict = SnapshotReader.TryOpen(_disk, path, LogId, start, out SnapshotReader? snapshot);
        using (snapshot)
            return verdict == FileVerdict.Valid && snapshot!.Verify() ? snapshot.Header.EndPosition : null;
    }

    private LogPosition? EndOfIndex(string path, LogPosition basePosition, bool isPacked)
    {
        FileVerdict verdict = SealedIndex.TryOpen(_disk, path, LogId, basePosition, out SealedIndex? index);
        using (index)
        {
            return verdict == FileVerdict.Valid && index!.IsPacked == isPacked && index.VerifyAll()
                ? index.Header.EndPosition
                : null;
        }
    }

    private LogPosition? EndOfPack(string path, LogPosition from)
    {
        FileVerdict verdict = SegmentHeader.Read(
            WholeFile.Read(_disk, path, SegmentHeader.Length), out SegmentHeader? header);
        if (verdict != FileVerdict.Valid || !header!.IsPacked || header.LogId != LogId || header.BasePosition != from)
            return null;
        using var scanner = new SegmentScanner(
            _disk.Open(path, DiskOpen.ReadOnly), path, from, _logSeed, header.PackedTo);
        while (scanner.TryStep(scanner.EndOfFile, out (long Position, long Size) bad))
        {
            // A newcomer takes it as it is: readers are told. Who follows has the entries themselves.
            if (bad.Size > 0 && !IsFilled)
                return null;
        }

        return header.PackedTo;
    }

    private string PathOf(string name) => ReplicaFileName.Parse(name) is null
        ? throw new ReplicaException($"{TextOf(name)} is no file of a log.")
        : Path.Combine(_directory, name);

    private static string TextOf(string name) => name.Length > 100 ? $"{name[..100]}..." : name;
}
