using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>Queues that cannot be read as they are: out of range, damaged, gone.</summary>
/// <remarks>Used on the reader's thread alone, when the reader has left the queue.</remarks>
internal sealed class QueueTroubles(MessageStream stream, ReaderOptions options, ILogger logger)
{
    /// <summary>Fetches in a row that may bring damaged bytes before the stored ones are held to be damaged.</summary>
    private const int MaxCorruptFetches = 3;

    /// <summary>Where messages go on behind an entry that does not say how many it has.</summary>
    /// <param name="queue">The queue's share of an answer.</param>
    /// <param name="rest">The entries behind it.</param>
    public static long EndOfUnknown(in FetchedQueue queue, ReadOnlySpan<byte> rest)
    {
        long end = EntryView.TryRead(rest, out EntryView entry) && entry.Kind == EntryView.MessagesKind
            && RecordBatch.TryReadHeader(rest[entry.HeaderSize..entry.Size], out RecordBatchHeader header, out _)
            ? header.BaseOffset.Value
            : queue.Next;
        return Math.Max(end, queue.Cursor.Delivered + 1);
    }

    /// <summary>Deals with the error of a queue.</summary>
    /// <exception cref="OperationCanceledException">The token ended the wait for the broker.</exception>
    /// <exception cref="EQueueException">The options say so, or nothing else can be done.</exception>
    public async ValueTask SolveAsync(FetchedQueue queue, CancellationToken cancellationToken)
    {
        QueueCursor cursor = queue.Cursor;
        switch (queue.Error)
        {
            case ErrorCode.OffsetOutOfRange when options.WhenOutOfRange != OutOfRangePolicy.Throw:
                var question = new OffsetQuestion(
                    cursor.Key,
                    options.WhenOutOfRange == OutOfRangePolicy.Begin ? OffsetQuestion.Begin : OffsetQuestion.End);
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
            case ErrorCode.QueueNotReadable when options.StopAtEnd && stream.Owner is null:
                // It has an end that cannot be reached; a group's member is about to lose it.
                throw new EQueueException(
                    queue.Error, $"{ErrorCodes.Describe(queue.Error)}: {cursor.Topic}/{cursor.Number}.");
            case ErrorCode.QueueNotReadable or ErrorCode.DivergingEpoch:
                if (queue.Error == ErrorCode.QueueNotReadable)
                    Log.QueueNotReadable(logger, cursor.Topic, cursor.Number);
                cursor.LastEpoch = -1;
                cursor.Session.ReviveLater();
                break;
            default:
                OnGone(cursor, queue.Error);
                break;
        }
    }

    /// <summary>
    /// Bytes are not what they claim: they are fetched again, and held to be damaged on disk when that does not help.
    /// </summary>
    public void OnCorrupt(QueueCursor cursor, long offset, long next)
    {
        if (++cursor.CorruptCount < MaxCorruptFetches)
        {
            Log.CorruptFetch(logger, cursor.Topic, cursor.Number, offset);
            stream.Seek(cursor, new QueueOffset(cursor.Delivered));
            return;
        }

        // What was fetched of the queue is dropped: unless it continues behind the damage, it is to be met again.
        cursor.CorruptCount = 0;
        if (options.WhenDamaged == DamagedDataPolicy.Throw)
            stream.Seek(cursor, new QueueOffset(cursor.Delivered));
        OnDamaged(cursor, offset, next, "its checksum does not match", ErrorCode.CorruptBatch);
    }

    /// <summary>Messages came as they are stored and cannot be read; the rest of the answer can.</summary>
    /// <param name="cursor">The queue.</param>
    /// <param name="offset">The first of them.</param>
    /// <param name="next">Behind the last.</param>
    /// <param name="reason">What is wrong.</param>
    /// <param name="wasHandedOut">Whether the batch counts as read: the next loop is to meet the rest of it
    /// again.</param>
    public void OnBroken(QueueCursor cursor, long offset, long next, ErrorCode reason, bool wasHandedOut)
    {
        if (wasHandedOut && options.WhenDamaged == DamagedDataPolicy.Throw)
            stream.Seek(cursor, new QueueOffset(offset));
        Report(cursor, offset, next, ErrorCodes.Describe(reason), reason);
    }

    private async ValueTask ResetAsync(
        QueueCursor cursor, long from, OffsetQuestion question, CancellationToken cancellationToken)
    {
        try
        {
            (QueueOffset next, LogHistory? history) = await cursor.Session.Places
                .FindOffsetAsync(question, cancellationToken).ConfigureAwait(false);
            Log.OffsetReset(logger, cursor.Topic, cursor.Number, from, next.Value);
            stream.Seek(cursor, next, isFound: true, history);
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
        if (from > fork.End.Value && options.WhenDiverged == DivergedHistoryPolicy.Throw)
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
            Log.HistoryDiverged(logger, cursor.Topic, cursor.Number, from, next);
        stream.Seek(cursor, new QueueOffset(next), isFound: true, fork.History);
    }

    private void OnGone(QueueCursor cursor, ErrorCode error)
    {
        Log.QueueDropped(logger, cursor.Topic, cursor.Number, error);
        if (stream.Owner is not { } owner)
            throw new EQueueException(error, $"{ErrorCodes.Describe(error)}: {cursor.Topic}/{cursor.Number}.");
        owner.OnQueueGone(cursor);
    }

    /// <summary>Continues behind messages that another fetch would not bring either.</summary>
    private void OnDamaged(QueueCursor cursor, long offset, long next, string cause, ErrorCode reason)
    {
        Report(cursor, offset, next, cause, reason);
        stream.Seek(cursor, new QueueOffset(next));
    }

    /// <exception cref="DamagedDataException">The options say so.</exception>
    private void Report(QueueCursor cursor, long offset, long next, string cause, ErrorCode reason)
    {
        if (options.WhenDamaged == DamagedDataPolicy.Throw)
        {
            throw new DamagedDataException(
                cursor.Topic, cursor.Number, new QueueOffset(offset), new QueueOffset(next), cause, reason);
        }

        Log.DamageSkipped(logger, offset, next, cursor.Topic, cursor.Number, cause);
    }
}
