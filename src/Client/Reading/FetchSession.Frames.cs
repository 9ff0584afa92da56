using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <content>What the requests say and what the answers hold.</content>
internal sealed partial class FetchSession
{
    /// <summary>Under the gate.</summary>
    private FetchRequest BuildRequest()
    {
        List<FetchQueue>? queues = null;
        bool isNew = _sessionId == 0;
        foreach (QueueCursor cursor in isNew ? _queues.Values : (IReadOnlyCollection<QueueCursor>)_changed)
        {
            if (cursor.IsPaused || cursor.IsRemoved || cursor.Fork is not null)
                continue;
            cursor.IsInSession = true;
            (queues ??= []).Add(new FetchQueue(
                cursor.Key,
                cursor.FetchNext,
                cursor.LastEpoch,
                _options.FetchBytesPerQueue,
                _stream.Filter.Mask,
                new QueueOffset(cursor.Processed)));
        }

        QueueKey[] removed = isNew || _removed.Count == 0 ? [] : [.. _removed];
        _changed.Clear();
        _removed.Clear();
        return new FetchRequest
        {
            SessionId = _sessionId,
            Sequence = isNew ? _sequence = 0 : _sequence,
            MinBytes = _options.MinFetchBytes,
            MaxBytes = _options.FetchBytes,

            // The first answer comes at once: without the session's id nothing can end a parked fetch for a new queue.
            MaxWaitMs = isNew ? 0 : (int)_maxWait.TotalMilliseconds,
            Queues = (IReadOnlyList<FetchQueue>?)queues ?? [],
            Removed = removed,
        };
    }

    /// <summary>Reads an answer's headers and moves the cursors on. Under the gate.</summary>
    /// <returns>Null when there is nothing for the reader.</returns>
    private FetchedAnswer? TakeApart(in ResponseFrame response, ref EQueueException? failure)
    {
        ReadOnlyMemory<byte> payload = response.Payload;
        if (!FetchResponseHeader.TryRead(payload.Span, out FetchResponseHeader header))
        {
            failure = Faults.Malformed(Opcode.Fetch, Link.Address.ToString());
            return null;
        }

        _sessionId = header.SessionId;
        _sequence++;
        FetchedAnswer answer = _free.TryPop(out FetchedAnswer? used) ? used : new FetchedAnswer(this);
        ReadOnlyMemory<byte> rest = payload[FetchResponseHeader.Size..];
        for (int i = 0; i < header.QueueCount; i++)
        {
            if (!FetchedQueueHeader.TryRead(rest.Span, out FetchedQueueHeader queue))
            {
                failure = Faults.Malformed(Opcode.Fetch, Link.Address.ToString());
                break;
            }

            ReadOnlyMemory<byte> entries = rest.Slice(FetchedQueueHeader.Size, queue.EntriesSize);
            rest = rest[(FetchedQueueHeader.Size + queue.EntriesSize)..];
            TakeQueue(answer, queue, entries);
        }

        if (answer.Queues.Count == 0)
        {
            _free.Push(answer);
            return null;
        }

        answer.Fill(response);
        _bufferedBytes += answer.Size;
        return answer;
    }

    /// <summary>Under the gate.</summary>
    private void TakeQueue(FetchedAnswer answer, in FetchedQueueHeader queue, ReadOnlyMemory<byte> entries)
    {
        if (!_queues.TryGetValue(new QueueKey(queue.Log, queue.Queue), out QueueCursor? cursor)
            || cursor.IsRemoved || cursor.IsPaused || _changed.Contains(cursor))
        {
            return;
        }

        if (queue.VisibleEnd.Value >= 0 && queue.Error == ErrorCode.None)
            cursor.VisibleEnd = queue.VisibleEnd.Value;
        long from = cursor.FetchNext.Value;
        if (queue.Error == ErrorCode.None)
            cursor.FetchNext = queue.Next;
        else
            cursor.IsInSession = false;
        answer.Queues.Add(new FetchedQueue(cursor, cursor.Version, queue.Error, from, queue.Next.Value, entries));
    }

    /// <summary>Under the gate.</summary>
    private void Leave(QueueCursor cursor)
    {
        // The queue may be read anew already, by another cursor.
        if (_queues.GetValueOrDefault(cursor.Key) != cursor)
            return;
        _queues.Remove(cursor.Key);
        _changed.Remove(cursor);
        if (cursor.IsInSession)
            _removed.Add(cursor.Key);
        cursor.IsInSession = false;
    }
}
