using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <content>Answers a request: gathers entries from the session's ready queues, then sends them or parks.</content>
internal sealed partial class FetchHandler
{
    private const int DiskReadsPerAnswer = 4;

    /// <summary>Cold bytes come in small answers beside producers: a large one would hold cores and socket long enough
    /// to be felt by them. An answer holds what the budget gives in so many parts of a second, within bounds.</summary>
    private const int ColdAnswersPerSecond = 512;

    private const int LeastColdBytes = 128 << 10;
    private const int MostColdBytes = 1 << 20;

    /// <summary>Queues passed over in search of one that memory serves.</summary>
    private const int MaxSkipped = 64;

    private const int SmallestBuffer = 4 << 10;
    private const int FrameMargin = 4 << 10;

    /// <summary>Serves a session that the caller has taken; what needs the disk continues without the caller.</summary>
    private void Start(FetchSession session, bool maySendHere)
    {
        Task serving = ServeAsync(session, maySendHere);
        System.Diagnostics.Debug.Assert(!serving.IsFaulted, "Serving a fetch handles its own errors.");
    }

    private async Task ServeAsync(FetchSession session, bool maySendHere)
    {
        try
        {
            while (!await TryServeAsync(session, maySendHere))
            {
                maySendHere = false;

                // There is more to pass over: everybody else who waits for a thread comes first.
                if (session.IsPassing)
                    await Task.Yield();
            }
        }
        catch (Exception exception)
        {
            Fail(session, exception);
        }
    }

    /// <summary>Answers or parks.</summary>
    /// <returns>False when something came while it parked: serve again.</returns>
    private async ValueTask<bool> TryServeAsync(FetchSession session, bool maySendHere)
    {
        // It has no waiter any more; what would put it off can no more end its turn.
        if (session.Phase == FetchPhase.Ended)
        {
            Abandon(session);
            return true;
        }

        SendBudget budget = session.Peer.Transport.SendBudget;
        if (TryHold(session) || TryWaitForMemory(session, budget))
            return true;
        session.TakeNotes();
        session.WakeResting();
        FetchRequest request = session.Request;
        int size = Math.Clamp(
            session.LastAnswerBytes + (session.LastAnswerBytes >> 2), SmallestBuffer, _limits.MaxFetchBytes);
        FetchAnswer answer = session.TakeAnswer();
        int limit = Grant(budget, Math.Min(request.MaxBytes, _limits.MaxFetchBytes));
        answer.Begin(RentFrame(budget, Math.Min(size, limit + FrameMargin)), limit);
        answer.IsTight = budget.IsSpent;
        try
        {
            if (_quotas.OfClient(session.Peer) is { } accounts)
                answer.Limit = ShareOf(accounts, answer.Limit);
            ValueTask gathering = GatherAsync(session, answer);
            maySendHere &= gathering.IsCompleted;
            await gathering;
            if (answer.LacksMemory && answer.QueueCount == 0 && !_isStopping)
            {
                PutOff(session, MemoryWait);
                return true;
            }

            if (session.IsDue || _isStopping || IsEnough(session, answer) || IsToBeTold(session))
            {
                Send(session, answer, maySendHere);
                return true;
            }

            return Park(session);
        }
        finally
        {
            answer.End();
            session.GiveAnswer(answer);
        }
    }

    private static bool IsEnough(FetchSession session, FetchAnswer answer)
    {
        // Of cold bytes there is more for the asking: no use in waiting for a fuller answer.
        if (answer.HasErrors || answer.ColdBytes > 0 || answer.IsCut)
            return true;
        if (answer.EntryBytes >= Math.Min(Math.Max(1, session.Request.MinBytes), answer.Limit))
            return true;

        // Fewer bytes than wanted, and the answer's own bounds kept queues out of it: waiting would not bring more.
        return answer.EntryBytes > 0 && session.ReadyCount > session.Served.Count;
    }

    private async ValueTask GatherAsync(FetchSession session, FetchAnswer answer)
    {
        session.Served.Clear();
        answer.Frame!.Reserve(FetchResponseHeader.Size);
        int turns = session.ReadyCount;
        int skipped = 0;
        int longest = session.Peer.MaxFrameBytes - FrameHeader.Size;
        int mostCold = (int)Math.Clamp(_store.ColdReadBudget / ColdAnswersPerSecond, LeastColdBytes, MostColdBytes);
        SendBudget budget = session.Peer.Transport.SendBudget;
        while (turns-- > 0
            && answer.EntryBytes < answer.Limit
            && answer.Frame.WrittenCount + FrameMargin < longest
            && session.TakeReady(HasColdRoom(answer, mostCold)) is { } queue)
        {
            if (queue.IsGone)
                continue;
            if (Refusal(session, queue) is var refusal and not ErrorCode.None)
            {
                AddError(session, queue, answer, refusal);
                continue;
            }

            int wanted = queue.MaxBytes;
            if (TryRest(session, queue, ref wanted))
                continue;
            int start = answer.Frame.WrittenCount;
            answer.Frame.Reserve(FetchedQueueHeader.Size);
            int room = Math.Min(answer.Limit - answer.EntryBytes, longest - answer.Frame.WrittenCount);
            int maxBytes = Math.Max(1, Math.Min(wanted, room));
            ReadResult read;
            try
            {
                read = Read(session, queue, maxBytes, answer.Frame);
                if (read.NeedsDisk)
                {
                    long taken = ColdReadBytes(budget);
                    if (!HasColdRoom(answer, mostCold) || !TryTakeCold(answer, budget, taken))
                    {
                        answer.Frame.Truncate(start);
                        session.Cold.Enqueue(queue);
                        if (++skipped >= MaxSkipped)
                            break;
                        continue;
                    }

                    answer.DiskReads++;
                    int most = Math.Min(maxBytes, mostCold - answer.ColdBytes);
                    read = await ReadFromDiskAsync(session, queue, most, answer.Frame, budget, taken);
                    answer.ColdBytes += read.Size;
                }
            }
            catch (SendMemoryException)
            {
                answer.Frame.Truncate(start);
                answer.LacksMemory = true;
                session.HeldBack = queue;
                break;
            }

            if (!TryTake(session, queue, answer, read, start, longest) || answer.LongPasses == MaxLongPasses)
                break;
        }

        session.IsPassing = answer.LongPasses > 0;
        foreach (SessionQueue served in session.Served)
            session.Ready.Enqueue(served);
    }

    /// <summary>Whether another queue may be read from disk: not for the little that is left of an answer.</summary>
    private static bool HasColdRoom(FetchAnswer answer, int mostCold) =>
        !answer.LacksMemory && answer.ColdBytes < mostCold / 2 && answer.DiskReads < DiskReadsPerAnswer;

    /// <summary>Takes memory for a read from disk; without it the answer reads from disk no more.</summary>
    private static bool TryTakeCold(FetchAnswer answer, SendBudget budget, long bytes)
    {
        answer.LacksMemory |= !budget.TryTake(bytes);
        return !answer.LacksMemory;
    }

    /// <summary>
    /// Reads from memory; a queue with nothing to give leaves the ready list and is watched from then on.
    /// </summary>
    private ReadResult Read(FetchSession session, SessionQueue queue, int maxBytes, FrameBuffer frame)
    {
        ReadResult read = ReadOnce(session, queue, maxBytes, frame);
        if (read.Error != ErrorCode.None || read.Size > 0 || read.NeedsDisk || queue.IsWatched
            || HasMore(queue, read))
        {
            return read;
        }

        queue.IsWatched = _store.Watch(queue.Key.Id, queue.Next, session);
        return queue.IsWatched ? read : ReadOnce(session, queue, maxBytes, frame);
    }

    /// <summary>Reads from disk, with memory that is taken for it and given back.</summary>
    private async ValueTask<ReadResult> ReadFromDiskAsync(
        FetchSession session, SessionQueue queue, int maxBytes, FrameBuffer frame, SendBudget budget, long taken)
    {
        try
        {
            ReadResult read = await _store.ReadFromDiskAsync(
                queue.Key.Id, queue.Next, maxBytes, queue.TagMask, frame, session.Peer.Closed);
            PassOver(session, queue, read);
            return read;
        }
        finally
        {
            budget.Give(taken);
        }
    }

    private ReadResult ReadOnce(FetchSession session, SessionQueue queue, int maxBytes, FrameBuffer frame)
    {
        ReadResult read = _store.Read(queue.Key.Id, queue.Next, maxBytes, queue.TagMask, frame);
        PassOver(session, queue, read);
        return read;
    }

    /// <summary>Takes what was read for a queue into the answer.</summary>
    /// <returns>False when the frame is full: the queue's turn comes first in the next answer.</returns>
    private bool TryTake(
        FetchSession session, SessionQueue queue, FetchAnswer answer, in ReadResult read, int start, int longest)
    {
        FrameBuffer frame = answer.Frame!;
        if (read.Error != ErrorCode.None)
        {
            frame.Truncate(start);
            AddError(session, queue, answer, read.Error, read);
            return true;
        }

        if (read.Size == 0)
        {
            frame.Truncate(start);
            queue.IsReady = false;
            bool hasMore = HasMore(queue, read);
            if (hasMore)
                answer.LongPasses++;
            if (hasMore || !queue.IsWatched)
                session.MakeReady(queue);
            return true;
        }

        bool isTooMuch = answer.IsTight && read.Size > SmallAnswerBytes && !_isStopping;
        if (isTooMuch || frame.WrittenCount > longest)
        {
            frame.Truncate(start);
            answer.LacksMemory |= isTooMuch;
            if (answer.QueueCount > 0 || isTooMuch)
            {
                session.HeldBack = queue;
                return false;
            }

            AddError(session, queue, answer, ErrorCode.MessageTooLarge, read);
            return true;
        }

        new FetchedQueueHeader(
            queue.Key.Id, queue.Key.Log, ErrorCode.None, read.Start, read.VisibleEnd, read.NextOffset, -1, read.Size)
            .Write(frame.Slice(start, FetchedQueueHeader.Size));
        queue.NextAfterAnswer = read.NextOffset;
        queue.GivenBytes = read.Size;
        session.Served.Add(queue);
        answer.IsCut |= read.NextOffset.Value < read.VisibleEnd.Value;
        answer.EntryBytes += read.Size;
        answer.QueueCount++;
        answer.IsBounded |= IsBounded(queue);
        return true;
    }

    private void AddError(
        FetchSession session, SessionQueue queue, FetchAnswer answer, ErrorCode error, in ReadResult read = default)
    {
        TellMoved(queue, answer);
        QueueOffset start = read.Start;
        QueueOffset end = read.VisibleEnd;
        if (_store.TryGetQueue(queue.Key.Id, out QueueView view) && error != ErrorCode.UnknownQueue)
            (start, end) = (view.Start, view.End);
        QueueOffset next = error == ErrorCode.DamagedData ? read.NextOffset : queue.Next;
        int epoch = error == ErrorCode.DivergingEpoch ? _store.Epoch : -1;
        new FetchedQueueHeader(queue.Key.Id, queue.Key.Log, error, start, end, next, epoch, 0)
            .Write(answer.Frame!.Reserve(FetchedQueueHeader.Size));
        answer.QueueCount++;
        answer.HasErrors = true;
        Leave(session, queue);
    }

    private void Send(FetchSession session, FetchAnswer answer, bool maySendHere)
    {
        session.Advance();
        TellMoved(session, answer);
        FrameBuffer frame = answer.Frame!;
        new FetchResponseHeader(session.Id, session.Request.Sequence, 0, answer.QueueCount)
            .Write(frame.Slice(0, FetchResponseHeader.Size));
        session.LastAnswerBytes = frame.WrittenCount;
        Interlocked.Add(ref _counters.FetchedBytes, answer.EntryBytes);
        BrokerConnection peer = session.Peer;
        FrameHeader header = session.Header;

        // The next request may come as soon as the answer leaves: the session must rest before.
        (Topic Topic, int Bytes)[] given = GivenBy(session);
        if (session.TryMove(FetchPhase.Serving, FetchPhase.Idle))
        {
            answer.Frame = null;
            Charge(peer, given, answer.EntryBytes);
            peer.Answer(header, frame, maySendHere, answer.IsBounded ? FrameFlags.Marked : FrameFlags.None);
        }
        else
        {
            Abandon(session);
        }
    }

    /// <summary>Lets the request wait.</summary>
    /// <returns>False when something came meanwhile and the session is the caller's again.</returns>
    private bool Park(FetchSession session)
    {
        foreach (SessionQueue queue in session.Served)
        {
            // Fewer bytes than wanted: the queue stays ready, and what comes after them takes the request up again.
            if (!queue.IsWatched)
                queue.IsWatched = _store.Watch(queue.Key.Id, queue.NextAfterAnswer, session);
            if (!queue.IsWatched)
                return false;
        }

        if (session.ReadyCount > session.Served.Count)
            return false;
        if (Interlocked.Increment(ref _counters.ParkedFetches) > _limits.MaxParkedFetches)
        {
            Interlocked.Decrement(ref _counters.ParkedFetches);
            Fail(session, new EQueueException(
                ErrorCode.LimitReached, $"{_limits.MaxParkedFetches} fetches wait (Limits:MaxParkedFetches).")
            {
                RetryAfter = RetryAfter,
            });
            return true;
        }

        _wheel.Add(session, session.CutByRest(TakeWait(session)));
        if (!session.TryMove(FetchPhase.Serving, FetchPhase.Parked))
        {
            Unpark(session);
            Abandon(session);
            return true;
        }

        if (!session.HasNotes && !session.IsDue && !session.IsRestDue && !_isStopping)
            return true;
        if (!session.TryMove(FetchPhase.Parked, FetchPhase.Serving))
            return true;
        Unpark(session);
        return false;
    }

    /// <summary>Answers a request whose session was ended while it was the caller's.</summary>
    private void Abandon(FetchSession session)
    {
        FrameHeader header = session.Header;
        CleanUp(session);
        session.Peer.Refuse(header, ErrorCode.UnknownFetchSession, $"Fetch session {session.Id} was ended.");
    }

    /// <summary>Answers a request that cannot be served; its session is over.</summary>
    private void Fail(FetchSession session, Exception exception)
    {
        BrokerConnection peer = session.Peer;
        FrameHeader header = session.Header;
        session.End();
        CleanUp(session);
        if (!peer.IsClosed)
            _failures.Answer(peer, header, exception);
    }
}
