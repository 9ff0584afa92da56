using EQueue.Protocol;

namespace EQueue.Client;

/// <content>Answer, queue, entry, batch, record: one step at a time, on the reader's thread.</content>
internal sealed partial class MessageStream
{
    private readonly MessageCursor _cursor;
    private readonly Queue<(QueueCursor Cursor, long Offset)> _seeks = new();
    private FetchedAnswer? _answer;
    private int _queueIndex;
    private FetchedQueue _queue;
    private ReadOnlyMemory<byte> _entries;
    private bool _isInQueue;
    private bool _isInBatch;
    private bool _wasInBatches;

    /// <summary>What the reader meets at a step.</summary>
    public enum Step
    {
        /// <summary>A message or batch.</summary>
        Found,

        /// <summary>Nothing here now.</summary>
        Wait,

        /// <summary>A queue has an error; see <see cref="TroubleAsync"/>.</summary>
        Trouble,

        /// <summary>The end that was asked for.</summary>
        End,
    }

    public ReceivedMessage CurrentMessage => new(_cursor, _cursor.Generation);

    public ReceivedBatch CurrentBatch => new(_cursor, _cursor.Generation);

    /// <summary>Goes to the next message. What the last step gave is over.</summary>
    public Step NextMessage()
    {
        _cursor.Advance();
        if (_isInBatch && (!_isInterrupted || StaysInBatch()))
        {
            _cursor.Queue.Processed = _cursor.Queue.Delivered;
            if (TryNextRecord())
                return Step.Found;
        }

        while (true)
        {
            Step step = NextBatchCore();
            if (step != Step.Found)
                return step;
            if (!TryNextRecord())
                continue;
            BeginHanding();
            return step;
        }
    }

    /// <summary>Goes to the next batch with something wanted. What the last step gave is over.</summary>
    public Step NextBatch()
    {
        _cursor.Advance();
        Step step = NextBatchCore();
        if (step == Step.Found)
        {
            _cursor.Queue.Delivered = _cursor.BatchEnd.Value;
            BeginHanding();
        }

        return step;
    }

    /// <summary>Everything of an answer is processed whose commit senders wait for; set by a group's member.</summary>
    public Action? CommitDue { get; set; }

    /// <summary>Whether no queue is on its way; set by a group's member, which may have none at all.</summary>
    public Func<bool>? IsSettled { get; set; }

    private bool TryNextRecord()
    {
        if (!_cursor.MoveNext())
            return false;
        _cursor.Queue.Delivered = _cursor.Offset.Value + 1;
        return true;
    }

    /// <summary>Opens the next batch that may hold something wanted.</summary>
    private Step NextBatchCore()
    {
        if (_isInBatch)
            LeaveBatch();
        while (true)
        {
            bool isIn = _isInQueue || TryEnterQueue();
            if (_seeks.Count > 0)
                ApplySeeks();
            if (!isIn)
                return AtRest();
            QueueCursor cursor = _queue.Cursor;
            if (!TryTakeInHand(cursor) || _queue.Version != cursor.Version)
                LeaveQueue(isDone: false);
            else if (_answer!.Session.Lease is { IsOver: true })
                Withhold();
            else if (cursor.HasStopped)
                StopQueue(cursor);
            else if (_queue.Error != ErrorCode.None)
                return Step.Trouble;
            else if (_entries.IsEmpty)
                LeaveQueue(isDone: true);
            else if (TryOpenEntry())
                return Step.Found;
        }
    }

    private bool TryEnterQueue()
    {
        while (true)
        {
            if (_answer is null && !TryNextAnswer())
                return false;
            if (_isInQueue)
                return true;
            if (_queueIndex < _answer!.Queues.Count)
            {
                _queue = _answer.Queues[_queueIndex++];
                _entries = _queue.Entries;
                _isInQueue = true;
                return true;
            }

            FetchedAnswer done = _answer;
            _answer = null;
            if (done.IsMarked)
                CommitDue?.Invoke();
            done.Session.Release(done);
        }
    }

    private bool TryNextAnswer()
    {
        while (true)
        {
            if (_withheld.Count > 0 && TryRestore())
                return true;
            lock (_gate)
            {
                if (!_answers.TryDequeue(out _answer))
                    return false;
            }

            _queueIndex = 0;
            if (_withheld.Count == 0 || !TryQueueUp())
                return true;
        }
    }

    /// <summary>Takes one entry off the queue's share and opens it if it has anything to say.</summary>
    /// <exception cref="DamagedDataException">It cannot be decoded. It stays: the next loop meets it again.</exception>
    private bool TryOpenEntry()
    {
        QueueCursor cursor = _queue.Cursor;
        if (!EntryView.TryRead(_entries.Span, out EntryView entry))
        {
            OnCorrupt(cursor, cursor.Delivered, EndOfUnknown(default));
            return false;
        }

        ReadOnlyMemory<byte> batch = _entries[entry.HeaderSize..entry.Size];
        ReadOnlyMemory<byte> rest = _entries[entry.Size..];
        if (entry.Kind != EntryView.MessagesKind)
        {
            _entries = rest;
            return false;
        }

        if (!RecordBatch.TryReadHeader(batch.Span, out RecordBatchHeader header, out _)
                || header.TotalSize != batch.Length)
        {
            OnCorrupt(cursor, cursor.Delivered, EndOfUnknown(rest.Span));
            return false;
        }

        QueueOffset baseOffset = header.BaseOffset;
        QueueOffset end = header.NextOffset;
        if (end.Value <= cursor.Delivered)
        {
            _entries = rest;
            return false;
        }

        if (!Filter.MayMatch(entry.TagBits))
        {
            _entries = rest;
            Pass(cursor, end.Value);
            return false;
        }

        if (!RecordBatch.HasValidCrc(batch.Span))
        {
            OnCorrupt(cursor, Math.Max(cursor.Delivered, baseOffset.Value), end.Value);
            return false;
        }

        if (header.Codec != RecordCodec.None)
        {
            ErrorCode error = RecordBatch.Decompress(batch, _directory.Options.MaxFrameBytes, out batch);
            if (error != ErrorCode.None)
            {
                OnBroken(cursor, Math.Max(cursor.Delivered, baseOffset.Value), end.Value, error);
                _entries = rest;
                Pass(cursor, end.Value);
                return false;
            }
        }

        _entries = rest;
        cursor.CorruptCount = 0;
        cursor.LastEpoch = entry.Epoch;
        _cursor.Open(cursor, batch, entry, baseOffset, end);
        _observedTo = _cursor.FirstWanted.Value;
        _isInBatch = true;
        return true;
    }

    /// <summary>Where messages go on behind an entry that does not say how many it has.</summary>
    /// <param name="rest">The entries behind it.</param>
    private long EndOfUnknown(ReadOnlySpan<byte> rest)
    {
        long delivered = _queue.Cursor.Delivered;
        long end = EntryView.TryRead(rest, out EntryView entry) && entry.Kind == EntryView.MessagesKind
            && RecordBatch.TryReadHeader(rest[entry.HeaderSize..entry.Size], out RecordBatchHeader header, out _)
            ? header.BaseOffset.Value
            : _queue.Next;
        return Math.Max(end, delivered + 1);
    }

    private void LeaveBatch()
    {
        EndHanding();
        _isInBatch = false;
        QueueCursor cursor = _cursor.Queue;
        long end = _cursor.BatchEnd.Value;
        _cursor.Close();
        if (_queue.Version == cursor.Version)
            Pass(cursor, end);
    }

    /// <summary>Everything before the offset is done with.</summary>
    private static void Pass(QueueCursor cursor, long offset)
    {
        if (offset > cursor.Delivered)
            cursor.Delivered = offset;
        cursor.Processed = cursor.Delivered;
    }

    private void LeaveQueue(bool isDone)
    {
        if (isDone)
            Pass(_queue.Cursor, _queue.Next);
        _isInQueue = false;
        _queue = default;
        _entries = default;
        LetGo();
    }

    private void ApplySeeks()
    {
        lock (_gate)
        {
            while (_seeks.TryDequeue(out (QueueCursor Cursor, long Offset) seek))
            {
                seek.Cursor.Delivered = seek.Offset;
                seek.Cursor.Processed = seek.Offset;
            }
        }
    }

    /// <summary>Nothing is fetched that was not read.</summary>
    private Step AtRest()
    {
        ObjectDisposedException.ThrowIf(
            Volatile.Read(ref _isClosed), Group is null ? typeof(QueueReader) : typeof(Consumer));
        if (_options.StopAtEnd && IsAtEnd())
            return Step.End;
        EQueueException? fault;
        lock (_gate)
            fault = _answers.Count == 0 ? _fault : null;
        return fault is null ? Step.Wait : throw fault;
    }

    /// <summary>Every queue is read to its end, and no other is on its way.</summary>
    private bool IsAtEnd()
    {
        // Asked first: a queue that comes in between is in the list that is looked at then.
        bool isSettled = IsSettled is { } ask ? ask() : Cursors.Count > 0;
        return isSettled && Cursors.All(static cursor => cursor.HasStopped || cursor.IsRemoved);
    }

    private void StopQueue(QueueCursor cursor)
    {
        LeaveQueue(isDone: false);
        cursor.Session.SetPaused(cursor, isPaused: true);
    }
}
