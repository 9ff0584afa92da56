using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The segments of a replica that follows: bytes come in at the end, are synced, are cut, and go
/// out.</summary>
/// <remarks>Owns the files, the end and the epochs; one thread at a time.</remarks>
internal sealed class ReplicaLog : IDisposable
{
    private const int RewriteSize = 1 << 20;

    private readonly ReplicaFolder _folder;
    private readonly ReplicaNotes _notes;
    private readonly TimeProvider _time;
    private readonly long _segmentSizeBytes;
    private readonly EpochList _epochs;
    private readonly List<ReplicaSegment> _segments;
    private bool _hasBytesBehind;
    private bool _hasNewNames;

    /// <param name="folder">Where.</param>
    /// <param name="notes">Told what is durable.</param>
    /// <param name="opening">What was found there.</param>
    /// <param name="segmentSizeBytes">Room of a segment that begins.</param>
    /// <param name="time">Creation times of segments.</param>
    public ReplicaLog(
        ReplicaFolder folder, ReplicaNotes notes, ReplicaOpening opening, long segmentSizeBytes, TimeProvider time)
    {
        (_folder, _notes, _segmentSizeBytes, _time) = (folder, notes, segmentSizeBytes, time);
        _epochs = opening.Epochs;
        _segments = opening.Segments;
        foreach (ReplicaSegment segment in _segments.Where(one => one.Capacity == 0))
            segment.Capacity = segmentSizeBytes;
        _hasBytesBehind = opening.HasBytesBehind;
        Tail = opening.Tail;
    }

    /// <summary>The files, in the order of the log.</summary>
    public IReadOnlyList<ReplicaSegment> Segments => _segments;

    /// <inheritdoc cref="ReplicaFiles.Begin"/>
    public LogPosition Begin => new(_segments.Count > 0 ? _segments[0].BasePosition : Tail.End.Value);

    /// <inheritdoc cref="ReplicaFiles.Tail"/>
    public ReplicaTail Tail { get; private set; }

    /// <inheritdoc cref="ReplicaFiles.Durable"/>
    public LogPosition Durable { get; private set; }

    /// <inheritdoc cref="ReplicaFiles.EndOfEpoch"/>
    public (int Epoch, LogPosition End) EndOfEpoch(int epoch) => EpochList.EndOf(_epochs.All, epoch, Tail.End);

    /// <summary>Removes what a crash left unfinished, and what was derived from bytes that are gone.</summary>
    public void TidyUp(List<string> replaced)
    {
        if (replaced.Count > 0)
            _folder.Disk.SyncDirectory(_folder.Directory); // the name of a pack must outlast its sources
        foreach (string path in replaced)
            _folder.Disk.Delete(path);
        IReadOnlyList<DiskEntry> entries = _folder.Disk.List(_folder.Directory);
        foreach (DiskEntry entry in entries)
        {
            bool isUnfinished = entry.Name.EndsWith(LogFiles.TemporarySuffix, StringComparison.Ordinal)
                || entry.Name.EndsWith(LogFiles.PreparedSuffix, StringComparison.Ordinal);
            if (isUnfinished || IsIndexTooFar(entry.Name, Tail.End) || _folder.IsSnapshotTooFar(entry.Name, Tail.End))
                _folder.Disk.Delete(Path.Combine(_folder.Directory, entry.Name));
        }

        var lengths =
            entries.ToDictionary(entry => entry.Name, entry => entry.Size, StringComparer.Ordinal);
        foreach (ReplicaSegment segment in _segments)
            segment.GiveBackRest(_folder.Disk, lengths[Path.GetFileName(segment.Path)]);
        _folder.Disk.SyncDirectory(_folder.Directory);
    }

    /// <summary>Makes everything durable: what is above a position was perhaps never on the disk, or its sync failed
    /// and the system forgot it, so it is written again and synced.</summary>
    public void MakeDurable(long from)
    {
        byte[] bytes = new byte[RewriteSize];
        foreach (ReplicaSegment segment in _segments.Where(one => !one.IsPacked && one.EndPosition >= from))
        {
            using IDiskFile file = _folder.Disk.Open(segment.Path, DiskOpen.ReadWrite);
            segment.WriteHeader(file, _folder, Tail.Epoch, _time);
            SegmentRepair.Rewrite(
                file,
                segment.FileOffsetOf(Math.Max(from, segment.BasePosition)),
                segment.FileOffsetOf(segment.EndPosition),
                bytes);
            file.Sync();
        }

        _folder.Disk.SyncDirectory(_folder.Directory);
        Durable = Tail.End;
    }

    /// <inheritdoc cref="ReplicaFiles.BeginAt"/>
    public void BeginAt(LogPosition begin)
    {
        Tail = new ReplicaTail(begin, 0, default, 0);
        Durable = begin;
    }

    /// <inheritdoc cref="ReplicaFiles.AppendStored"/>
    public void AppendStored(ReadOnlySpan<byte> entries, int epoch)
    {
        List<EntryHeader> headers = StoredEntries.Check(entries, Tail, epoch, _folder.LogSeed);
        RemoveBehind();
        int first = 0;
        int next = 0;
        for (int i = 0; i < headers.Count; i++)
        {
            next += headers[i].Size;
            if (headers[i].Kind != EntryKind.Seal && i < headers.Count - 1)
                continue;
            Write(entries[first..next]);
            foreach (EntryHeader header in headers.Where(one => one.Position >= Tail.End
                && one.Position.Value < Tail.End.Value + next - first))
            {
                _epochs.Visit(header);
            }

            EntryHeader last = headers[i];
            _segments[^1].IsSealed = last.Kind == EntryKind.Seal;
            Tail = ReplicaTail.Behind(last);
            first = next;
        }
    }

    /// <inheritdoc cref="ReplicaFiles.Sync"/>
    public void Sync()
    {
        bool hasSealed = false;
        foreach (ReplicaSegment segment in _segments.Where(one => one.IsDirty))
        {
            segment.File!.Sync();
            hasSealed |= segment.IsSealed;
        }

        if (_hasNewNames)
        {
            _folder.Disk.SyncDirectory(_folder.Directory);
            _hasNewNames = false;
        }

        foreach (ReplicaSegment segment in _segments.Where(one => one.IsDirty))
        {
            segment.IsDirty = false;
            if (!segment.IsSealed)
                continue;
            // Its seal is durable here; a cut that takes it reserves the room again.
            segment.GiveBackRest(_folder.Disk, segment.File!.Length);
            segment.Dispose();
        }

        _notes.IsSealNoted &= !hasSealed;
        if (!_notes.IsSealNoted || _notes.IsDue(Tail.End))
            _notes.Write(_notes.Note with { Durable = Tail.End });
        Durable = Tail.End;
    }

    /// <summary>Cuts the log to the end of an entry, durably.</summary>
    /// <param name="end">The end of an entry that ends no half of a group, in a segment that is not packed.</param>
    /// <param name="stateTo">Snapshots of more go.</param>
    /// <exception cref="ReplicaException">No entry ends there; nothing was changed.</exception>
    /// <exception cref="DiskException">The disk failed.</exception>
    public void CutTo(LogPosition end, LogPosition stateTo)
    {
        if (end > Tail.End)
            throw new ReplicaException($"the log ends at {Tail.End}: it cannot be cut to {end}.");
        if (end == Tail.End && !_hasBytesBehind)
            return;
        (int index, ReplicaTail tail, bool endsWithSeal) = FindEnd(end);
        // A segment that ends there without its seal is open again.
        LogPosition sealedTo = endsWithSeal ? end : new LogPosition(end.Value - 1);
        // First of all less is durable: what is written into the gap later is not what was synced before.
        Durable = Durable < end ? Durable : end;
        _notes.Write(_notes.Note with { Durable = Durable });
        foreach (DiskEntry entry in _folder.Disk.List(_folder.Directory))
        {
            if (IsIndexTooFar(entry.Name, sealedTo) || _folder.IsSnapshotTooFar(entry.Name, stateTo))
                _folder.Disk.Delete(Path.Combine(_folder.Directory, entry.Name));
        }

        for (int i = _segments.Count - 1; i > index; i--)
        {
            _segments[i].Dispose();
            _folder.Disk.Delete(_segments[i].Path);
            _segments.RemoveAt(i);
        }

        _hasBytesBehind = true;
        Tail = tail;
        if (index >= 0)
            (_segments[index].EndPosition, _segments[index].IsSealed) = (end.Value, endsWithSeal);
        _epochs.CutTo(end.Value);
        RemoveBehind();
    }

    /// <inheritdoc cref="ReplicaFiles.Read"/>
    public int Read(LogPosition from, Span<byte> destination, out int needed)
    {
        needed = 0;
        ReplicaSegment? segment = _segments.Find(
            one => from.Value >= one.BasePosition && from.Value < one.EndPosition);
        if (segment is null)
            return from == Tail.End ? 0 : -1;
        if (segment.IsPacked)
            return -1;
        int wanted = (int)Math.Min(destination.Length, segment.EndPosition - from.Value);
        using IDiskFile file = _folder.Disk.Open(segment.Path, DiskOpen.ReadOnly);
        int size = file.Read(destination[..wanted], segment.FileOffsetOf(from.Value));
        return StoredEntries.CountWhole(destination[..size], from, out needed);
    }

    /// <inheritdoc cref="ReplicaFiles.Holds"/>
    public bool Holds(in ReplicaTail tail)
    {
        if (tail == Tail)
            return true;
        long position = tail.Position.Value;
        ReplicaSegment? segment = _segments.Find(
            one => position >= one.BasePosition && position < one.EndPosition && !one.IsPacked);
        if (segment is null)
            return tail is { Epoch: 0, End.Value: 0 };
        Span<byte> bytes = stackalloc byte[EntryHeader.Length];
        using IDiskFile file = _folder.Disk.Open(segment.Path, DiskOpen.ReadOnly);
        if (file.Read(bytes, segment.FileOffsetOf(position)) < bytes.Length)
            return false;
        return ReplicaTail.Behind(EntryHeader.Read(bytes)) == tail && tail.End <= Tail.End;
    }

    /// <summary>Takes a sealed segment of a newcomer behind the last one; it is durable.</summary>
    /// <param name="segment">Its file has its name.</param>
    /// <param name="entries">What it holds.</param>
    /// <param name="length">Of its file.</param>
    public void Add(ReplicaSegment segment, List<EntryHeader> entries, long length)
    {
        foreach (EntryHeader entry in entries)
            _epochs.Visit(entry);
        _segments.Add(segment);
        segment.GiveBackRest(_folder.Disk, length);
        Tail = ReplicaTail.Behind(entries[^1]);
        Durable = Tail.End;
    }

    /// <summary>A pack takes the place of what it was made from; a newcomer has nothing of that.</summary>
    /// <param name="pack">Its file has its name.</param>
    /// <param name="replaced">Files that packs have replaced.</param>
    public void Replace(PackFile pack, List<string> replaced)
    {
        foreach (ReplicaSegment covered in _segments.Where(one => pack.Covers(new LogPosition(one.BasePosition))))
        {
            covered.Dispose();
            replaced.Add(covered.Path);
            if (!covered.IsPacked)
                replaced.Add(LogFiles.Index(_folder.Directory, new LogPosition(covered.BasePosition)));
        }

        _segments.RemoveAll(one => pack.Covers(new LogPosition(one.BasePosition)));
        _segments.Add(new ReplicaSegment(pack.Path, pack.From.Value, pack.To.Value - pack.From.Value)
        {
            EndPosition = pack.To.Value,
            IsSealed = true,
            IsPacked = true,
        });
        _segments.Sort((one, other) => one.BasePosition.CompareTo(other.BasePosition));
        foreach (string file in replaced)
            _folder.Disk.Delete(file);
        _folder.Disk.SyncDirectory(_folder.Directory);
        if (pack.To > Tail.End)
        {
            Tail = new ReplicaTail(pack.To, 0, default, 0);
            Durable = Tail.End;
        }
    }

    /// <summary>Removes segments and packs that end at or below a position, with their indexes, but the last
    /// one.</summary>
    public void RemoveBelow(long gone)
    {
        // The last one stays: it is where the log continues.
        while (_segments.Count > 1 && _segments[0].EndPosition <= gone)
        {
            ReplicaSegment segment = _segments[0];
            segment.Dispose();
            _folder.Disk.Delete(segment.Path);
            _folder.Disk.Delete(segment.IsPacked
                ? PackFile.IndexOf(segment.Path)
                : LogFiles.Index(_folder.Directory, new LogPosition(segment.BasePosition)));
            _segments.RemoveAt(0);
        }

        _folder.Disk.SyncDirectory(_folder.Directory);
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        foreach (ReplicaSegment segment in _segments)
            segment.Dispose();
    }

    /// <summary>Whether a file is the index of a segment that is open when the log ends there, or gone.</summary>
    private bool IsIndexTooFar(string name, LogPosition end)
    {
        if (!LogFiles.TryParse(name, LogFiles.IndexSuffix, out LogPosition basePosition))
            return false;
        ReplicaSegment? segment = _segments.Find(one => one.BasePosition == basePosition.Value && !one.IsPacked);
        return segment is null || !segment.IsSealed || segment.EndPosition > end.Value;
    }

    private void Write(ReadOnlySpan<byte> entries)
    {
        if (_segments.Count == 0 || _segments[^1].IsSealed)
            BeginSegment(Tail.End);
        ReplicaSegment segment = _segments[^1];
        segment.File ??= _folder.Disk.Open(segment.Path, DiskOpen.ReadWrite);
        long end = Tail.End.Value + entries.Length;
        // Room for a seal stays: who leads with this file must be able to end it.
        if (end + EntryHeader.Length > segment.BasePosition + segment.Capacity)
        {
            segment.Capacity = Math.Max(2 * segment.Capacity, end + EntryHeader.Length - segment.BasePosition);
            segment.File.Preallocate(0, SegmentHeader.Length + segment.Capacity);
            segment.WriteHeader(segment.File, _folder, Tail.Epoch, _time);
        }

        segment.IsDirty = true;
        segment.File.Write(entries, segment.FileOffsetOf(Tail.End.Value));
        segment.EndPosition = end;
    }

    private void BeginSegment(LogPosition basePosition)
    {
        var segment = new ReplicaSegment(
            LogFiles.Segment(_folder.Directory, basePosition), basePosition.Value, _segmentSizeBytes);
        segment.File = _folder.Disk.Open(segment.Path, DiskOpen.CreateNew);
        try
        {
            segment.File.Preallocate(0, SegmentHeader.Length + segment.Capacity);
            segment.WriteHeader(segment.File, _folder, Tail.Epoch, _time);
        }
        catch
        {
            segment.Dispose();
            _folder.Disk.Delete(segment.Path);
            throw;
        }

        (segment.IsDirty, _hasNewNames) = (true, true);
        _segments.Add(segment);
    }

    /// <summary>Before the log grows or leads: bytes that are no part of it go, so that nothing of them is ever taken
    /// for what follows.</summary>
    private void RemoveBehind()
    {
        if (!_hasBytesBehind)
            return;
        long behind = Tail.End.Value;
        List<LogPosition> bases = LogFiles.Find(_folder.Disk, _folder.Directory, LogFiles.SegmentSuffix);
        for (int i = bases.Count - 1; i >= 0 && bases[i].Value >= behind; i--)
        {
            if (_segments.Exists(one => one.BasePosition == bases[i].Value))
                continue;
            _folder.Disk.Delete(LogFiles.Segment(_folder.Directory, bases[i]));
            _folder.Disk.Delete(LogFiles.Index(_folder.Directory, bases[i]));
        }

        _folder.Disk.SyncDirectory(_folder.Directory);
        if (_segments.Count > 0 && !_segments[^1].IsPacked)
        {
            ReplicaSegment last = _segments[^1];
            last.File ??= _folder.Disk.Open(last.Path, DiskOpen.ReadWrite);
            last.File.Truncate(last.FileOffsetOf(last.EndPosition));
            if (!last.IsSealed)
                last.File.Preallocate(0, SegmentHeader.Length + last.Capacity);
            last.File.Sync();
        }

        _hasBytesBehind = false;
    }

    /// <summary>Finds the entry that ends at a position.</summary>
    /// <returns>The index of its segment, -1 at the log's begin; the end; whether the entry is a seal.</returns>
    private (int Index, ReplicaTail Tail, bool EndsWithSeal) FindEnd(LogPosition end)
    {
        if (end == Begin && (_segments.Count == 0 || !_segments[0].IsPacked))
            return (-1, new ReplicaTail(end, 0, default, 0), false);
        int index = _segments.FindLastIndex(one => one.BasePosition < end.Value && one.EndPosition >= end.Value);
        if (index < 0 || _segments[index].IsPacked)
            throw new ReplicaException($"the log holds no entry that ends at {end}: it begins at {Begin}.");
        EntryHeader last = _segments[index].FindEnd(_folder, end);
        return (index, ReplicaTail.Behind(last), last.Kind == EntryKind.Seal);
    }
}
