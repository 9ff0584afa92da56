using EQueue.Protocol;

using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Brings a log back: newest whole snapshot, replay, torn tail cut, everything rewritten that is not proven
/// durable.</summary>
/// <remarks>
/// Runs once, at open, on one thread, under the directory's lock. Phase one reads only and may refuse
/// (<see cref="StoreFormatException"/>, nothing changed); phase two repairs. A crash at any point of it repeats with
/// the same result. Parts: <c>Recovery.Replay.cs</c> fills the state, <c>Recovery.Repair.cs</c> changes files,
/// the content of segments by <see cref="SegmentRepair"/>.
/// </remarks>
internal sealed partial class Recovery
{
    private readonly StoreOptions _options;
    private readonly Lead? _lead;
    private readonly IDisk _disk;
    private readonly ILogger _logger;
    private readonly long _nowMs;
    private readonly string _directory;
    private readonly LogState _state;
    private readonly Dictionary<long, Segment> _segments = [];
    private readonly HashSet<long> _indexed = [];
    private StoreHeader _store = null!;
    private Guid _logId;
    private long _replayFrom;
    private LogPosition _committed;
    private long _lastStoredTimeMs;
    private long _stateBytes;

    private Recovery(
        StoreOptions options, IDisk disk, LogState state, ILogger logger, TimeProvider time, Lead? lead)
    {
        _lead = lead;
        _options = options;
        _disk = disk;
        _state = state;
        _logger = logger;
        _nowMs = time.GetUtcNow().ToUnixTimeMilliseconds();
        _directory = LogFiles.LogDirectory(options.DataDirectory);
    }

    /// <summary>Recovers (or makes) log 0 of a data directory whose lock is held.</summary>
    /// <param name="options">Validated.</param>
    /// <param name="disk">Where.</param>
    /// <param name="state">Empty; filled from snapshot and log. Its machine is given its records.</param>
    /// <param name="logger">For what was found and done.</param>
    /// <param name="time">For creation times.</param>
    /// <param name="lead">A leader's log ends at the first hole; null = a log of its own.</param>
    /// <param name="cancellationToken">Looked at between segments; the directory stays as it was.</param>
    /// <exception cref="StoreFormatException">The directory cannot be opened as it stands; nothing was
    /// changed.</exception>
    /// <exception cref="DiskException">The disk failed.</exception>
    public static RecoveredLog Run(
        StoreOptions options,
        IDisk disk,
        LogState state,
        ILogger logger,
        TimeProvider time,
        Lead? lead,
        CancellationToken cancellationToken) =>
        new Recovery(options, disk, state, logger, time, lead).Recover(cancellationToken);

    private RecoveredLog Recover(CancellationToken cancellationToken)
    {
        RestoreMarker.Check(_disk, _options.DataDirectory);
        MoveMarker.Check(_disk, _options.DataDirectory);
        (List<PackFile> packs, List<LogPosition> bases, List<string> replaced) =
            SegmentFiles.Find(_disk, _directory);
        bool isNew = !TryReadStore(bases);
        _logId = _store.LogIds[0];
        uint seed = EntryHeader.SeedOf(_logId);
        List<FileVerdict> headers = [.. bases.Select(CheckHeader)];

        LogPosition proven = default;
        bool isClean = CleanMarker.TryRead(_disk, _options.DataDirectory, _store.StoreId, out LogPosition cleanEnd);
        if (isClean)
            proven = cleanEnd;
        LogPosition snapshotEnd = LoadSnapshot(bases);
        proven = proven < snapshotEnd ? snapshotEnd : proven;
        // A snapshot was taken of what was committed, even if that is no longer noted elsewhere.
        _committed = _lead is { } lead && lead.Committed > snapshotEnd ? lead.Committed : snapshotEnd;

        var walk = new LogWalk(_disk, _directory, seed, bases, proven) { EndsAtFirstHole = _lead is not null };
        int first = FirstToWalk(bases);
        FindIndexes(bases, first);
        if (bases.Count > 0)
            walk.Run(first, Visit, cancellationToken);

        CheckLostState(walk);
        CheckLead(walk, snapshotEnd);
        cancellationToken.ThrowIfCancellationRequested();
        bool endsClean = isClean && cleanEnd.Value == walk.End;
        return Repair(new RepairPlan(isNew, bases, headers, packs, replaced, first, walk, endsClean));
    }

    /// <summary>The election of the leader knew the log: what does not fit is its error, and nothing is changed
    /// for it.</summary>
    private void CheckLead(LogWalk walk, LogPosition snapshotEnd)
    {
        if (_lead is not { } lead)
            return;
        if (walk.End < snapshotEnd.Value)
        {
            throw new StoreFormatException(
                _directory, $"the log ends at {walk.End}, its snapshot at {snapshotEnd}: the bytes between are lost.");
        }
        if (lead.Epoch <= Math.Max(walk.Epoch, _snapshotEpoch) || lead.Committed.Value > walk.End)
        {
            throw new ReplicaException(
                $"{lead}: the log in {_directory} ends at {walk.End} in epoch {Math.Max(walk.Epoch, _snapshotEpoch)}.");
        }
    }

    /// <summary>Reads the store file, or makes the identity anew from what the segments say; false for a new
    /// store.</summary>
    private bool TryReadStore(List<LogPosition> bases)
    {
        string path = LogFiles.StoreFile(_options.DataDirectory);
        FileVerdict verdict =
            StoreHeader.Read(WholeFile.Read(_disk, path, StoreHeader.MaxLength), out StoreHeader? store);
        if (verdict == FileVerdict.Valid)
        {
            _store = store!;
            return true;
        }

        if (verdict == FileVerdict.Refused)
            throw LaterVersion.Refuse(_disk, path);
        foreach (LogPosition basePosition in bases)
        {
            if (ReadHeader(basePosition, out SegmentHeader? segment) != FileVerdict.Valid)
                continue;
            (Guid storeId, long createdMs) = (segment!.StoreId, segment.CreatedMs);
            _store = new StoreHeader { StoreId = storeId, CreatedMs = createdMs, LogIds = [segment.LogId] };
            return false;
        }

        if (bases.Count > 0)
        {
            throw new StoreFormatException(
                path, "the store's identity is lost: neither this file nor any segment tells it.");
        }

        MoveMarker.CheckNew(_disk, _options.DataDirectory);
        _store = new StoreHeader { StoreId = Guid.NewGuid(), CreatedMs = _nowMs, LogIds = [Guid.NewGuid()] };
        return false;
    }

    /// <summary>Refuses segments of another version or store; damage of a header loses nothing.</summary>
    private FileVerdict CheckHeader(LogPosition basePosition)
    {
        FileVerdict verdict = ReadHeader(basePosition, out SegmentHeader? header);
        string path = LogFiles.Segment(_directory, basePosition);
        if (verdict == FileVerdict.Refused)
            throw LaterVersion.Refuse(_disk, path);
        if (verdict == FileVerdict.Valid && (header!.StoreId != _store.StoreId || header.LogId != _logId))
        {
            throw new StoreFormatException(
                path, $"the segment belongs to store {header.StoreId} and log {header.LogId}; "
                + $"expected {_store.StoreId} and {_logId}.");
        }

        if (verdict == FileVerdict.Valid && header!.BasePosition != basePosition)
        {
            throw new StoreFormatException(
                path, $"the file's name and its header (position {header.BasePosition}) differ.");
        }

        return verdict;
    }

    private FileVerdict ReadHeader(LogPosition basePosition, out SegmentHeader? header) =>
        SegmentHeader.Read(
            WholeFile.Read(_disk, LogFiles.Segment(_directory, basePosition), SegmentHeader.Length), out header);

    /// <summary>Where the walk must begin: the segment in which replay starts, at the latest the last one.</summary>
    private int FirstToWalk(List<LogPosition> bases)
    {
        int first = bases.FindLastIndex(position => position.Value <= _replayFrom);
        return Math.Clamp(first, 0, Math.Max(0, bases.Count - 1));
    }

    /// <summary>Entries of segments that have their index need no place in memory. Behind the first one that lacks it
    /// they do: an index continues the one before it, and readers look for what is not in memory before what
    /// is.</summary>
    private void FindIndexes(List<LogPosition> bases, int first)
    {
        long derivedTo = _lead is null ? long.MaxValue : _committed.Value;
        for (int i = first; i < bases.Count - 1 && bases[i + 1].Value <= derivedTo; i++)
        {
            if (!HasWholeIndex(LogFiles.Index(_directory, bases[i]), bases[i], bases[i + 1], packedMs: null))
                return;
            _indexed.Add(bases[i].Value);
        }
    }

    private sealed record RepairPlan(
        bool IsNew,
        List<LogPosition> Bases,
        List<FileVerdict> Headers,
        List<PackFile> Packs,
        List<string> Replaced,
        int First,
        LogWalk Walk,
        bool IsClean);
}
