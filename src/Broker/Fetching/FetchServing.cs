using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Serves the requests of sessions: answers, parks or puts off, and takes up again what waits.</summary>
/// <remarks>
/// A request that finds something is answered on the receive loop. One that finds nothing is parked without a thread:
/// the store's signal or the wheel takes it up again, on a thread of the pool or, where little is wanted, on the one
/// that took the message, behind its own work.
/// </remarks>
internal sealed class FetchServing : IDisposable
{
    /// <summary>Turns of one session without a rest.</summary>
    private const int TurnsInARow = 16;

    private readonly QueueStore _store;
    private readonly BrokerCounters _counters;
    private readonly FailureAnswers _failures;
    private readonly LimitOptions _limits;
    private readonly FetchSessions _sessions;
    private readonly FetchQuotas _quotas;
    private readonly PassedQueues _passed;
    private readonly FetchReader _reader;
    private readonly FetchWaits _waits;
    private readonly DeadlineWheel<FetchSession> _wheel;
    private readonly DeadlineWheel<FetchSession> _holds;
    private volatile bool _isStopping;

    public FetchServing(
        ModuleContext context, TopicCatalogue catalogue, QuotaTable quotas, FetchSessions sessions)
    {
        _store = context.Store;
        _counters = context.Counters;
        _failures = context.Failures;
        _limits = context.Limits;
        _sessions = sessions;
        _quotas = new FetchQuotas(quotas, catalogue, context.Time);
        _passed = new PassedQueues(context.Store, catalogue);
        _reader = new FetchReader(context, catalogue, sessions, _quotas, _passed);
        _waits = new FetchWaits(context.Limits, context.Time);
        _wheel = new DeadlineWheel<FetchSession>(context.Time, OnDue);
        _holds = new DeadlineWheel<FetchSession>(context.Time, EndHold);
    }

    /// <summary>Serves a session that the caller has taken; what needs the disk continues without the caller.</summary>
    public void Start(FetchSession session, bool maySendHere)
    {
        Task serving = ServeAsync(session, maySendHere);
        System.Diagnostics.Debug.Assert(!serving.IsFaulted, "Serving a fetch handles its own errors.");
    }

    /// <summary>Takes up a parked request; does nothing when another thread has.</summary>
    /// <param name="session">Whose.</param>
    /// <param name="maySendHere">Whether this thread is there for it and may send the answer itself.</param>
    public void ServeParked(FetchSession session, bool maySendHere)
    {
        if (!session.TryMove(FetchPhase.Parked, FetchPhase.Serving))
            return;
        Unpark(session);
        Start(session, maySendHere);
    }

    /// <summary>Answers the parked request of a session that may read some of its queues no more.</summary>
    public void ServeRefused(FetchSession session)
    {
        if (!session.TryMove(FetchPhase.Parked, FetchPhase.Serving))
            return;
        Unpark(session);
        foreach (SessionQueue queue in session.Queues.Values)
        {
            if (queue.Topic is { } topic && !session.Access.MayRead(topic))
                session.MakeReady(queue);
        }

        Start(session, maySendHere: false);
    }

    /// <summary>
    /// Ends a session that the peer cannot use any more; a request under way gets its error. On the receive loop.
    /// </summary>
    public void End(FetchSession session)
    {
        session.OfPeer.ById.Remove(session.Id);
        FrameHeader header = session.Header;
        if (EndQuietly(session) is FetchPhase.Parked)
            session.Peer.Refuse(header, ErrorCode.UnknownFetchSession, $"Fetch session {session.Id} was ended.");
    }

    /// <summary>Ends a session without an answer to its request.</summary>
    /// <returns>The phase it was in.</returns>
    public FetchPhase EndQuietly(FetchSession session)
    {
        FetchPhase before = session.End();
        if (before == FetchPhase.Parked)
            Unpark(session);
        if (before is FetchPhase.Parked or FetchPhase.Idle)
            _sessions.CleanUp(session);
        return before;
    }

    /// <summary>Answers what is parked and parks no more, so that connections can drain.</summary>
    public void StopWaiting()
    {
        _isStopping = true;
        foreach (FetchSession session in _sessions.All)
        {
            ServeParked(session, maySendHere: false);
            EndHold(session);
        }
    }

    public void Dispose()
    {
        _wheel.Dispose();
        _holds.Dispose();
    }

    private async Task ServeAsync(FetchSession session, bool maySendHere)
    {
        try
        {
            for (int turns = 1; !await TryServeAsync(session, maySendHere); turns++)
            {
                maySendHere = false;

                // There is more to pass over, or one answer follows the other: all who wait for a thread come first.
                if (session.IsPassing || turns % TurnsInARow == 0)
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
        FetchAnswer answer = _reader.Begin(session, budget, isLast: _isStopping);
        try
        {
            ValueTask gathering = _reader.GatherAsync(session, answer);
            maySendHere &= gathering.IsCompleted;
            await gathering;
            if (answer.LacksMemory && answer.QueueCount == 0 && !_isStopping)
            {
                PutOff(session, AnswerMemory.Wait);
                return true;
            }

            return session.IsDue || _isStopping || IsEnough(session, answer) || IsToBeTold(session)
                ? !Send(session, answer, maySendHere)
                : Park(session);
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

    /// <summary>
    /// Whether senders wait for the reader to commit what was passed over, or the request has passed over enough, or
    /// waited enough while it did, or has no owner any more.
    /// </summary>
    private bool IsToBeTold(FetchSession session) =>
        session.IsMoveAwaited
        || session.PassedCount >= PassedQueues.MaxUntoldMessages
        || (session.IsPassing && (session.Phase == FetchPhase.Ended || _waits.Left(session) <= TimeSpan.Zero));

    /// <returns>Whether another answer to the same request follows.</returns>
    private bool Send(FetchSession session, FetchAnswer answer, bool maySendHere)
    {
        session.Advance();
        _passed.Tell(session, answer);
        FrameBuffer frame = answer.Frame!;
        new FetchResponseHeader(session.Id, session.Request.Sequence, 0, answer.QueueCount)
            .Write(frame.Slice(0, FetchResponseHeader.Size));
        session.LastAnswerBytes = frame.WrittenCount;
        Interlocked.Add(ref _counters.FetchedBytes, answer.EntryBytes);
        BrokerConnection peer = session.Peer;
        FrameHeader header = session.Header;

        // The next request may come as soon as the answer leaves: the session must rest before.
        (Topic Topic, int Bytes)[] given = _quotas.GivenBy(session);
        bool goesOn = !_isStopping && !_quotas.AreUsed && session.MayGoOnAfter(answer)
            && _waits.Left(session) > TimeSpan.Zero;
        if (goesOn)
        {
            session.GoOnAfter(answer);
        }
        else if (!session.TryMove(FetchPhase.Serving, FetchPhase.Idle))
        {
            Abandon(session);
            return false;
        }

        answer.Frame = null;
        _quotas.Charge(peer, given, answer.EntryBytes);
        FrameFlags flags = (answer.IsBounded ? FrameFlags.Marked : FrameFlags.None)
            | (goesOn ? FrameFlags.More : FrameFlags.None);
        peer.Answer(header, frame, maySendHere, flags);
        return goesOn;
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
                RetryAfter = FetchSessions.RetryAfter,
            });
            return true;
        }

        _wheel.Add(session, session.CutByRest(_waits.Take(session)));
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
        _sessions.CleanUp(session);
        session.Peer.Refuse(header, ErrorCode.UnknownFetchSession, $"Fetch session {session.Id} was ended.");
    }

    /// <summary>Answers a request that cannot be served; its session is over.</summary>
    private void Fail(FetchSession session, Exception exception)
    {
        BrokerConnection peer = session.Peer;
        FrameHeader header = session.Header;
        session.End();
        _sessions.CleanUp(session);
        if (!peer.IsClosed)
            _failures.Answer(peer, header, exception);
    }

    /// <summary>Puts a request off whose client is in debt.</summary>
    /// <returns>True when the session is the hold's now.</returns>
    private bool TryHold(FetchSession session)
    {
        if (_isStopping || !_quotas.IsInDebt(session, out TimeSpan debt))
            return false;
        PutOff(session, debt);
        return true;
    }

    /// <summary>Puts a request off for which there is no memory.</summary>
    /// <returns>True when the session is the hold's now.</returns>
    private bool TryWaitForMemory(FetchSession session, SendBudget budget)
    {
        if (_isStopping || !AnswerMemory.IsLacking(session.Peer, budget))
            return false;
        PutOff(session, AnswerMemory.Wait);
        return true;
    }

    private void PutOff(FetchSession session, TimeSpan wait)
    {
        session.BeginHold();
        _holds.Add(session, wait);
        if (_isStopping)
            EndHold(session);
    }

    private void EndHold(FetchSession session)
    {
        if (!session.TryEndHold())
            return;
        _holds.Remove(session);
        Start(session, maySendHere: false);
    }

    private void OnDue(FetchSession session)
    {
        // When only queues that rested are due, the request waits on.
        if (session.HasResting && _waits.Left(session) > TimeSpan.Zero)
            session.IsRestDue = true;
        else
            session.IsDue = true;
        ServeParked(session, maySendHere: false);
    }

    private void Unpark(FetchSession session)
    {
        _wheel.Remove(session);
        Interlocked.Decrement(ref _counters.ParkedFetches);
    }
}
