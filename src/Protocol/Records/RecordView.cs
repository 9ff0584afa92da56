using System.Runtime.CompilerServices;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>One record, read in place. Valid as long as the batch's bytes.</summary>
public readonly ref struct RecordView
{
    private readonly ReadOnlySpan<byte> _batch;
    private readonly RecordRange _range;

    internal RecordView(ReadOnlySpan<byte> batch, RecordRange range)
    {
        _batch = batch;
        _range = range;
    }

    /// <summary>Where the parts stand in the batch.</summary>
    public RecordRange Range => _range;

    /// <summary>The record's place in its queue, once the broker has stamped the batch.</summary>
    public QueueOffset Offset => new(new RecordBatchHeader(_batch).BaseOffset.Value + _range.OffsetDelta);

    /// <summary>Offset minus the batch's base offset.</summary>
    public int OffsetDelta => _range.OffsetDelta;

    /// <summary>Timestamp minus the batch's base timestamp; ms.</summary>
    public long TimestampDelta => _range.TimestampDelta;

    /// <summary>Create time (stored time if the batch says so); ms since 1970-01-01 UTC.</summary>
    public long TimestampMs
    {
        get
        {
            var header = new RecordBatchHeader(_batch);
            return header.HasStoredTimestamps ? header.MaxTimestamp : header.BaseTimestamp + _range.TimestampDelta;
        }
    }

    /// <summary>Whether there is a key; it may be empty.</summary>
    public bool HasKey => _range.KeyLength >= 0;

    /// <summary>The key; empty when there is none.</summary>
    public ReadOnlySpan<byte> Key => Part(_range.KeyStart, _range.KeyLength);

    /// <summary>Whether there is a body; it may be empty.</summary>
    public bool HasBody => _range.BodyLength >= 0;

    /// <summary>The body; empty when there is none.</summary>
    public ReadOnlySpan<byte> Body => Part(_range.BodyStart, _range.BodyLength);

    /// <summary>Whether there is a tag; it may be empty.</summary>
    public bool HasTag => _range.TagLength >= 0;

    /// <summary>The tag in UTF-8; empty when there is none.</summary>
    public ReadOnlySpan<byte> Tag => Part(_range.TagStart, _range.TagLength);

    /// <summary>The name-value pairs, in order, the tag left out.</summary>
    public RecordPropertyReader Properties => new(_batch, _range.HeadersStart, _range.HeadersCount);

    /// <summary>Reads the next record into this view.</summary>
    /// <remarks>
    /// The range is found in its final place, behind the back of <c>readonly</c>: clearing the view and copying the
    /// range into it cost more than finding it (perf/Micro, RecordDecode).
    /// </remarks>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool TryRead(ReadOnlySpan<byte> batch, scoped ref RecordCursor cursor, out RecordView record)
    {
        Unsafe.SkipInit(out record);
        Unsafe.AsRef(in record._batch) = batch;
        return cursor.TryRead(batch, out Unsafe.AsRef(in record._range));
    }

    private ReadOnlySpan<byte> Part(int start, int length) =>
        length > 0 ? _batch.Slice(start, length) : default;
}
