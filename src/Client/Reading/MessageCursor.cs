using System.Diagnostics;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>The one place at which a reader stands: a batch in received memory and a record in it.</summary>
/// <remarks>
/// Owned by one enumeration and moved on its thread alone. Every step raises <see cref="Generation"/>, by which
/// messages that were handed out earlier know that they are over.
/// </remarks>
/// <param name="filter">Which messages are wanted.</param>
/// <param name="broken">What becomes of messages that cannot be read.</param>
internal sealed class MessageCursor(TagFilter filter, BrokenRecords broken)
{
    private RecordCursor _records;
    private RecordRange _record;
    private long _generation;

    public TagFilter Filter { get; } = filter;

    public long Generation => Volatile.Read(ref _generation);

    public QueueCursor Queue { get; private set; } = null!;

    /// <summary>The batch, uncompressed.</summary>
    public ReadOnlyMemory<byte> Batch { get; private set; }

    public QueueOffset BaseOffset { get; private set; }

    /// <summary>Messages before this offset were not asked for.</summary>
    public QueueOffset FirstWanted { get; private set; }

    /// <summary>Offset behind the batch.</summary>
    public QueueOffset BatchEnd { get; private set; }

    public long StoredTimeMs { get; private set; }

    public RecordRange Record => _record;

    public RecordView View => _record.In(Batch.Span);

    public QueueOffset Offset => new(BaseOffset.Value + _record.OffsetDelta);

    /// <summary>Stands before the first record of a batch whose header and CRC are good.</summary>
    public void Open(
        QueueCursor queue, ReadOnlyMemory<byte> batch, in EntryView entry, QueueOffset baseOffset, QueueOffset end)
    {
        Queue = queue;
        Batch = batch;
        BaseOffset = baseOffset;
        BatchEnd = end;
        FirstWanted = new QueueOffset(Math.Max(queue.Delivered, baseOffset.Value));
        StoredTimeMs = entry.StoredTimeMs;
        _records = new RecordCursor(batch.Span);
    }

    /// <summary>Goes to the next wanted record; false at the end of the batch, and where the rest of it cannot be
    /// read and the reader passes over that.</summary>
    /// <exception cref="DamagedDataException">The records are not what the header says.</exception>
    public bool MoveNext()
    {
        ReadOnlySpan<byte> batch = Batch.Span;
        long firstWanted = FirstWanted.Value - BaseOffset.Value;
        while (_records.TryRead(batch, out _record))
        {
            if (_record.OffsetDelta >= firstWanted && (Filter.IsOpen || Filter.Matches(_record.In(batch))))
                return true;
        }

        if (_records.Error != ErrorCode.None)
            OnBroken(_records.Error);
        return false;
    }

    /// <summary>The records of the batch are not what its header says: from the first bad one on nothing can be
    /// read.</summary>
    /// <exception cref="DamagedDataException">The reader's policy is to stop there.</exception>
    public void OnBroken(ErrorCode reason)
    {
        long next = 0L;
        var records = new RecordCursor(Batch.Span);
        while (records.TryRead(Batch.Span, out RecordRange record))
            next = record.OffsetDelta + 1L;
        broken(Queue, Math.Max(FirstWanted.Value, BaseOffset.Value + next), BatchEnd.Value, reason);
    }

    /// <summary>The different trace contexts of the batch's wanted messages; null for none.</summary>
    public List<ActivityContext>? ReadContexts(int most)
    {
        List<ActivityContext>? contexts = null;
        ReadOnlySpan<byte> last = default;
        var records = new RecordReader(Batch.Span);
        while ((contexts is null || contexts.Count < most) && records.TryRead(out RecordView record))
        {
            if (BaseOffset.Value + record.OffsetDelta < FirstWanted.Value || !Filter.Matches(record)
                || !MessageTrace.TryFind(record.Properties, "traceparent"u8, out OptionalBytes parent)
                || parent.Value.SequenceEqual(last))
            {
                continue;
            }

            last = parent.Value;
            if (MessageTrace.TryRead(record, out ActivityContext context))
                ClientTrace.Add(ref contexts, context);
        }

        return contexts;
    }

    /// <summary>Wanted messages of the batch at these offsets.</summary>
    /// <param name="from">The first.</param>
    /// <param name="to">Behind the last.</param>
    public long CountWanted(long from, long to)
    {
        if (Filter.IsOpen)
            return to - from;
        long count = 0L;
        var records = new RecordReader(Batch.Span);
        while (records.TryRead(out RecordView record) && BaseOffset.Value + record.OffsetDelta < to)
        {
            if (BaseOffset.Value + record.OffsetDelta >= from && Filter.Matches(record))
                count++;
        }

        return count;
    }

    /// <summary>Ends what was handed out.</summary>
    /// <returns>The generation of what is handed out next.</returns>
    public long Advance()
    {
        long generation = _generation + 1;
        Volatile.Write(ref _generation, generation);
        return generation;
    }

    /// <summary>Forgets the batch, whose memory goes back.</summary>
    public void Close()
    {
        Batch = default;
        _records = default;
    }

    public ReadOnlyMemory<byte> Part(int start, int length) => length > 0 ? Batch.Slice(start, length) : default;
}

/// <summary>Decides about messages from <paramref name="offset"/> to before <paramref name="next"/> that cannot be
/// read.</summary>
/// <exception cref="DamagedDataException">The reader is to stop there.</exception>
internal delegate void BrokenRecords(QueueCursor queue, long offset, long next, ErrorCode reason);
