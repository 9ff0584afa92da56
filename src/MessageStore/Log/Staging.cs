using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Gives entries their place: stamps them, copies them once into the ring, rolls segments, and says where a
/// round of the writer may end.</summary>
/// <remarks>
/// Owns what is true of the log's end and of nothing else. Everything is called under the log's lock, by the thread
/// that appends: only memory is touched, and nothing is allocated but blocks of the index.
/// </remarks>
internal sealed class Staging
{
    /// <summary>Bytes kept free beside a request for seals and epoch starts.</summary>
    private const int Slack = 1024;

    /// <summary>Bytes after which a round ends with the request: large enough to cost nothing per byte, small enough
    /// that readers see them soon.</summary>
    private const int RoundBytes = 1 << 20;

    private readonly Arena _arena;
    private readonly Watermarks _marks;
    private readonly SegmentChain _segments;
    private readonly QueueWatches _watches;
    private readonly int _epoch;
    private readonly uint _logSeed;

    /// <summary>Ends of requests, one per <see cref="RoundBytes"/> of what waits to be written.</summary>
    private readonly Queue<long> _roundEnds = new();
    private long _lastRoundEnd;

    /// <param name="identity">Stands in the entries.</param>
    /// <param name="arena">Gets them.</param>
    /// <param name="marks">Is told what is staged.</param>
    /// <param name="segments">Where they will lie.</param>
    /// <param name="watches">Readers that wait for them.</param>
    /// <param name="lastStoredTimeMs">The stored time of the newest entry that is there.</param>
    public Staging(
        LogIdentity identity,
        Arena arena,
        Watermarks marks,
        SegmentChain segments,
        QueueWatches watches,
        long lastStoredTimeMs)
    {
        (_arena, _marks, _segments, _watches) = (arena, marks, segments, watches);
        (_epoch, _logSeed) = (identity.Epoch, EntryHeader.SeedOf(identity.LogId));
        _lastRoundEnd = marks.Staged;
        LastStoredTimeMs = lastStoredTimeMs;
    }

    /// <summary>Bytes that one request may stage: with it, half of the memory for staging is always enough.</summary>
    public int MaxRequestBytes => (_arena.UnseenSize / 2) - Slack;

    /// <summary>The stored time of the newest entry; stored times never fall but by a state record.</summary>
    public long LastStoredTimeMs { get; set; }

    /// <summary>Whether more is staged than one round writes.</summary>
    public bool HasFullRound => _roundEnds.Count > 0;

    /// <summary>Whether a request can be staged now; wakes the preparer when a segment is missing. Rolls a segment
    /// that is too old.</summary>
    /// <param name="items">Empty for a single entry.</param>
    /// <param name="total">Bytes of all entries.</param>
    /// <param name="nowMs">Stands in a seal.</param>
    public bool TryMakeRoom(ReadOnlySpan<AppendItem> items, long total, long nowMs)
    {
        if (_marks.Staged + total + Slack - _marks.Visible > _arena.UnseenSize)
            return false;
        if (_segments.MustRoll(nowMs))
            Roll(nowMs);
        return _segments.TryMakeRoom(items, total);
    }

    /// <summary>A request begins: tells readers how far the ring will be overwritten, before it is.</summary>
    /// <param name="bytes">Of all its entries; seals of rolls on the way are part of the slack that readers
    /// give.</param>
    public void BeginRequest(long bytes) => _marks.Claim(_marks.Staged + bytes + Slack);

    /// <summary>A request is staged: a round may end here.</summary>
    public void EndRequest()
    {
        long staged = _marks.Staged;
        _marks.Claim(staged);
        if (staged - _lastRoundEnd >= RoundBytes)
        {
            _roundEnds.Enqueue(staged);
            _lastRoundEnd = staged;
        }
    }

    /// <summary>Takes the end of the writer's next round.</summary>
    public long TakeRound()
    {
        if (_roundEnds.TryDequeue(out long end))
            return end;
        return _lastRoundEnd = _marks.Staged;
    }

    /// <summary>Gives a batch its place, copies it once, and makes it findable (behind the visible
    /// watermark).</summary>
    /// <returns>The position behind it.</returns>
    public long Stage(Queue queue, EntryKind kind, ReadOnlySpan<byte> batch, int count, uint tagBits, long nowMs)
    {
        int size = EntryHeader.Length + batch.Length;
        if (!_segments.Fits(size))
            Roll(nowMs);
        long position = _marks.Staged;
        long firstOffset = queue.NextOffset;
        var header = new EntryHeader
        {
            Size = size,
            Position = new LogPosition(position),
            Queue = queue.Id,
            Epoch = _epoch,
            StoredTimeMs = nowMs,
            Kind = kind,
            TagBits = tagBits,
            DurableDistance = DistanceAt(position),
        };
        // Header and the stamped start of the batch are made beside, so that the ring's end may cut them anywhere.
        Span<byte> start = stackalloc byte[EntryHeader.Length + EntryHeader.CoveredBatchSize];
        batch[..EntryHeader.CoveredBatchSize].CopyTo(start[EntryHeader.Length..]);
        RecordBatch.Stamp(start[EntryHeader.Length..], new QueueOffset(firstOffset), _epoch);
        EntryHeader.Write(start, header, _logSeed, start[EntryHeader.Length..]);
        _arena.Write(position, start);
        _arena.Write(position + start.Length, batch[EntryHeader.CoveredBatchSize..]);
        queue.AddEntry(_segments.Active, position, size, firstOffset, firstOffset + count, nowMs, tagBits);
        _watches.Move(queue, position);
        LastStoredTimeMs = nowMs;
        _marks.Stage(position + size);
        _segments.NoteStaged(position + size);
        return position + size;
    }

    /// <summary>Stages a request of its own that is a start of the epoch.</summary>
    /// <param name="nowMs">Its stored time.</param>
    /// <param name="mark">Tells the epoch from others of the same number.</param>
    /// <returns>The position behind it.</returns>
    public long StageEpochStart(long nowMs, uint mark)
    {
        if (!_segments.Fits(EntryHeader.Length))
            Roll(nowMs);
        BeginRequest(EntryHeader.Length);
        long end = StageMark(EntryKind.EpochStart, nowMs, mark);
        EndRequest();
        return end;
    }

    /// <summary>Ends the active segment and stages on in the first one made ahead, which <see cref="TryMakeRoom"/> has
    /// seen.</summary>
    public void Roll(long nowMs)
    {
        _marks.Claim(Math.Max(_marks.Claimed, _marks.Staged + EntryHeader.Length));
        long end = StageMark(EntryKind.Seal, nowMs);
        _segments.Roll(end, nowMs);
    }

    /// <summary>Stages an entry without a batch: a seal, an epoch start.</summary>
    private long StageMark(EntryKind kind, long nowMs, uint mark = 0)
    {
        long position = _marks.Staged;
        Span<byte> entry = stackalloc byte[EntryHeader.Length];
        var header = new EntryHeader
        {
            Size = EntryHeader.Length,
            Position = new LogPosition(position),
            Queue = QueueId.State,
            Epoch = _epoch,
            StoredTimeMs = nowMs,
            Kind = kind,
            TagBits = 0,
            DurableDistance = DistanceAt(position),
            Mark = mark,
        };
        EntryHeader.Write(entry, header, _logSeed, default);
        _arena.Write(position, entry);
        LastStoredTimeMs = nowMs;
        _marks.Stage(position + EntryHeader.Length);
        return position + EntryHeader.Length;
    }

    private uint DistanceAt(long position) =>
        EntryHeader.DistanceOf(new LogPosition(position), new LogPosition(_marks.Settled));
}
