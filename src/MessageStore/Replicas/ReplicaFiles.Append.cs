using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <content>Bytes in, synced, cut, out.</content>
public sealed partial class ReplicaFiles
{
    /// <summary>Stores entries of a leader at the end; handed to the system when it returns.</summary>
    /// <param name="entries">Whole entries and groups, as the leader stores them.</param>
    /// <param name="epoch">The leader's.</param>
    /// <exception cref="ReplicaException">They are not what may stand there; nothing was written.</exception>
    /// <exception cref="StoreFormatException">They are a later version's.</exception>
    /// <exception cref="DiskException">The disk failed, or is full (<see cref="DiskFault.Full"/>): then what follows
    /// <see cref="Tail"/> may be tried again.</exception>
    public void AppendStored(ReadOnlySpan<byte> entries, int epoch)
    {
        List<EntryHeader> headers = StoredEntries.Check(entries, Tail, epoch, _logSeed);
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

    /// <summary>Makes everything durable that was stored; notes it at the end of each segment, and once a
    /// second.</summary>
    /// <exception cref="DiskException">The disk failed: nothing is known of it any more.</exception>
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
            _disk.SyncDirectory(_directory);
            _hasNewNames = false;
        }

        foreach (ReplicaSegment segment in _segments.Where(one => one.IsDirty))
        {
            segment.IsDirty = false;
            if (!segment.IsSealed)
                continue;
            // Its seal is durable here; a cut that takes it reserves the room again.
            segment.GiveBackRest(_disk, segment.File!.Length);
            segment.Dispose();
        }

        _isSealNoted &= !hasSealed;
        bool isDue = Tail.End > _note.Note.Durable
            && _time.GetElapsedTime(_notedAt) >= ReplicaFilesOptions.NoteInterval;
        if (!_isSealNoted || isDue)
            WriteNote(_note.Note with { Durable = Tail.End });
        Durable = Tail.End;
        NoteCopied();
    }

    /// <summary>Cuts the log to the end of an entry, durably.</summary>
    /// <param name="end">The end of an entry that ends no half of a group, in a segment that is not packed.</param>
    /// <exception cref="ReplicaException">No entry ends there; nothing was changed.</exception>
    /// <exception cref="DiskException">The disk failed.</exception>
    public void CutTo(LogPosition end)
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
        WriteNote(_note.Note with { Durable = Durable });
        // What a newcomer has copied snapshots of is committed: it comes again.
        LogPosition stateTo = _copiedTo is { } copied && copied > end ? copied : end;
        foreach (DiskEntry entry in _disk.List(_directory))
        {
            if (IsIndexTooFar(entry.Name, sealedTo) || IsSnapshotTooFar(entry.Name, stateTo))
                _disk.Delete(Path.Combine(_directory, entry.Name));
        }

        _replayFrom = null;
        for (int i = _segments.Count - 1; i > index; i--)
        {
            _segments[i].Dispose();
            _disk.Delete(_segments[i].Path);
            _segments.RemoveAt(i);
        }

        _hasBytesBehind = true;
        Tail = tail;
        if (index >= 0)
            (_segments[index].EndPosition, _segments[index].IsSealed) = (end.Value, endsWithSeal);
        _epochs.CutTo(end.Value);
        RemoveBehind();
    }

    /// <summary>Reads entries for a follower: whole entries and groups, nothing behind a seal, the start of an epoch
    /// only as the first.</summary>
    /// <param name="from">The end of an entry.</param>
    /// <param name="destination">Where they go.</param>
    /// <param name="needed">When the first entry or group is larger than the destination: bytes to come again
    /// with, as far as can be told; else 0.</param>
    /// <returns>Bytes read; 0 at the end; -1 when the bytes are packed or gone: then files must be copied.</returns>
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
        using IDiskFile file = _disk.Open(segment.Path, DiskOpen.ReadOnly);
        int size = file.Read(destination[..wanted], segment.FileOffsetOf(from.Value));
        return StoredEntries.CountWhole(destination[..size], from, out needed);
    }

    /// <summary>Whether the log holds exactly this entry: place, epoch, checksum and end.</summary>
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
        using IDiskFile file = _disk.Open(segment.Path, DiskOpen.ReadOnly);
        if (file.Read(bytes, segment.FileOffsetOf(position)) < bytes.Length)
            return false;
        return ReplicaTail.Behind(EntryHeader.Read(bytes)) == tail && tail.End <= Tail.End;
    }

    private void Write(ReadOnlySpan<byte> entries)
    {
        if (_segments.Count == 0 || _segments[^1].IsSealed)
            BeginSegment(Tail.End);
        ReplicaSegment segment = _segments[^1];
        segment.File ??= _disk.Open(segment.Path, DiskOpen.ReadWrite);
        long end = Tail.End.Value + entries.Length;
        // Room for a seal stays: who leads with this file must be able to end it.
        if (end + EntryHeader.Length > segment.BasePosition + segment.Capacity)
        {
            segment.Capacity = Math.Max(2 * segment.Capacity, end + EntryHeader.Length - segment.BasePosition);
            segment.File.Preallocate(0, SegmentHeader.Length + segment.Capacity);
            WriteHeader(segment, segment.File);
        }

        segment.IsDirty = true;
        segment.File.Write(entries, segment.FileOffsetOf(Tail.End.Value));
        segment.EndPosition = end;
    }

    private void BeginSegment(LogPosition basePosition)
    {
        var segment = new ReplicaSegment(
            LogFiles.Segment(_directory, basePosition), basePosition.Value, _options.SegmentSizeBytes);
        segment.File = _disk.Open(segment.Path, DiskOpen.CreateNew);
        try
        {
            segment.File.Preallocate(0, SegmentHeader.Length + segment.Capacity);
            WriteHeader(segment, segment.File);
        }
        catch
        {
            segment.Dispose();
            _disk.Delete(segment.Path);
            throw;
        }

        (segment.IsDirty, _hasNewNames) = (true, true);
        _segments.Add(segment);
    }

    private void WriteHeader(ReplicaSegment segment, IDiskFile file)
    {
        byte[] bytes = new byte[SegmentHeader.Length];
        int size = file.Read(bytes, 0);
        FileVerdict verdict = SegmentHeader.Read(bytes.AsSpan(0, size), out SegmentHeader? known);
        var header = new SegmentHeader
        {
            StoreId = StoreId,
            LogId = LogId,
            BasePosition = new LogPosition(segment.BasePosition),
            Epoch = verdict == FileVerdict.Valid ? known!.Epoch : Tail.Epoch,
            CreatedMs = verdict == FileVerdict.Valid
                ? known!.CreatedMs
                : _time.GetUtcNow().ToUnixTimeMilliseconds(),
            Capacity = segment.Capacity,
        };
        header.Write(bytes);
        file.Write(bytes, 0);
    }

    /// <summary>Before the log grows or leads: bytes that are no part of it go, so that nothing of them is ever taken
    /// for what follows.</summary>
    private void RemoveBehind()
    {
        if (!_hasBytesBehind)
            return;
        long behind = Tail.End.Value;
        List<LogPosition> bases = LogFiles.Find(_disk, _directory, LogFiles.SegmentSuffix);
        for (int i = bases.Count - 1; i >= 0 && bases[i].Value >= behind; i--)
        {
            if (_segments.Exists(one => one.BasePosition == bases[i].Value))
                continue;
            _disk.Delete(LogFiles.Segment(_directory, bases[i]));
            _disk.Delete(LogFiles.Index(_directory, bases[i]));
        }

        _disk.SyncDirectory(_directory);
        if (_segments.Count > 0 && !_segments[^1].IsPacked)
        {
            ReplicaSegment last = _segments[^1];
            last.File ??= _disk.Open(last.Path, DiskOpen.ReadWrite);
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
        ReplicaSegment segment = _segments[index];
        using var scanner = new SegmentScanner(
            _disk.Open(segment.Path, DiskOpen.ReadOnly), segment.Path, new LogPosition(segment.BasePosition), _logSeed);
        while (scanner.Position < end.Value && scanner.Next() == ScanVerdict.Entry)
        {
        }

        EntryHeader last = scanner.Header;
        if (scanner.Position != end.Value || last.Flags.HasFlag(EntryFlags.More))
            throw new ReplicaException($"no entry, or half a group, ends at {end}; one ends at {scanner.Position}.");
        return (index, ReplicaTail.Behind(last), last.Kind == EntryKind.Seal);
    }
}
