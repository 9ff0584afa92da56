using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>Answer, queue, entry, batch, record: fetched answers become messages, one step at a time.</summary>
/// <remarks>Owns the place of the one loop, which runs on whatever thread. The current message lives in
/// <see cref="MessageCursor"/>: a step allocates nothing. Other threads may ask only <see cref="InHand"/>.</remarks>
internal sealed class MessageReader
{
    private readonly MessageStream _stream;
    private readonly ReaderOptions _options;
    private readonly int _maxBatchBytes;
    private readonly MessageCursor _cursor;
    private readonly QueueTroubles _troubles;
    private readonly HandingTrace _handing;
    private FetchedAnswer? _answer;
    private int _queueIndex;
    private FetchedQueue _queue;
    private ReadOnlyMemory<byte> _entries;
    private bool _isInQueue;
    private bool _isInBatch;
    private bool _wasInBatches;
    private int _isRead;

    /// <summary>What ended a pull that had messages to give first; thrown when reading begins again.</summary>
    private Exception? _owed;

    public MessageReader(MessageStream stream, ReaderOptions options, int maxBatchBytes, ILogger logger)
    {
        _stream = stream;
        _options = options;
        _maxBatchBytes = maxBatchBytes;
        _troubles = new QueueTroubles(stream, options, logger);
        _cursor = new MessageCursor(stream.Filter, OnBroken);
        _handing = new HandingTrace(logger, stream.Group, _cursor);
    }

    /// <summary>Any thread may ask it.</summary>
    public QueueInHand InHand { get; } = new();

    public WithheldAnswers Withheld { get; } = new();

    public ReceivedMessage CurrentMessage => new(_cursor, _cursor.Generation);

    public ReceivedBatch CurrentBatch => new(_cursor, _cursor.Generation);

    /// <summary>Goes to the next message. What the last step gave is over.</summary>
    public ReadStep NextMessage()
    {
        _cursor.Advance();
        if (_isInBatch && (!_stream.IsInterrupted || StaysInBatch()))
        {
            _cursor.Queue.Processed = _cursor.Queue.Delivered;
            if (TryNextRecord())
                return ReadStep.Found;
        }

        while (true)
        {
            ReadStep step = NextBatchCore();
            if (step != ReadStep.Found)
                return step;
            if (!TryNextRecord())
                continue;
            _handing.Begin();
            return step;
        }
    }

    /// <summary>Goes to the next batch with something wanted. What the last step gave is over.</summary>
    public ReadStep NextBatch()
    {
        _cursor.Advance();
        ReadStep step = NextBatchCore();
        if (step == ReadStep.Found)
        {
            _cursor.Queue.Delivered = _cursor.BatchEnd.Value;
            _handing.Begin();
        }

        return step;
    }

    /// <summary>Begins an enumeration; at most one at a time.</summary>
    /// <param name="inBatches">By batches rather than messages.</param>
    /// <exception cref="EQueueException">What ended the last pull, which had messages to give first.</exception>
    public void Begin(bool inBatches)
    {
        if (Interlocked.Exchange(ref _isRead, 1) != 0)
            throw new InvalidOperationException("The reader is being read already: one enumeration at a time.");
        if (_owed is { } owed)
        {
            _owed = null;
            Volatile.Write(ref _isRead, 0);
            throw owed;
        }

        if (_isInBatch && inBatches != _wasInBatches)
            Reopen();
        else if (_isInBatch && !InHand.TryTake(_cursor.Queue))
            DropBatch();
        _wasInBatches = inBatches;
        _stream.Revive();
        if (_isInBatch)
            _handing.Begin();
    }

    /// <summary>Ends an enumeration: what it handed out is over.</summary>
    public void End()
    {
        _cursor.Advance();
        if (_isInBatch)
            _handing.End();
        InHand.Leave();
        Volatile.Write(ref _isRead, 0);
    }

    /// <summary>The application has made its step and takes no other: what it has in hand is processed.</summary>
    public void Pass()
    {
        if (_isInBatch && (!_stream.IsInterrupted || StaysInBatch()))
            _cursor.Queue.Processed = _cursor.Queue.Delivered;
    }

    /// <summary>Messages are given first; what is wrong is thrown when reading begins again.</summary>
    public void Owe(Exception exception) =>

        // What is wrong at a place is met there again; a fault is forgotten when reading begins.
        _owed = exception is EQueueException && !_stream.IsFault(exception) ? null : exception;

    /// <summary>What was handed out counts as processed.</summary>
    public void MarkProcessed()
    {
        if (_isInBatch)
            _cursor.Queue.Processed = _cursor.Queue.Delivered;
    }

    /// <summary>Deals with the error that the last step met.</summary>
    /// <inheritdoc cref="QueueTroubles.SolveAsync"/>
    public ValueTask TroubleAsync(CancellationToken cancellationToken)
    {
        FetchedQueue queue = _queue;
        LeaveQueue(isDone: false);
        return _troubles.SolveAsync(queue, cancellationToken);
    }

    private bool TryNextRecord()
    {
        if (!_cursor.MoveNext())
            return false;
        _cursor.Queue.Delivered = _cursor.Offset.Value + 1;
        return true;
    }

    /// <summary>Opens the next batch that may hold something wanted.</summary>
    private ReadStep NextBatchCore()
    {
        if (_isInBatch)
            LeaveBatch();
        while (true)
        {
            bool isIn = _isInQueue || TryEnterQueue();
            _stream.ApplySeeks();
            if (!isIn)
                return AtRest();
            QueueCursor cursor = _queue.Cursor;
            if (!InHand.TryTake(cursor) || _queue.Version != cursor.Version)
                LeaveQueue(isDone: false);
            else if (_answer!.Session.IsInDoubt)
                Withhold();
            else if (cursor.HasStopped)
                StopQueue(cursor);
            else if (_queue.Error != ErrorCode.None)
                return ReadStep.Trouble;
            else if (_entries.IsEmpty)
                LeaveQueue(isDone: true);
            else if (TryOpenEntry())
                return ReadStep.Found;
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
                _stream.Owner?.OnCommitDue();
            done.Session.Release(done);
        }
    }

    private bool TryNextAnswer()
    {
        while (true)
        {
            if (TryRestore())
                return true;
            if (!_stream.TryTakeAnswer(out _answer))
                return false;
            _queueIndex = 0;
            if (!Withheld.TryQueueUp(_answer!))
                return true;
            _answer = null;
        }
    }

    /// <summary>Takes one entry off the queue's share and opens it if it has anything to say.</summary>
    /// <exception cref="DamagedDataException">It cannot be decoded. It stays: the next loop meets it again.</exception>
    private bool TryOpenEntry()
    {
        QueueCursor cursor = _queue.Cursor;
        if (!EntryView.TryRead(_entries.Span, out EntryView entry))
        {
            OnCorrupt(cursor, cursor.Delivered, QueueTroubles.EndOfUnknown(_queue, default));
            return false;
        }

        ReadOnlyMemory<byte> batch = _entries[entry.HeaderSize..entry.Size];
        ReadOnlyMemory<byte> rest = _entries[entry.Size..];
        if (entry.Kind != EntryView.MessagesKind)
            return GoOn(rest);

        if (!RecordBatch.TryReadHeader(batch.Span, out RecordBatchHeader header, out _)
            || header.TotalSize != batch.Length)
        {
            OnCorrupt(cursor, cursor.Delivered, QueueTroubles.EndOfUnknown(_queue, rest.Span));
            return false;
        }

        (QueueOffset baseOffset, QueueOffset end) = (header.BaseOffset, header.NextOffset);
        if (end.Value <= cursor.Delivered)
            return GoOn(rest);

        if (!_stream.Filter.MayMatch(entry.TagBits))
        {
            Pass(cursor, end.Value);
            return GoOn(rest);
        }

        if (!RecordBatch.HasValidCrc(batch.Span))
        {
            OnCorrupt(cursor, Math.Max(cursor.Delivered, baseOffset.Value), end.Value);
            return false;
        }

        if (header.Codec != RecordCodec.None)
        {
            ErrorCode error = RecordBatch.Decompress(batch, _maxBatchBytes, out batch);
            if (error != ErrorCode.None)
            {
                OnBroken(cursor, Math.Max(cursor.Delivered, baseOffset.Value), end.Value, error);
                Pass(cursor, end.Value);
                return GoOn(rest);
            }
        }

        _entries = rest;
        cursor.CorruptCount = 0;
        cursor.LastEpoch = entry.Epoch;
        _cursor.Open(cursor, batch, entry, baseOffset, end);
        _handing.Open();
        _isInBatch = true;
        return true;
    }

    /// <summary>Nothing is opened; the entries behind are next.</summary>
    private bool GoOn(ReadOnlyMemory<byte> rest)
    {
        _entries = rest;
        return false;
    }

    private void LeaveBatch()
    {
        _handing.End();
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
        InHand.Leave();
    }

    /// <summary>Nothing is fetched that was not read.</summary>
    private ReadStep AtRest()
    {
        _stream.ThrowIfClosed();
        return _options.StopAtEnd && IsAtEnd() ? ReadStep.End
            : _stream.Fault is { } fault ? throw fault : ReadStep.Wait;
    }

    /// <summary>Every queue is read to its end, and no other is on its way.</summary>
    private bool IsAtEnd()
    {
        // Asked first: a queue that comes in between is in the list that is looked at then.
        bool isSettled = _stream.Owner?.IsSettled ?? _stream.Cursors.Count > 0;
        return isSettled && _stream.Cursors.All(static cursor => cursor.HasStopped || cursor.IsRemoved);
    }

    private void StopQueue(QueueCursor cursor)
    {
        LeaveQueue(isDone: false);
        cursor.Session.SetPaused(cursor, isPaused: true);
    }

    /// <summary>The application has made its step; is there more of the batch to hand out?</summary>
    private bool StaysInBatch()
    {
        // Put back before looking: what comes later interrupts the next step.
        _stream.IsInterrupted = false;
        Interlocked.MemoryBarrier();
        QueueCursor cursor = _cursor.Queue;
        if (!cursor.IsRemoved)
            return _queue.Version == cursor.Version;
        cursor.Processed = cursor.Delivered;
        DropBatch();
        return false;
    }

    /// <summary>Leaves the open batch where it is: what was not handed out is not processed.</summary>
    private void DropBatch()
    {
        _handing.End();
        _isInBatch = false;
        _cursor.Close();
        LeaveQueue(isDone: false);
    }

    /// <summary>Fetches again what is left of a batch that was read in the other way.</summary>
    private void Reopen()
    {
        QueueCursor cursor = _cursor.Queue;
        DropBatch();
        if (!cursor.IsRemoved)
            _stream.Seek(cursor, new QueueOffset(cursor.Delivered));
    }

    /// <summary>Puts the answer aside, at its place, until the membership is sure again.</summary>
    private void Withhold()
    {
        Withheld.Add(new WithheldAnswer(_answer!, _queueIndex, _queue, _entries));
        _answer = null;
        LeaveQueue(isDone: false);
    }

    /// <summary>Continues where an answer was put aside: within a queue's share or before the first.</summary>
    private bool TryRestore()
    {
        if (!Withheld.TryTake(out WithheldAnswer held))
            return false;
        _answer = held.Answer;
        _queueIndex = held.QueueIndex;
        _queue = held.Queue ?? default;
        _entries = held.Entries;
        _isInQueue = held.Queue is not null;
        return true;
    }

    private void OnCorrupt(QueueCursor cursor, long offset, long next)
    {
        LeaveQueue(isDone: false);
        _troubles.OnCorrupt(cursor, offset, next);
    }

    private void OnBroken(QueueCursor cursor, long offset, long next, ErrorCode reason) =>
        _troubles.OnBroken(cursor, offset, next, reason, wasHandedOut: _isInBatch && _wasInBatches);
}
