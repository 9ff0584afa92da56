using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The reading half: fills queues, producers and the state machine.</summary>
internal sealed partial class Recovery
{
    private readonly List<string> _lostStateRecords = [];
    private bool _isLostStateAccepted;
    private readonly EpochList _epochs = new();
    private int _snapshotEpoch;
    private ConfirmedTime _confirmed;
    private long _boundBytes;

    /// <summary>Loads the newest whole snapshot.</summary>
    /// <returns>What is known to have been durable, by any whole snapshot.</returns>
    private LogPosition LoadSnapshot(List<LogPosition> bases)
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
                {
                    Log.SnapshotSkipped(_logger, path, verdict == FileVerdict.Valid ? "checksum" : verdict.ToString());
                    continue;
                }

                _replayFrom = snapshots[i].Value;
                _snapshotEpoch = snapshot.Header.Epoch;
                try
                {
                    _lastStoredTimeMs = snapshot.Load(_state);
                    (long confirmedMs, _boundBytes) = snapshot.LoadTrust();
                    _confirmed = new ConfirmedTime(confirmedMs, _lastStoredTimeMs);
                    _epochs.Load(snapshot.LoadEpochs());
                }
                catch (InvalidDataException exception)
                {
                    throw new StoreFormatException(path, exception.Message);
                }

                if (bases.Count > 0 && bases[0].Value > _replayFrom)
                    AcceptLostState($"the log between the snapshot {path} and position {bases[0]} is gone");
                return snapshot.Header.EndPosition;
            }
        }

        if (bases.Count > 0 && bases[0].Value > 0)
        {
            AcceptLostState(
                $"no whole snapshot was found ({snapshots.Count} looked at), and the log before position {bases[0]}, "
                + "from which the state could be replayed, is gone");
            _replayFrom = bases[0].Value;
        }

        return default;
    }

    private void Visit(SegmentScanner scanner)
    {
        EntryHeader header = scanner.Header;
        long storedMs = _state.TimeResets.Correct(header.Position.Value, header.StoredTimeMs);
        _lastStoredTimeMs = Math.Max(_lastStoredTimeMs, storedMs);
        if (header.Position.Value >= _replayFrom)
            _confirmed.Note(header.Kind, storedMs);
        _epochs.Visit(header);
        if (!header.HasBatch)
            return;

        RecordBatch.TryReadHeader(scanner.Batch, out RecordBatchHeader batch, out _);
        bool isReplayed = header.Position.Value >= _replayFrom;
        if (header.Kind == EntryKind.Messages)
        {
            if (_state.Queues.Find(header.Queue) is not { } queue)
            {
                // Removed, or its record is lost: the next queue must not be given its messages.
                _state.Queues.NextId = Math.Max(_state.Queues.NextId, header.Queue.Value + 1);
                return;
            }

            if (isReplayed && batch.Producer.IsIdempotent)
            {
                _state.Producers.Stored(
                    batch.Producer, header.Queue, batch.BaseSequence, batch.RecordsCount, batch.Crc,
                    batch.BaseOffset.Value, scanner.Position, header.StoredTimeMs);
            }

            AddToQueue(queue, scanner, batch, isReplayed);
            return;
        }

        Queue state = _state.Queues.State;
        if (isReplayed && header.Position.Value >= state.AppliedPosition && batch.BaseOffset.Value > state.NextOffset)
        {
            _lostStateRecords.Add(
                $"{batch.BaseOffset.Value - state.NextOffset} records between positions {state.AppliedPosition} and "
                + $"{header.Position}");
        }

        AddToQueue(state, scanner, batch, isReplayed);
        if (isReplayed)
        {
            _stateBytes += header.Size;
            ApplyState(scanner);
        }
    }

    private void AddToQueue(
        Queue queue, SegmentScanner scanner, in RecordBatchHeader batch, bool isReplayed)
    {
        EntryHeader header = scanner.Header;
        bool isKnown = !isReplayed || scanner.Position <= queue.AppliedPosition;
        long first = batch.BaseOffset.Value, end = batch.NextOffset.Value;
        if (!isKnown && first > queue.NextOffset)
            Log.OffsetsLost(_logger, queue.Id.Value, queue.NextOffset, first - 1);

        // What the snapshot already counts goes into the index only.
        (long next, long time, long bytes, long applied) =
            (queue.NextOffset, queue.LastStoredTimeMs, queue.Bytes, queue.AppliedPosition);
        if (!_indexed.Contains(scanner.BasePosition.Value))
        {
            Segment segment = MakeSegment(scanner.BasePosition);
            queue.AddEntry(
                segment, header.Position.Value, header.Size, first, end, header.StoredTimeMs, header.TagBits);
        }

        queue.NextOffset = isKnown ? Math.Max(next, end) : end;
        queue.LastStoredTimeMs = isKnown && time > 0 ? time : header.StoredTimeMs;
        queue.Bytes = isKnown ? bytes : bytes + header.Size;
        queue.AppliedPosition = Math.Max(applied, scanner.Position);
    }

    /// <summary>The log ends in a segment that has an index (its tail was lost): its entries belong into memory after
    /// all.</summary>
    private void IndexAgain(LogPosition basePosition, long end)
    {
        if (!_indexed.Remove(basePosition.Value))
            return;

        string path = LogFiles.Segment(_directory, basePosition);
        using var scanner = new SegmentScanner(
            _disk.Open(path, DiskOpen.ReadOnly), path, basePosition, EntryHeader.SeedOf(_logId));
        while (scanner.Position < end)
        {
            if (scanner.Next() != ScanVerdict.Entry)
            {
                if (!scanner.TryFindNext(scanner.Position + 1))
                    return;
                continue;
            }

            RecordBatch.TryReadHeader(scanner.Batch, out RecordBatchHeader batch, out _);
            if (scanner.Header.HasBatch && _state.Queues.Find(scanner.Header.Queue) is { } queue)
                AddToQueue(queue, scanner, batch, isReplayed: false);
        }
    }

    private void ApplyState(SegmentScanner scanner)
    {
        var records = new StateBatchReader(scanner.Batch);
        try
        {
            while (records.TryRead(out StateRecord record))
            {
                _state.Apply(record, scanner.Position);
                if (record.Kind == LogState.TimeReset)
                {
                    _lastStoredTimeMs = LogState.TimeOf(record);
                    _confirmed.Reset(_lastStoredTimeMs);
                }
            }
        }
        catch (InvalidDataException exception)
        {
            throw new StoreFormatException(
                LogFiles.Segment(_directory, scanner.BasePosition),
                $"state at position {scanner.Header.Position}: {exception.Message}");
        }

        if (records.IsMalformed)
        {
            throw new StoreFormatException(
                LogFiles.Segment(_directory, scanner.BasePosition),
                $"the state batch at position {scanner.Header.Position} holds something that is no state record.");
        }
    }

    /// <summary>Damage that may have taken state records is not passed over silently.</summary>
    private void CheckLostState(LogWalk walk)
    {
        foreach (BadRange range in walk.BadRanges)
            Log.DamagedRange(_logger, range.Segment, range.Position.Value, range.Size);
        if (walk.EndSegment < 0 && walk.End > 0)
            Log.DamagedRange(_logger, "(no segment)", 0, walk.End);
        if (_lostStateRecords.Count > 0)
        {
            AcceptLostState(
                "damaged bytes took records of the state queue (changes of topics, of queues' starts, of the progress "
                + $"of groups, of producers): {string.Join(", ", _lostStateRecords)}");
        }
    }

    private void AcceptLostState(string reason)
    {
        if (!_options.AcceptLostState)
        {
            throw new StoreFormatException(
                _directory,
                $"state is lost: {reason}. Start the server once with --Store:{nameof(StoreOptions.AcceptLostState)} "
                + "true to go on without it; take a copy of the directory first.");
        }

        _isLostStateAccepted = true;
        Log.LostStateAccepted(_logger, reason);
    }

    private Segment MakeSegment(LogPosition basePosition)
    {
        if (_segments.TryGetValue(basePosition.Value, out Segment? segment))
            return segment;

        bool isWhole = ReadHeader(basePosition, out SegmentHeader? header) == FileVerdict.Valid;
        segment = new Segment(
            LogFiles.Segment(_directory, basePosition),
            basePosition.Value,
            isWhole ? header!.Capacity : _options.SegmentSizeBytes,
            isWhole ? header!.CreatedMs : _nowMs);
        _segments.Add(basePosition.Value, segment);
        return segment;
    }
}
