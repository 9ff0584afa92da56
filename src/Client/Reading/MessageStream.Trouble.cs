using EQueue.Protocol;

namespace EQueue.Client;

/// <content>Queues that cannot be read as they are: out of range, damaged, gone.</content>
internal sealed partial class MessageStream
{
    /// <summary>Fetches in a row that may bring damaged bytes before the stored ones are held to be damaged.</summary>
    private const int MaxCorruptFetches = 3;

    /// <summary>A queue is gone; set by the owner: a group drops it, a reader of named queues fails.</summary>
    public Func<QueueCursor, ErrorCode, ValueTask>? Dropped { get; set; }

    /// <summary>Deals with the error that the last step met.</summary>
    /// <exception cref="OperationCanceledException">The token ended the wait for the broker.</exception>
    /// <exception cref="EQueueException">The options say so, or nothing else can be done.</exception>
    public async ValueTask TroubleAsync(CancellationToken cancellationToken)
    {
        FetchedQueue queue = _queue;
        LeaveQueue(isDone: false);
        QueueCursor cursor = queue.Cursor;
        switch (queue.Error)
        {
            case ErrorCode.OffsetOutOfRange when _options.WhenOutOfRange != OutOfRangePolicy.Throw:
                var question = new OffsetQuestion(
                    cursor.Key,
                    _options.WhenOutOfRange == OutOfRangePolicy.Begin ? OffsetQuestion.Begin : OffsetQuestion.End);
                await ResetAsync(cursor, queue.From, question, cancellationToken).ConfigureAwait(false);
                break;
            case ErrorCode.OffsetOutOfRange:
                throw new EQueueException(
                    queue.Error, $"{cursor.Topic}/{cursor.Number} has no offset {queue.From}.");
            case ErrorCode.DamagedData:
                OnDamaged(
                    cursor,
                    queue.From,
                    Math.Max(queue.Next, queue.From + 1),
                    "on the broker's disk",
                    ErrorCode.DamagedData);
                break;
            case ErrorCode.DivergingEpoch when cursor.Fork is { } fork:
                OnFork(cursor, fork);
                break;
            case ErrorCode.NotAuthorized:
                // The reader's own failure, not a queue that has gone: it is not passed over without a word.
                throw new EQueueException(
                    queue.Error, $"{ErrorCodes.Describe(queue.Error)}: read {cursor.Topic}/{cursor.Number}.");
            case ErrorCode.QueueNotReadable when _options.StopAtEnd && IsSettled is null:
                // It has an end that cannot be reached; a group's member is about to lose it.
                throw new EQueueException(
                    queue.Error, $"{ErrorCodes.Describe(queue.Error)}: {cursor.Topic}/{cursor.Number}.");
            case ErrorCode.QueueNotReadable or ErrorCode.DivergingEpoch:
                if (queue.Error == ErrorCode.QueueNotReadable)
                    Log.QueueNotReadable(_logger, cursor.Topic, cursor.Number);
                cursor.LastEpoch = -1;
                cursor.Session.ReviveLater();
                break;
            default:
                await OnDroppedAsync(cursor, queue.Error).ConfigureAwait(false);
                break;
        }
    }

    private async ValueTask ResetAsync(
        QueueCursor cursor, long from, OffsetQuestion question, CancellationToken cancellationToken)
    {
        try
        {
            (QueueOffset next, LogHistory? history) = await cursor.Session
                .FindOffsetAsync(question, cancellationToken).ConfigureAwait(false);
            Log.OffsetReset(_logger, cursor.Topic, cursor.Number, from, next.Value);
            Seek(cursor, next, isFound: true, history);
        }
        catch (EQueueException) when (cursor.IsRemoved)
        {
            // It was taken away meanwhile, perhaps with its session.
        }
        catch (EQueueException exception)
            when (exception.Code == ErrorCode.Cancelled && cancellationToken.IsCancellationRequested)
        {
            throw new OperationCanceledException(exception.Message, exception, cancellationToken);
        }
    }

    /// <summary>
    /// The log has another history than the one that was read: what was handed out behind the fork is not what the
    /// queue holds there, or will hold.
    /// </summary>
    private void OnFork(QueueCursor cursor, HistoryFork fork)
    {
        long from = cursor.Delivered;
        if (from > fork.End.Value && _options.WhenDiverged == DivergedHistoryPolicy.Throw)
        {
            cursor.Session.ForgetFork(cursor);
            throw new DivergedHistoryException(cursor.Topic, cursor.Number, new QueueOffset(from), fork.End);
        }

        // The places first, the history after them: a commit must not find the old places under the new history.
        long next = Math.Min(from, fork.End.Value);
        cursor.Delivered = cursor.Processed = next;
        cursor.Committed = Math.Min(cursor.Committed, next);
        cursor.LastEpoch = -1;
        cursor.HasForked |= from > next;
        if (from > next)
            Log.HistoryDiverged(_logger, cursor.Topic, cursor.Number, from, next);
        Seek(cursor, new QueueOffset(next), isFound: true, fork.History);
    }

    private ValueTask OnDroppedAsync(QueueCursor cursor, ErrorCode error)
    {
        Log.QueueDropped(_logger, cursor.Topic, cursor.Number, error);
        return Dropped is { } dropped
            ? dropped(cursor, error)
            : throw new EQueueException(error, $"{ErrorCodes.Describe(error)}: {cursor.Topic}/{cursor.Number}.");
    }

    /// <summary>
    /// Bytes are not what they claim: they are fetched again, and held to be damaged on disk when that does not help.
    /// </summary>
    private void OnCorrupt(QueueCursor cursor, long offset, long next)
    {
        LeaveQueue(isDone: false);
        if (++cursor.CorruptCount < MaxCorruptFetches)
        {
            Log.CorruptFetch(_logger, cursor.Topic, cursor.Number, offset);
            Seek(cursor, new QueueOffset(cursor.Delivered));
            return;
        }

        // What was fetched of the queue is dropped: unless it goes on behind the damage, it is to be met again.
        cursor.CorruptCount = 0;
        if (_options.WhenDamaged == DamagedDataPolicy.Throw)
            Seek(cursor, new QueueOffset(cursor.Delivered));
        OnDamaged(cursor, offset, next, "its checksum does not match", ErrorCode.CorruptBatch);
    }

    /// <summary>Continues behind messages that another fetch would not bring either.</summary>
    private void OnDamaged(QueueCursor cursor, long offset, long next, string cause, ErrorCode reason)
    {
        Report(cursor, offset, next, cause, reason);
        Seek(cursor, new QueueOffset(next));
    }

    /// <summary>Messages came as they are stored and cannot be read; the rest of the answer can.</summary>
    private void OnBroken(QueueCursor cursor, long offset, long next, ErrorCode reason)
    {
        // A batch that was handed out counts as read: the next loop is to meet the rest of it again.
        if (_isInBatch && _wasInBatches && _options.WhenDamaged == DamagedDataPolicy.Throw)
            Seek(cursor, new QueueOffset(offset));
        Report(cursor, offset, next, ErrorCodes.Describe(reason), reason);
    }

    /// <exception cref="DamagedDataException">The options say so.</exception>
    private void Report(QueueCursor cursor, long offset, long next, string cause, ErrorCode reason)
    {
        if (_options.WhenDamaged == DamagedDataPolicy.Throw)
        {
            throw new DamagedDataException(
                cursor.Topic, cursor.Number, new QueueOffset(offset), new QueueOffset(next), cause, reason);
        }

        Log.DamageSkipped(_logger, offset, next, cursor.Topic, cursor.Number, cause);
    }
}
