using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The writing half: makes the files what the log is, durably, in an order that a crash may interrupt
/// anywhere.</summary>
internal sealed partial class Recovery
{
    private RecoveredLog Repair(RepairPlan plan)
    {
        LogWalk walk = plan.Walk;
        MakeDirectories(plan);
        RemoveUnfinished(plan);
        RemoveBehindEnd(plan);
        if (walk.EndSegment >= 0 && !walk.EndsWithSeal)
            IndexAgain(plan.Bases[walk.EndSegment], walk.End);
        List<Segment> segments = ChainOf(plan);
        var repair = new SegmentRepair(_disk, _logger, _store, _lead);
        long rewritten = 0;
        Segment? last = segments.Count > 0 ? segments[^1] : null;
        if (last is not null)
        {
            repair.RewriteHeaders(plan.Bases, plan.Headers, segments, walk.Epoch);
            rewritten = plan.IsClean && _lead is null ? 0 : repair.RewriteUnproven(segments, walk);
            if (walk.EndsWithSeal)
                last.EndPosition = walk.End;
            else
                repair.OpenLast(last, walk, _lastStoredTimeMs, _epochs);
        }

        BuildIndexes(segments, plan.Bases.Count > 0 ? plan.Bases[plan.First].Value : 0);
        _disk.SyncDirectory(_directory);
        CleanMarker.Remove(_disk, _options.DataDirectory);
        Log.LogRecovered(_logger, _directory, _replayFrom, walk.End, rewritten);
        long end = last is null ? walk.End : last.IsSealed ? last.EndPosition : walk.End;
        return new RecoveredLog
        {
            StoreId = _store.StoreId,
            LogId = _logId,
            Segments = segments,
            Queues = _state.Queues,
            Producers = _state.Producers,
            EndPosition = end,
            CommittedPosition = _lead is null ? end : _committed.Value,
            LastEpoch = Math.Max(walk.Epoch, _snapshotEpoch),
            Epochs = _epochs,
            // Beyond what a date can say is no time: such bytes must not keep a log from opening.
            LastStoredTimeMs = Math.Clamp(_lastStoredTimeMs, 0, RecordTime.LatestMs),
            ConfirmedMs = Math.Clamp(_confirmed.TimeMs, 0, RecordTime.LatestMs),
            BoundBytes = _boundBytes,
            HasLostState = _isLostStateAccepted,
            StateBytesSinceSnapshot = _stateBytes,
        };
    }

    private void MakeDirectories(RepairPlan plan)
    {
        string data = _options.DataDirectory;
        string logs = Path.GetDirectoryName(_directory)!;
        _disk.CreateDirectory(_directory);
        _disk.SyncDirectory(logs);
        _disk.SyncDirectory(data);
        if (!plan.IsNew)
            return;

        FolderNames.Sync(_disk, data);
        WholeFile.Write(_disk, LogFiles.StoreFile(data), _store.ToBytes());
        if (plan.Bases.Count == 0)
            Log.StoreMade(_logger, data, _store.StoreId);
        else
            Log.StoreFileRebuilt(_logger, LogFiles.StoreFile(data));
    }

    /// <summary>Removes what is not whole (a snapshot that is not would count as one of those that are kept), and
    /// indexes of segments that are gone or take appends.</summary>
    private void RemoveUnfinished(RepairPlan plan)
    {
        if (plan.Replaced.Count > 0)
            _disk.SyncDirectory(_directory); // the name of a pack must outlast its sources
        foreach (string path in plan.Replaced)
            _disk.Delete(path);
        foreach (DiskEntry entry in _disk.List(_directory))
        {
            bool isOrphan = LogFiles.TryParse(entry.Name, LogFiles.IndexSuffix, out LogPosition position)
                && (!plan.Bases.Contains(position) || IsOpenEnd(plan, position));
            bool isSkipped = LogFiles.TryParse(entry.Name, LogFiles.SnapshotSuffix, out LogPosition start)
                && start.Value > _replayFrom;
            if (isOrphan || isSkipped || entry.Name.EndsWith(LogFiles.TemporarySuffix, StringComparison.Ordinal)
                || entry.Name.EndsWith(LogFiles.PreparedSuffix, StringComparison.Ordinal))
            {
                _disk.Delete(Path.Combine(_directory, entry.Name));
            }
        }
    }

    private static bool IsOpenEnd(RepairPlan plan, LogPosition basePosition) =>
        !plan.Walk.EndsWithSeal && plan.Bases[plan.Walk.EndSegment] == basePosition;

    /// <summary>Removes what never counted: segments after the one in which the log ends. Before the cut, so that a
    /// crash between repeats both.</summary>
    private void RemoveBehindEnd(RepairPlan plan)
    {
        bool hasRemoved = false;
        for (int i = plan.Bases.Count - 1; i > plan.Walk.EndSegment; i--)
        {
            string path = LogFiles.Segment(_directory, plan.Bases[i]);
            Log.SegmentBehindEndRemoved(_logger, path, plan.Walk.End);
            _disk.Delete(path);
            _disk.Delete(LogFiles.Index(_directory, plan.Bases[i]));
            _segments.Remove(plan.Bases[i].Value);
            hasRemoved = true;
        }

        if (hasRemoved)
            _disk.SyncDirectory(_directory);
    }

    private List<Segment> ChainOf(RepairPlan plan)
    {
        var segments = new List<Segment>();
        IEnumerable<int> walked = plan.Walk.Chain.Where(segment => segment <= plan.Walk.EndSegment);
        foreach (int i in Enumerable.Range(0, plan.Bases.Count == 0 ? 0 : plan.First).Concat(walked))
            segments.Add(MakeSegment(plan.Bases[i]));

        segments.AddRange(plan.Packs.Select(pack => Segment.OfPack(_disk, pack)));
        segments.Sort((one, other) => one.BasePosition.CompareTo(other.BasePosition));
        for (int i = 1; i < segments.Count; i++)
        {
            segments[i - 1].Next = segments[i];
            if (!segments[i - 1].IsPacked)
                segments[i - 1].EndPosition = segments[i].BasePosition;
        }

        return segments;
    }

    /// <summary>Sealed segments without a whole index get one, unless they were walked: the entries of those are in
    /// memory, and the store writes their indexes.</summary>
    private void BuildIndexes(List<Segment> segments, long firstWalked)
    {
        for (int at = 0; at < segments.Count; at++)
        {
            Segment segment = segments[at];
            bool isWalked = segment.BasePosition >= firstWalked && !segment.IsPacked;
            if (!segment.IsSealed || (isWalked && !_indexed.Contains(segment.BasePosition)))
                continue;

            var basePosition = new LogPosition(segment.BasePosition);
            var endPosition = new LogPosition(segment.EndPosition);
            segment.HasIndex = HasWholeIndex(segment.IndexPath, basePosition, endPosition, segment.PackedMs);
            if (segment.HasIndex)
                continue;

            for (int i = SealedIndexRebuilder.FirstToRebuild(_disk, _logId, segments, at); i <= at; i++)
                RebuildIndex(segments, i);
            segment.HasIndex = true;
        }
    }

    private void RebuildIndex(List<Segment> segments, int at)
    {
        string path = segments[at].Path;
        long damaged = SealedIndexRebuilder.Rebuild(_disk, (_store.StoreId, _logId), segments, at, _nowMs);
        Log.IndexRebuilt(_logger, path);
        if (damaged > 0)
            Log.IndexRebuiltWithGaps(_logger, path, $"{damaged} damaged bytes");
    }

    private bool HasWholeIndex(string path, LogPosition basePosition, LogPosition endPosition, long? packedMs)
    {
        using var index = SealedIndex.OpenOf(_disk, path, _logId, basePosition, endPosition, packedMs);
        return index is not null;
    }
}
