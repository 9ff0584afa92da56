using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Walks over the entries of a log in order and tells a torn tail from rotten data. Reads only.</summary>
/// <remarks>
/// <para>
/// At bytes that are no entry the walk looks on, to the end of the log, for whole entries of a fitting epoch. Each
/// carries how far behind it the log was durable when it was stamped. When one of them (or a snapshot, or the clean
/// marker) proves that the bad place was durable once, it is damage: the walk reports the range and continues behind
/// it. Otherwise it is the tail that a crash tore: the log ends there and whatever follows never counted.
/// </para>
/// One thread. The log may be appended to meanwhile: what is not whole yet looks like a torn tail.
/// </remarks>
internal sealed class LogWalk
{
    private readonly IDisk _disk;
    private readonly string _directory;
    private readonly uint _logSeed;
    private readonly List<LogPosition> _bases;
    private readonly IReadOnlyList<PackFile> _packs;
    private readonly List<BadRange> _badRanges = [];
    private readonly List<int> _chain = [];
    private bool _hasLookedAhead;
    private long _groupEnd = -1;
    private long _brokenAt = -1;

    /// <summary>Prepares a walk.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="directory">The log's folder.</param>
    /// <param name="logSeed">From <see cref="EntryHeader.SeedOf"/>.</param>
    /// <param name="bases">The base positions of the segments, rising.</param>
    /// <param name="provenDurable">Below this position everything was durable once, as others know; 0 = nothing
    /// known.</param>
    /// <param name="packs">Packed segments, by position: passed over, not walked.</param>
    public LogWalk(
        IDisk disk,
        string directory,
        uint logSeed,
        IEnumerable<LogPosition> bases,
        LogPosition provenDurable,
        IReadOnlyList<PackFile>? packs = null)
    {
        _packs = packs ?? [];
        _disk = disk;
        _directory = directory;
        _logSeed = logSeed;
        _bases = [.. bases];
        ProvenDurable = provenDurable.Value;
        End = provenDurable.Value;
    }

    /// <summary>Whether the log ends at the first bytes that are no entry, whatever follows: replicas count what is
    /// there by position, so none may pass what another has.</summary>
    public bool EndsAtFirstHole { get; init; }

    /// <summary>Takes the entry that the scanner stands behind.</summary>
    public delegate void Visitor(SegmentScanner scanner);

    /// <summary>Below this position everything was durable once, as far as the entries seen prove.</summary>
    public long ProvenDurable { get; private set; }

    /// <summary>After the walk: where the log ends.</summary>
    public long End { get; private set; }

    /// <summary>After the walk: the index of the segment that the end is in; -1 without segments.</summary>
    public int EndSegment { get; private set; } = -1;

    /// <summary>After the walk: whether the last segment ends with its seal.</summary>
    public bool EndsWithSeal { get; private set; }

    /// <summary>After the walk: whether bytes that are not zero follow the end.</summary>
    public bool HasTornTail { get; private set; }

    /// <summary>After the walk: the indexes of the segments that make up the log from the first one walked.</summary>
    public IReadOnlyList<int> Chain => _chain;

    /// <summary>Damage found so far.</summary>
    public IReadOnlyList<BadRange> BadRanges => _badRanges;

    /// <summary>The highest epoch seen.</summary>
    public int Epoch { get; private set; }

    /// <summary>Walks from the start of a segment (or an entry in it) to the end of the log.</summary>
    /// <param name="firstSegment">Index of the segment.</param>
    /// <param name="visit">Is given every whole entry, in order.</param>
    /// <param name="cancellationToken">Looked at between segments.</param>
    public void Run(int firstSegment, Visitor visit, CancellationToken cancellationToken)
    {
        long position = _bases[firstSegment].Value;
        for (int segment = firstSegment; segment < _bases.Count; segment++)
        {
            cancellationToken.ThrowIfCancellationRequested();
            foreach (PackFile pack in _packs)
                position = pack.From.Value == position ? pack.To.Value : position;
            if (_bases[segment].Value < position)
                continue; // an older file of the same place; its bytes are not part of the chain
            if (_bases[segment].Value > position && !CanPass(position, segment))
            {
                EndAt(position, FindSegmentOf(position), hasTornTail: true);
                return;
            }

            EndsWithSeal = false;
            _chain.Add(segment);
            using SegmentScanner scanner = Open(segment);
            scanner.Epoch = Epoch;
            bool goesOn = WalkSegment(segment, scanner, visit);
            position = scanner.Position;
            if (!goesOn)
                return;
        }

        if (EndsAtFirstHole)
            ProvenDurable = Math.Min(position, ProvenDurable);
        End = Math.Max(position, ProvenDurable);
        if (ProvenDurable > position)
        {
            EndsWithSeal = false;
            Report(EndSegment, position, ProvenDurable);
        }
    }

    /// <summary>Whether the walk continues in the next segment (or ended well in the last).</summary>
    private bool WalkSegment(int segment, SegmentScanner scanner, Visitor visit)
    {
        EndSegment = segment;
        while (true)
        {
            long position = scanner.Position;
            ScanVerdict verdict = scanner.Next();
            if (verdict == ScanVerdict.Entry
                && (IsInWholeGroup(scanner) || CountsByItself(segment, scanner, position)))
            {
                Epoch = scanner.Epoch;
                ProvenDurable = Math.Max(ProvenDurable, scanner.Header.ProvenDurable);
                visit(scanner);
                if (scanner.Header.Kind != EntryKind.Seal)
                    continue;
                EndsWithSeal = true;
                return true;
            }

            if (verdict == ScanVerdict.End && segment == _bases.Count - 1)
                return true;
            if (!TryPassDamage(segment, scanner, position))
            {
                EndAt(position, segment, hasTornTail: verdict != ScanVerdict.End);
                return false;
            }

            if (scanner.Position >= SegmentEnd(segment, scanner))
                return true;
        }
    }

    /// <summary>At bad bytes: moves the scanner behind them when they were durable once.</summary>
    private bool TryPassDamage(int segment, SegmentScanner scanner, long position)
    {
        if (EndsAtFirstHole)
            return false;
        LookAhead(segment, scanner, position);
        if (position >= ProvenDurable)
            return false;

        scanner.Epoch = Epoch;
        scanner.MoveTo(position);
        scanner.Refresh();
        if (IsWholeNow(segment, scanner, position))
            return true;

        long end = SegmentEnd(segment, scanner);
        long next = scanner.TryFindNext(position + 1) ? Math.Min(scanner.Position, end) : end;
        if (segment == _bases.Count - 1 && next >= scanner.EndOfFile)
            next = Math.Max(position + 1, ProvenDurable);
        Report(segment, position, next);
        scanner.MoveTo(next);
        return true;
    }

    /// <summary>Whether the writer of a live log had not finished when the walk looked, and has now.</summary>
    private bool IsWholeNow(int segment, SegmentScanner scanner, long position)
    {
        _brokenAt = -1;
        bool isWhole = scanner.Next() == ScanVerdict.Entry && IsInWholeGroup(scanner);
        scanner.Epoch = Epoch;
        scanner.MoveTo(position);
        return isWhole;
    }

    /// <summary>Whether the log continues in a segment although the one before it ends early.</summary>
    private bool CanPass(long position, int segment)
    {
        if (EndsAtFirstHole)
            return false;
        using (SegmentScanner scanner = Open(segment))
            LookAhead(segment, scanner, position);

        if (position >= ProvenDurable)
            return false;
        Report(FindSegmentOf(position), position, _bases[segment].Value);
        return true;
    }

    /// <summary>Raises the proven durable position by all whole entries that follow; once, as it finds all of
    /// them.</summary>
    private void LookAhead(int segment, SegmentScanner current, long position)
    {
        if (_hasLookedAhead)
            return;

        _hasLookedAhead = true;
        int epoch = Epoch;
        for (int i = segment; i < _bases.Count; i++)
        {
            SegmentScanner scanner = i == segment ? current : Open(i);
            scanner.Epoch = epoch;
            long from = i == segment ? Math.Max(position, _bases[i].Value) : _bases[i].Value;
            while (scanner.TryFindNext(from))
            {
                while (scanner.Next() == ScanVerdict.Entry)
                    ProvenDurable = Math.Max(ProvenDurable, scanner.Header.ProvenDurable);
                from = Math.Max(scanner.Position, from) + 1;
            }

            epoch = scanner.Epoch;
            if (i != segment)
                scanner.Dispose();
        }

        current.Epoch = Epoch;
    }

    /// <summary>Whether the atomic group that an entry is in is there to its last entry. The scanner looks ahead
    /// itself, mostly in what it has read already, and stands behind the entry again.</summary>
    private bool IsInWholeGroup(SegmentScanner scanner)
    {
        EntryHeader header = scanner.Header;
        if (header.Position.Value < _groupEnd || !header.Flags.HasFlag(EntryFlags.More))
            return true;
        if (header.Position.Value < _brokenAt)
            return false;

        bool isWhole = false;
        while (!isWhole && scanner.Next() == ScanVerdict.Entry && scanner.Header.Epoch == header.Epoch
            && scanner.Header.HasBatch)
        {
            isWhole = !scanner.Header.Flags.HasFlag(EntryFlags.More);
        }

        (_groupEnd, _brokenAt) = isWhole ? (scanner.Position, _brokenAt) : (_groupEnd, scanner.Position);
        LookAgain(scanner, header.Position.Value);
        return isWhole;
    }

    /// <summary>Below the proven point the whole group was there once: what rots in it later takes no more with it than
    /// itself.</summary>
    private bool CountsByItself(int segment, SegmentScanner scanner, long position)
    {
        if (EndsAtFirstHole)
            return false;
        LookAhead(segment, scanner, position);
        LookAgain(scanner, position);
        return position < ProvenDurable;
    }

    private void LookAgain(SegmentScanner scanner, long position)
    {
        scanner.Epoch = Epoch;
        scanner.MoveTo(position);
        scanner.Next();
    }

    private void EndAt(long position, int segment, bool hasTornTail)
    {
        End = position;
        EndSegment = segment;
        HasTornTail = hasTornTail;
        EndsWithSeal = EndsWithSeal && segment >= 0 && position > _bases[segment].Value;
    }

    private int FindSegmentOf(long position)
    {
        int found = -1;
        for (int i = 0; i < _bases.Count && _bases[i].Value <= position; i++)
            found = i == 0 || _bases[i].Value < position ? i : found;
        return found;
    }

    private long SegmentEnd(int segment, SegmentScanner scanner) =>
        segment < _bases.Count - 1 ? _bases[segment + 1].Value : scanner.EndOfFile;

    private void Report(int segment, long from, long to)
    {
        string path = LogFiles.Segment(_directory, _bases[Math.Max(segment, 0)]);
        _badRanges.Add(new BadRange(Path.GetFileName(path), new LogPosition(from), to - from));
    }

    private SegmentScanner Open(int segment)
    {
        string path = LogFiles.Segment(_directory, _bases[segment]);
        return new SegmentScanner(_disk.Open(path, DiskOpen.ReadOnly), path, _bases[segment], _logSeed);
    }
}
