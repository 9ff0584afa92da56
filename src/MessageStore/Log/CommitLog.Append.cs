using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The owner's part: who takes the lock checks, stamps, stages. No I/O, no allocation per batch.</summary>
internal sealed partial class CommitLog
{
    /// <summary>Bytes kept free beside a request for seals and epoch starts.</summary>
    private const int Slack = 1024;

    private WaiterQueue _writtenIncoming;
    private WaiterQueue _durableIncoming;
    private long _appends;
    private long _batches;
    private long _messageBytes;
    private long _duplicates;
    private long _stateBytes;

    /// <summary>Bytes of state records staged since the last snapshot began.</summary>
    public long StateBytes => Volatile.Read(ref _stateBytes);

    /// <inheritdoc cref="QueueStore.Append"/>
    public AppendStatus Append(Span<AppendItem> items, Durability durability, AppendWaiter waiter, bool mayWrite)
    {
        long total = 0;
        foreach (ref readonly AppendItem item in items)
            total += EntryHeaderSize + item.Batch.Length;
        if (items.IsEmpty || total > MaxRequestBytes)
            return RefuseAll(items, ErrorCode.MessageTooLarge);
        long nowMs = _clock.NowMs();
        lock (_lock)
        {
            bool isReadOnly = IsReadOnly;
            if (Refusal(isReadOnly && !WaitsWhenFull) is var refusal and not ErrorCode.None)
                return RefuseAll(items, refusal);
            nowMs = Math.Max(nowMs, _lastStoredTimeMs);
            if (isReadOnly || !TryMakeRoom(items, total, nowMs))
                return AppendStatus.NoRoom;
            Claim(total);
            long target = -1;
            foreach (ref AppendItem item in items)
            {
                long end = StageMessages(ref item, nowMs);
                target = Math.Max(target, end);
            }
            EndRequest();
            if (target < 0)
                return AppendStatus.Nothing;
            _appends++;
            AddWaiter(durability, waiter, target);
        }
        WriteOrWakeWriter(mayWrite);
        return AppendStatus.Accepted;
    }

    /// <inheritdoc cref="QueueStore.CheckSequence"/>
    public ErrorCode CheckSequence(QueueId queue, ReadOnlySpan<byte> batch)
    {
        if (!RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out ErrorCode error))
            return error;
        lock (_lock)
            return _state.Queues.Find(queue) is { } found ? Judge(found, header, out _) : ErrorCode.None;
    }

    /// <inheritdoc cref="QueueStore.SetWritable"/>
    public void SetWritable(IEnumerable<QueueId> queues, bool isWritable)
    {
        lock (_lock)
        {
            foreach (QueueId id in queues)
            {
                if (_state.Queues.Find(id) is { } queue)
                    queue.IsWritable = isWritable;
            }
        }
    }

    /// <summary>Appends one batch of state records and applies them.</summary>
    /// <param name="batch">The records, encoded.</param>
    /// <param name="count">How many.</param>
    /// <param name="records">The same, to be applied.</param>
    /// <param name="durability">The level that the waiter waits for.</param>
    /// <param name="waiter">Told when the level is reached.</param>
    public AppendStatus AppendState(
        ReadOnlySpan<byte> batch,
        int count,
        ReadOnlySpan<StateEntry> records,
        Durability durability,
        AppendWaiter waiter)
    {
        long total = EntryHeaderSize + batch.Length;
        long nowMs = _clock.NowMs();
        lock (_lock)
        {
            if (Refusal(isReadOnly: false) is var refusal and not ErrorCode.None)
                throw Fault ?? new EQueueException(refusal);
            nowMs = Math.Max(nowMs, _lastStoredTimeMs);
            if (!TryMakeRoom([], total, nowMs))
                return AppendStatus.NoRoom;
            Claim(total);
            Queue queue = _state.Queues.State;
            long end = Stage(queue, EntryKind.State, batch, count, uint.MaxValue, nowMs);
            EndRequest();
            _stateBytes += total;
            ApplyAll(records, end);
            _appends++;
            AddWaiter(durability, waiter, end);
        }
        _writerSignal.Raise();
        if (StateBytes >= _options.SnapshotStateBytes)
            BackgroundWork?.Invoke();
        return AppendStatus.Accepted;
    }

    private void ApplyAll(ReadOnlySpan<StateEntry> records, long end)
    {
        try
        {
            foreach (ref readonly StateEntry record in records)
            {
                StateRecord change = record.AsRecord();
                if (change.Kind == LogState.QueueRemoved)
                    MoveWatchers(change, end - 1);
                _state.Apply(change, end);
                if (change.Kind == LogState.TimeReset)
                    _lastStoredTimeMs = LogState.TimeOf(change);
            }
        }
        catch (Exception exception)
        {
            // The log has a record that the state machine does not take: memory and disk differ from here on.
            Latch(exception);
            throw;
        }
    }

    private static AppendStatus RefuseAll(Span<AppendItem> items, ErrorCode error)
    {
        foreach (ref AppendItem item in items)
            item.Error = error;
        return AppendStatus.Nothing;
    }

    private ErrorCode Refusal(bool isReadOnly)
    {
        if (_lead is not null && !_hasBegun)
            throw new InvalidOperationException("A leader takes appends when it has begun its epoch.");
        if (_fault is not null)
            return ErrorCode.StoreFaulted;
        return _isClosing ? ErrorCode.ShuttingDown : isReadOnly ? ErrorCode.StorageFull : ErrorCode.None;
    }

    /// <summary>Checks one batch and stages it.</summary>
    /// <returns>The position that its acknowledgement waits for; -1 when it has an error.</returns>
    private long StageMessages(ref AppendItem item, long nowMs)
    {
        ReadOnlySpan<byte> batch = item.Batch.Span;
        Queue? queue = _state.Queues.Find(item.Queue);
        if (queue is null || queue.Id == QueueId.State)
        {
            item.Error = ErrorCode.UnknownQueue;
            return -1;
        }
        if (batch.Length > _options.MaxBatchBytes)
        {
            item.Error = ErrorCode.MessageTooLarge;
            return -1;
        }
        if (!RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out ErrorCode error)
            || header.TotalSize != batch.Length)
        {
            item.Error = error == ErrorCode.None ? ErrorCode.InvalidBatch : error;
            return -1;
        }
        item.Error = Judge(queue, header, out SequencedBatch original);
        if (item.Error != ErrorCode.None)
            return item.Error == ErrorCode.DuplicateSequence ? AnswerDuplicate(ref item, original) : -1;
        int count = header.LastOffsetDelta + 1;
        ProducerSession producer = header.Producer;
        long firstOffset = queue.NextOffset;
        long end = Stage(queue, EntryKind.Messages, batch, count, item.TagBits, nowMs);
        if (producer.IsIdempotent)
        {
            _state.Producers.Stored(
                producer, queue.Id, header.BaseSequence, count, header.Crc, firstOffset, end, nowMs);
        }
        _batches++;
        _messageBytes += batch.Length;
        item.Error = ErrorCode.None;
        item.FirstOffset = new QueueOffset(firstOffset);
        item.StoredTimeMs = nowMs;
        item.Epoch = Epoch;
        return end;
    }

    /// <summary>Whether a batch may follow what the queue holds, and has offsets left. What is stored already is a
    /// duplicate, whether the queue takes messages or not.</summary>
    private ErrorCode Judge(Queue queue, in RecordBatchHeader header, out SequencedBatch original)
    {
        original = default;
        ErrorCode error = header.Producer.IsIdempotent
            ? _state.Producers.Check(
                header.Producer, queue.Id, header.BaseSequence, header.LastOffsetDelta + 1, header.Crc, out original)
            : ErrorCode.None;
        bool takes = queue.IsWritable && queue.NextOffset <= long.MaxValue - header.LastOffsetDelta - 1;
        return !takes && error is ErrorCode.None or ErrorCode.OutOfOrderSequence
            ? ErrorCode.QueueNotWritable
            : error;
    }

    private long AnswerDuplicate(ref AppendItem item, in SequencedBatch original)
    {
        _duplicates++;
        item.FirstOffset = new QueueOffset(original.FirstOffset);
        item.StoredTimeMs = original.StoredTimeMs;
        item.Epoch = Epoch;
        return original.EndPosition;
    }

    /// <summary>Gives a batch its place, copies it once, and makes it findable (behind the visible
    /// watermark).</summary>
    private long Stage(Queue queue, EntryKind kind, ReadOnlySpan<byte> batch, int count, uint tagBits, long nowMs)
    {
        int size = EntryHeaderSize + batch.Length;
        if (!FitsActive(size))
            Roll(nowMs);
        long position = _marks.Staged;
        long firstOffset = queue.NextOffset;
        // Header and the stamped start of the batch are made beside, so that the ring's end may cut them anywhere.
        Span<byte> start = stackalloc byte[EntryHeaderSize + EntryHeader.CoveredBatchSize];
        batch[..EntryHeader.CoveredBatchSize].CopyTo(start[EntryHeaderSize..]);
        RecordBatch.Stamp(start[EntryHeaderSize..], new QueueOffset(firstOffset), Epoch);
        WriteHeader(start, queue.Id, kind, size, tagBits, nowMs, start[EntryHeaderSize..]);
        _arena.Write(position, start);
        _arena.Write(position + start.Length, batch[EntryHeader.CoveredBatchSize..]);
        queue.AddEntry(_active, position, size, firstOffset, firstOffset + count, nowMs, tagBits);
        if (queue.Watchers is { } watchers)
        {
            _ready.Add((queue.Id, position, watchers));
            queue.Watchers = null;
        }
        _lastStoredTimeMs = nowMs;
        _marks.Stage(position + size);
        if (_marks.Staged >= _preparerDueAt)
        {
            _preparerDueAt = long.MaxValue;
            _preparerSignal.Raise();
        }
        return position + size;
    }

    private void WriteHeader(
        Span<byte> destination,
        QueueId queue,
        EntryKind kind,
        int size,
        uint tagBits,
        long nowMs,
        ReadOnlySpan<byte> batchStart)
    {
        var position = new LogPosition(_marks.Staged);
        var header = new EntryHeader
        {
            Size = size,
            Position = position,
            Queue = queue,
            Epoch = Epoch,
            StoredTimeMs = nowMs,
            Kind = kind,
            TagBits = tagBits,
            DurableDistance = EntryHeader.DistanceOf(position, new LogPosition(Settled)),
        };
        EntryHeader.Write(destination, header, _logSeed, batchStart);
    }

    private void EndRequest()
    {
        Claim(0);
        NoteRoundEnd();
    }

    private void AddWaiter(Durability durability, AppendWaiter waiter, long target)
    {
        bool durable = durability == Durability.Durable
            || (durability == Durability.Policy && _options.FlushPolicy == FlushPolicy.Sync);
        if (durable)
        {
            _durableIncoming.Add(waiter, target);
            _marks.WantDurable(target);
        }
        else
        {
            _writtenIncoming.Add(waiter, target);
        }
    }

    /// <summary>Tells readers how far the ring will be overwritten, before it is: staged plus
    /// <paramref name="bytes"/>.</summary>
    private void Claim(long bytes)
    {
        // Seals of rolls on the way are part of the slack that readers give.
        _marks.Claim(_marks.Staged + bytes + (bytes == 0 ? 0 : Slack));
    }
}
