using System.Collections.Concurrent;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>Takes fetch requests and keeps their sessions; how a session is answered stands beside (Serve).</summary>
/// <remarks>
/// A request that finds something is answered on the receive loop. One that finds nothing is parked without a thread:
/// the store's signal or the wheel takes it up again, on a thread of the pool or, where little is wanted, on the one
/// that took the message, behind its own work.
/// </remarks>
internal sealed partial class FetchHandler : IBrokerModule, IRuleObserver, IDisposable
{
    /// <summary>A session may name so many more queues than there are: some may just have been deleted.</summary>
    private const int SpareQueues = 1_000;

    /// <summary>A longer list of changes is not kept with its request, once it is in the session.</summary>
    private const int KeptChanges = 64;

    private static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    private readonly QueueStore _store;
    private readonly HistoryMark _opening;
    private readonly TopicCatalogue _catalogue;
    private readonly BrokerCounters _counters;
    private readonly FailureAnswers _failures;
    private readonly QuotaTable _quotas;
    private readonly LimitOptions _limits;
    private readonly TimeProvider _time;
    private readonly ILogger _logger;
    private readonly DeadlineWheel<FetchSession> _wheel;
    private readonly DeadlineWheel<FetchSession> _holds;
    private readonly MemoryPool _memory;
    private readonly ConcurrentDictionary<FetchSession, bool> _sessions = new();
    private volatile bool _isStopping;

    public FetchHandler(ModuleContext context, TopicCatalogue catalogue, QuotaTable quotas)
    {
        _store = context.Store;
        _opening = context.Store.History.Opening;
        _catalogue = catalogue;
        _memory = context.Ledger.Sessions;
        _counters = context.Counters;
        _failures = context.Failures;
        _quotas = quotas;
        _limits = context.Limits;
        _time = context.Time;
        _logger = context.Logger;
        _wheel = new DeadlineWheel<FetchSession>(context.Time, OnDue);
        _holds = new DeadlineWheel<FetchSession>(context.Time, EndHold);
    }

    public ValueTask HandleAsync(BrokerConnection peer, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        Interlocked.Increment(ref _counters.FetchRequests);
        ErrorCode history = HistoryMarks.Take(_opening, header.Version, ref payload);
        if (history == ErrorCode.DivergingEpoch)
        {
            peer.Refuse(header, history, HistoryMarks.OtherOpening(_opening));
            return ValueTask.CompletedTask;
        }

        if (history != ErrorCode.None || header.IsOneway || !Payload.TryRead(payload.Span, out FetchRequest request))
        {
            peer.Refuse(
                header,
                ErrorCode.MalformedRequest,
                $"The {payload.Length} bytes are not a fetch request that wants an answer.");
            return ValueTask.CompletedTask;
        }

        if (request.Isolation != FetchIsolation.Visible)
        {
            peer.Refuse(header, ErrorCode.InvalidArgument, $"There is no isolation {(int)request.Isolation}.");
            return ValueTask.CompletedTask;
        }

        FetchSession? session = request.SessionId == 0 ? Open(peer, header, request) : Find(peer, header, request);
        if (session is null)
            return ValueTask.CompletedTask;
        if (request.Queues.Count > 0 && FindLimit(session, request) is { } limit)
        {
            End(session);
            peer.Refuse(header, limit.Code, limit.Message, limit.RetryAfter);
            return ValueTask.CompletedTask;
        }

        _quotas.ChargeRequest(peer);
        Begin(session, header, request);
        Start(session, maySendHere: true);
        return ValueTask.CompletedTask;
    }

    /// <summary>Ends the sessions of a connection that is gone.</summary>
    public void OnDisconnected(BrokerConnection peer)
    {
        if (peer.FindFeature<PeerSessions>() is not { } sessions)
            return;
        foreach (FetchSession session in sessions.ById.Values)
            EndQuietly(session);
        sessions.ById.Clear();
    }

    /// <summary>Answers what is parked and parks no more, so that connections can drain.</summary>
    public void StopWaiting()
    {
        _isStopping = true;
        foreach (FetchSession session in _sessions.Keys)
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

    /// <summary>Takes up a parked request; does nothing when another thread has.</summary>
    /// <param name="session">Whose.</param>
    /// <param name="maySendHere">Whether this thread is there for it and may send the answer itself.</param>
    internal void ServeParked(FetchSession session, bool maySendHere)
    {
        if (!session.TryMove(FetchPhase.Parked, FetchPhase.Serving))
            return;
        Unpark(session);
        Start(session, maySendHere);
    }

    private FetchSession? Open(BrokerConnection peer, in FrameHeader header, FetchRequest request)
    {
        if (request.Sequence != 0)
        {
            peer.Refuse(header, ErrorCode.UnknownFetchSession, "A new session begins with sequence 0.");
            return null;
        }

        PeerSessions sessions = peer.Feature<PeerSessions>();
        if (sessions.ById.Count >= _limits.MaxFetchSessionsPerConnection && !EndRestingSession(peer))
        {
            peer.Refuse(
                header,
                ErrorCode.LimitReached,
                $"The connection has {sessions.ById.Count} fetch sessions with a request under way "
                + "(Limits:MaxFetchSessionsPerConnection).",
                RetryAfter);
            return null;
        }

        uint id = ++sessions.LastId;
        if (id == 0)
            id = ++sessions.LastId;
        if (!TryTake(peer, FetchSession.OwnBytes)
            && !(EndRestingSession(peer) && TryTake(peer, FetchSession.OwnBytes)))
        {
            EQueueException full = _memory.Full("A fetch session cannot be opened");
            peer.Refuse(header, full.Code, full.Message, full.RetryAfter);
            return null;
        }

        var session = new FetchSession(peer, id, this);
        sessions.ById[id] = session;
        _sessions[session] = true;
        Interlocked.Increment(ref _counters.FetchSessions);
        return session;
    }

    /// <summary>Takes the memory of the queues that a request adds to a session.</summary>
    /// <returns>Null when it is taken; else why not.</returns>
    private EQueueException? FindLimit(FetchSession session, FetchRequest request)
    {
        int added = 0;
        foreach (FetchQueue one in request.Queues)
            added += session.Queues.ContainsKey(one.Queue) ? 0 : 1;
        int most = _catalogue.QueueCount + SpareQueues;
        if (added > most - session.Queues.Count)
        {
            return new EQueueException(
                ErrorCode.LimitReached,
                $"A session holds at most {most} queues: this broker has {_catalogue.QueueCount}.");
        }

        BrokerConnection peer = session.Peer;
        long bytes = (long)added * FetchSession.QueueBytes;
        while (!TryTake(peer, bytes))
        {
            if (!EndRestingSession(peer, except: session))
                return _memory.Full($"{added} queues do not fit into a fetch session of the connection");
        }

        session.TakenQueues += added;
        return null;
    }

    /// <summary>Takes memory for a session of a connection, which has a share of all.</summary>
    private bool TryTake(BrokerConnection peer, long bytes)
    {
        long most = _memory.MaxBytesPerConnection;
        PeerSessions sessions = peer.Feature<PeerSessions>();
        if (Interlocked.Add(ref sessions.Bytes, bytes) <= most && _memory.TryTake(bytes))
            return true;
        Interlocked.Add(ref sessions.Bytes, -bytes);
        return false;
    }

    /// <summary>Counts queues that a session has more, or fewer.</summary>
    private void Count(FetchSession session, int queues)
    {
        long bytes = (long)queues * FetchSession.QueueBytes;
        session.TakenQueues += queues;
        Interlocked.Add(ref session.OfPeer.Bytes, bytes);
        _memory.Count(bytes);
    }

    private static bool IsExpected(FetchSession session, FetchRequest request) =>
        session.Phase == FetchPhase.Idle && session.NextSequence == request.Sequence;

    private FetchSession? Find(BrokerConnection peer, in FrameHeader header, FetchRequest request)
    {
        if (peer.Feature<PeerSessions>().ById.TryGetValue(
            request.SessionId, out FetchSession? session) && IsExpected(session, request))
        {
            return session;
        }

        string message = session is null
            ? $"This connection has no fetch session {request.SessionId}."
            : session.Phase == FetchPhase.Idle
                ? $"Sequence {session.NextSequence} of fetch session {session.Id} is due; {request.Sequence} came."
                : $"Fetch session {session.Id} has a request under way; {request.Sequence} came.";
        if (session is not null)
            End(session);
        peer.Refuse(header, ErrorCode.UnknownFetchSession, message);
        return null;
    }

    private bool EndRestingSession(BrokerConnection peer, FetchSession? except = null)
    {
        FetchSession? longest = null;
        foreach (FetchSession session in peer.Feature<PeerSessions>().ById.Values)
        {
            if (session != except && session.Phase == FetchPhase.Idle
                && (longest is null || session.LastUsed < longest.LastUsed))
            {
                longest = session;
            }
        }

        if (longest is null)
            return false;
        _logger.FetchSessionDropped(peer.Id, longest.Id, _limits.MaxFetchSessionsPerConnection);
        End(longest);
        return true;
    }

    /// <summary>
    /// Takes the request and its changes of the list into the session, which is the caller's from here on.
    /// </summary>
    private void Begin(FetchSession session, in FrameHeader header, FetchRequest request)
    {
        session.LastUsed = _time.GetTimestamp();
        session.NextSequence = request.Sequence + 1;
        session.IsDue = request.MaxWaitMs == 0 || request.MinBytes == 0;
        session.HasWaited = false;
        session.Header = header;
        session.Request = request;
        bool isOurs = session.TryMove(FetchPhase.Idle, FetchPhase.Serving);
        System.Diagnostics.Debug.Assert(isOurs, "Only the receive loop takes a session out of rest.");
        foreach (QueueKey removed in request.Removed)
        {
            if (session.Queues.TryGetValue(removed, out SessionQueue? queue))
                Leave(session, queue);
        }

        if (request.Queues.Count + request.Removed.Count > KeptChanges)
            session.Request = request with { Queues = [], Removed = [] };
        foreach (FetchQueue wanted in request.Queues)
        {
            if (!session.Queues.TryGetValue(wanted.Queue, out SessionQueue? queue))
            {
                _catalogue.TryFindByQueue(wanted.Queue.Id, out Topic? topic);
                session.Queues[wanted.Queue] = queue = new SessionQueue(wanted.Queue, topic);
            }

            queue.Next = queue.Told = wanted.Offset;
            queue.TagMask = wanted.TagMask;
            queue.MaxBytes = wanted.MaxBytes;
            queue.Refusal = Judge(wanted);
            session.MakeReady(queue);
        }

        // One that was removed and is wanted again was not counted as new.
        int uncounted = session.Queues.Count - session.TakenQueues;
        if (uncounted != 0)
            Count(session, uncounted);
    }

    private ErrorCode Judge(in FetchQueue wanted)
    {
        if (wanted.Queue.Log != 0 || !_catalogue.TryFindByQueue(wanted.Queue.Id, out _))
            return ErrorCode.UnknownQueue;
        if (wanted.Offset.Value < 0)
            return ErrorCode.OffsetOutOfRange;
        return wanted.LastEpoch > _store.Epoch ? ErrorCode.DivergingEpoch : ErrorCode.None;
    }

    /// <summary>Why a queue is not read now.</summary>
    private ErrorCode Refusal(FetchSession session, SessionQueue queue)
    {
        if (queue.Refusal != ErrorCode.None)
            return queue.Refusal;
        if (queue.Topic is { } topic && !session.Access.PermitRead(topic))
            return ErrorCode.NotAuthorized;
        return _catalogue.IsReadable(queue.Key.Id) ? ErrorCode.None : ErrorCode.QueueNotReadable;
    }

    /// <summary>Takes a queue out of the session it belongs to.</summary>
    private void Leave(FetchSession session, SessionQueue queue)
    {
        queue.IsGone = true;
        if (session.Queues.Remove(queue.Key))
            Count(session, -1);
        if (queue.IsWatched)
            _store.Unwatch(queue.Key.Id, session);
    }

    /// <summary>
    /// Ends a session that the peer cannot use any more; a request under way gets its error. On the receive loop.
    /// </summary>
    private void End(FetchSession session)
    {
        session.OfPeer.ById.Remove(session.Id);
        FrameHeader header = session.Header;
        if (EndQuietly(session) is FetchPhase.Parked)
            session.Peer.Refuse(header, ErrorCode.UnknownFetchSession, $"Fetch session {session.Id} was ended.");
    }

    private FetchPhase EndQuietly(FetchSession session)
    {
        FetchPhase before = session.End();
        if (before == FetchPhase.Parked)
            Unpark(session);
        if (before is FetchPhase.Parked or FetchPhase.Idle)
            CleanUp(session);
        return before;
    }

    /// <summary>Gives back what an ended session holds; called once, by its last owner.</summary>
    private void CleanUp(FetchSession session)
    {
        foreach (SessionQueue queue in session.Queues.Values)
        {
            if (queue.IsWatched)
                _store.Unwatch(queue.Key.Id, session);
        }

        Count(session, -session.TakenQueues);
        Interlocked.Add(ref session.OfPeer.Bytes, -FetchSession.OwnBytes);
        _memory.Give(FetchSession.OwnBytes);
        _sessions.TryRemove(session, out _);
        Interlocked.Decrement(ref _counters.FetchSessions);
    }

    private void OnDue(FetchSession session)
    {
        // When only queues that rested are due, the request waits on.
        if (session.HasResting && WaitLeft(session) > TimeSpan.Zero)
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
