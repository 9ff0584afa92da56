using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Finds where a replica's log ends: as recovery walks, but never past the first hole. Reads only.</summary>
internal sealed class ReplicaOpening
{
    private readonly IDisk _disk;
    private readonly string _directory;
    private readonly Guid _logId;
    private readonly EpochList _epochs = new();
    private List<LogPosition> _bases = [];
    private List<PackFile> _packs = [];
    private long[] _capacities = [];
    private EntryHeader? _last;

    public ReplicaOpening(IDisk disk, string directory, Guid logId) =>
        (_disk, _directory, _logId) = (disk, directory, logId);

    /// <summary>Files that packs have replaced.</summary>
    public List<string> Replaced { get; private set; } = [];

    /// <summary>The files of the log up to its end.</summary>
    public List<ReplicaSegment> Segments { get; } = [];

    /// <summary>The end and the entry before it.</summary>
    public ReplicaTail Tail { get; private set; }

    /// <summary>The epochs that are known.</summary>
    public EpochList Epochs => _epochs;

    /// <summary>Whether bytes that are no part of the log stand behind its end.</summary>
    public bool HasBytesBehind { get; private set; }

    /// <summary>Walks from the newest whole snapshot on.</summary>
    /// <exception cref="StoreFormatException">A file of a later version, or of another store.</exception>
    public void Run(Guid storeId, CancellationToken cancellationToken)
    {
        (_packs, _bases, Replaced) = SegmentFiles.Find(_disk, _directory);
        _capacities = [.. _bases.Select(basePosition => ReadCapacity(basePosition, storeId))];

        long from = LoadSnapshot();
        int first = Math.Max(0, _bases.FindLastIndex(position => position.Value <= from));
        LogWalk walk = Walk(first, cancellationToken);
        while (_last is null && first > 0)
            walk = Walk(--first, cancellationToken);
        TakeSegments(walk, first);
        HasBytesBehind = walk.HasTornTail || (_bases.Count > 0 && walk.EndSegment < _bases.Count - 1);
        Tail = _last is { } last
            ? ReplicaTail.Behind(last)
            : new ReplicaTail(new LogPosition(Segments.Count > 0 ? Segments[^1].EndPosition : 0), 0, default, 0);
    }

    private LogWalk Walk(int first, CancellationToken cancellationToken)
    {
        var walk = new LogWalk(
            _disk, _directory, EntryHeader.SeedOf(_logId), _bases, default)
        { EndsAtFirstHole = true };
        if (_bases.Count > 0)
            walk.Run(first, Visit, cancellationToken);
        return walk;
    }

    private void Visit(SegmentScanner scanner)
    {
        _last = scanner.Header;
        _epochs.Visit(scanner.Header);
    }

    /// <summary>What a segment's header says of its room; 0 = it is damaged, which loses nothing.</summary>
    private long ReadCapacity(LogPosition basePosition, Guid storeId)
    {
        string path = LogFiles.Segment(_directory, basePosition);
        FileVerdict verdict = SegmentHeader.Read(
            WholeFile.Read(_disk, path, SegmentHeader.Length), out SegmentHeader? header);
        if (verdict == FileVerdict.Refused)
            throw LaterVersion.Refuse(_disk, path);
        if (verdict == FileVerdict.Valid && (header!.StoreId != storeId || header.LogId != _logId))
            throw new StoreFormatException(path, $"the segment belongs to store {header.StoreId}, not {storeId}.");
        return verdict == FileVerdict.Valid ? header!.Capacity : 0;
    }

    /// <summary>Takes the epochs that the newest whole snapshot knows.</summary>
    /// <returns>Where replay would begin.</returns>
    private long LoadSnapshot()
    {
        List<LogPosition> snapshots = LogFiles.Find(_disk, _directory, LogFiles.SnapshotSuffix);
        for (int i = snapshots.Count - 1; i >= 0; i--)
        {
            string path = LogFiles.Snapshot(_directory, snapshots[i]);
            FileVerdict verdict =
                SnapshotReader.TryOpen(_disk, path, _logId, snapshots[i], out SnapshotReader? snapshot);
            if (verdict == FileVerdict.Refused)
                throw LaterVersion.Refuse(_disk, path);
            using (snapshot)
            {
                if (verdict != FileVerdict.Valid || !snapshot!.Verify())
                    continue;
                _epochs.Load(snapshot.LoadEpochs());
                return snapshots[i].Value;
            }
        }

        return 0;
    }

    private void TakeSegments(LogWalk walk, int first)
    {
        IEnumerable<int> walked = walk.Chain.Where(segment => segment <= walk.EndSegment);
        foreach (int i in Enumerable.Range(0, _bases.Count == 0 ? 0 : first).Concat(walked))
        {
            Segments.Add(new ReplicaSegment(
                LogFiles.Segment(_directory, _bases[i]), _bases[i].Value, _capacities[i]));
        }

        foreach (PackFile pack in _packs)
        {
            Segments.Add(new ReplicaSegment(pack.Path, pack.From.Value, pack.To.Value - pack.From.Value)
            {
                EndPosition = pack.To.Value,
                IsSealed = true,
                IsPacked = true,
            });
        }

        Segments.Sort((one, other) => one.BasePosition.CompareTo(other.BasePosition));
        for (int i = 0; i < Segments.Count; i++)
        {
            if (Segments[i].IsPacked)
                continue;
            bool isLast = i == Segments.Count - 1;
            Segments[i].EndPosition = isLast ? walk.End : Segments[i + 1].BasePosition;
            Segments[i].IsSealed = !isLast || walk.EndsWithSeal;
        }
    }
}
