using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Takes the requests: says what may enter the log, has it staged, and wakes or becomes the writer.</summary>
/// <remarks>Called by any thread. One lock for each request; no I/O under it, no allocation per batch.</remarks>
internal sealed class Appender
{
    private readonly Lock _gate;
    private readonly StoreOptions _options;
    private readonly WallClock _clock;
    private readonly LogState _state;
    private readonly Staging _staging;
    private readonly IncomingWaiters _incoming;
    private readonly QueueWatches _watches;
    private readonly ReadOnlyMode _readOnly;
    private readonly LogWriter _writer;
    private readonly LogFault _fault;
    private readonly WorkSignal _keeper;
    private readonly int _epoch;
    private uint _mark;
    private bool _hasBegun;
    private long _appends;
    private long _batches;
    private long _messageBytes;
    private long _duplicates;
    private long _stateBytes;

    /// <param name="gate">The log's lock.</param>
    /// <param name="options">Bounds.</param>
    /// <param name="clock">Stamps requests.</param>
    /// <param name="state">Queues and producers; gets the state records.</param>
    /// <param name="staging">Places what may enter.</param>
    /// <param name="incoming">Waiters, for the writer and the flusher.</param>
    /// <param name="watches">Readers of queues that are removed.</param>
    /// <param name="readOnly">Whether messages are refused.</param>
    /// <param name="writer">Writes what is staged.</param>
    /// <param name="fault">Why nothing is taken any more.</param>
    /// <param name="keeper">Is woken when much state has changed.</param>
    /// <param name="epoch">Stands in answers.</param>
    /// <param name="stateBytes">Bytes of state records after the newest snapshot.</param>
    public Appender(
        Lock gate,
        StoreOptions options,
        WallClock clock,
        LogState state,
        Staging staging,
        IncomingWaiters incoming,
        QueueWatches watches,
        ReadOnlyMode readOnly,
        LogWriter writer,
        LogFault fault,
        WorkSignal keeper,
        int epoch,
        long stateBytes)
    {
        (_gate, _options, _clock, _state, _staging) = (gate, options, clock, state, staging);
        (_incoming, _watches, _readOnly, _writer) = (incoming, watches, readOnly, writer);
        (_fault, _keeper, _epoch, _stateBytes) = (fault, keeper, epoch, stateBytes);
    }

    /// <summary>Whether the epoch has begun: before, nothing is taken.</summary>
    public bool HasBegun => Volatile.Read(ref _hasBegun);

    /// <summary>Requests taken since the opening.</summary>
    public long Appends => Volatile.Read(ref _appends);

    /// <summary>Batches of messages stored since the opening.</summary>
    public long Batches => Volatile.Read(ref _batches);

    /// <summary>Bytes of them.</summary>
    public long MessageBytes => Volatile.Read(ref _messageBytes);

    /// <summary>Batches that were stored before.</summary>
    public long Duplicates => Volatile.Read(ref _duplicates);

    /// <summary>Bytes of state records staged since the last snapshot began.</summary>
    public long StateBytes => Volatile.Read(ref _stateBytes);

    /// <summary>A snapshot begins: forgets the state bytes counted so far. Under the log's lock.</summary>
    public void ForgetStateBytes() => _stateBytes = 0;

    /// <summary>The epoch has begun, under this mark: requests are taken.</summary>
    public void Begin(uint mark)
    {
        _mark = mark;
        Volatile.Write(ref _hasBegun, true);
    }

    /// <inheritdoc cref="QueueStore.Append"/>
    public AppendStatus Append(Span<AppendItem> items, Durability durability, AppendWaiter waiter, bool mayWrite)
    {
        long total = 0;
        foreach (ref readonly AppendItem item in items)
            total += EntryHeader.Length + item.Batch.Length;
        if (items.IsEmpty || total > _staging.MaxRequestBytes)
            return RefuseAll(items, ErrorCode.MessageTooLarge);
        long nowMs = _clock.NowMs();
        lock (_gate)
        {
            bool isReadOnly = _readOnly.IsOn;
            if (Refusal(isReadOnly && !_readOnly.HasMessagesWait) is var refusal and not ErrorCode.None)
                return RefuseAll(items, refusal);
            nowMs = Math.Max(nowMs, _staging.LastStoredTimeMs);
            if (isReadOnly || !_staging.TryMakeRoom(items, total, nowMs))
                return AppendStatus.NoRoom;
            _staging.BeginRequest(total);
            long target = -1;
            foreach (ref AppendItem item in items)
            {
                long end = StageMessages(ref item, nowMs);
                target = Math.Max(target, end);
            }
            _staging.EndRequest();
            if (target < 0)
                return AppendStatus.Nothing;
            _appends++;
            _incoming.Add(durability, waiter, target);
        }
        _writer.WriteOrWake(mayWrite);
        return AppendStatus.Accepted;
    }

    /// <inheritdoc cref="QueueStore.CheckSequence"/>
    public ErrorCode CheckSequence(QueueId queue, ReadOnlySpan<byte> batch)
    {
        if (!RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out ErrorCode error))
            return error;
        lock (_gate)
            return _state.Queues.Find(queue) is { } found ? Judge(found, header, out _) : ErrorCode.None;
    }

    /// <inheritdoc cref="QueueStore.SetWritable"/>
    public void SetWritable(IEnumerable<QueueId> queues, bool isWritable)
    {
        lock (_gate)
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
        long total = EntryHeader.Length + batch.Length;
        long nowMs = _clock.NowMs();
        lock (_gate)
        {
            if (Refusal(isReadOnly: false) is var refusal and not ErrorCode.None)
                throw _fault.Reason ?? new EQueueException(refusal);
            nowMs = Math.Max(nowMs, _staging.LastStoredTimeMs);
            if (!_staging.TryMakeRoom([], total, nowMs))
                return AppendStatus.NoRoom;
            _staging.BeginRequest(total);
            long end = _staging.Stage(_state.Queues.State, EntryKind.State, batch, count, uint.MaxValue, nowMs);
            _staging.EndRequest();
            _stateBytes += total;
            ApplyAll(records, end);
            _appends++;
            _incoming.Add(durability, waiter, end);
        }
        _writer.WriteOrWake(mayWrite: false);
        if (StateBytes >= _options.SnapshotStateBytes)
            _keeper.Raise();
        return AppendStatus.Accepted;
    }

    /// <summary>Lets the log grow by an entry that says nothing new: one more start of its epoch.</summary>
    /// <returns>False when there is no room now, or the log takes no more.</returns>
    public bool TryStageMark()
    {
        lock (_gate)
        {
            long nowMs = Math.Max(_clock.NowMs(), _staging.LastStoredTimeMs);
            bool mayStage = _hasBegun && Refusal(isReadOnly: false) == ErrorCode.None;
            if (!mayStage || !_staging.TryMakeRoom([], EntryHeader.Length, nowMs))
                return false;
            _staging.StageEpochStart(nowMs, _mark);
        }
        _writer.WriteOrWake(mayWrite: false);
        return true;
    }

    private void ApplyAll(ReadOnlySpan<StateEntry> records, long end)
    {
        try
        {
            foreach (ref readonly StateEntry record in records)
            {
                StateRecord change = record.AsRecord();
                if (change.Kind == LogState.QueueRemoved && _state.Queues.Find(LogState.QueueOf(change)) is { } queue)
                    _watches.Move(queue, end - 1);
                _state.Apply(change, end);
                if (change.Kind == LogState.TimeReset)
                    _staging.LastStoredTimeMs = LogState.TimeOf(change);
            }
        }
        catch (Exception exception)
        {
            // The log has a record that the state machine does not take: memory and disk differ from here on.
            _fault.Latch(exception);
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
        if (!_hasBegun)
            throw new InvalidOperationException("A leader takes appends when it has begun its epoch.");
        if (_fault.Reason is not null)
            return ErrorCode.StoreFaulted;
        return _fault.IsClosing ? ErrorCode.ShuttingDown : isReadOnly ? ErrorCode.StorageFull : ErrorCode.None;
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
        long end = _staging.Stage(queue, EntryKind.Messages, batch, count, item.TagBits, nowMs);
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
        item.Epoch = _epoch;
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
        item.Epoch = _epoch;
        return original.EndPosition;
    }
}
