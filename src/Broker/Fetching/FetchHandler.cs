using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Takes fetch requests into their sessions; <see cref="FetchServing"/> answers them.</summary>
internal sealed class FetchHandler : IBrokerModule, IRuleObserver, IDisposable
{
    /// <summary>A longer list of changes is not kept with its request, once it is in the session.</summary>
    private const int KeptChanges = 64;

    private readonly QueueStore _store;
    private readonly HistoryMark _opening;
    private readonly TopicCatalogue _catalogue;
    private readonly BrokerCounters _counters;
    private readonly QuotaTable _quotas;
    private readonly LimitOptions _limits;
    private readonly TimeProvider _time;
    private readonly FetchSessions _sessions;
    private readonly FetchServing _serving;

    public FetchHandler(ModuleContext context, TopicCatalogue catalogue, QuotaTable quotas)
    {
        _store = context.Store;
        _opening = context.Store.History.Opening;
        _catalogue = catalogue;
        _counters = context.Counters;
        _quotas = quotas;
        _limits = context.Limits;
        _time = context.Time;
        _sessions = new FetchSessions(context, catalogue);
        _serving = new FetchServing(context, catalogue, quotas, _sessions);
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

        FetchSession? session = request.SessionId == 0
            ? _sessions.Open(peer, header, request, _serving)
            : Find(peer, header, request);
        if (session is null)
            return ValueTask.CompletedTask;
        if (request.Queues.Count > 0 && _sessions.TryAdd(session, request) is { } limit)
        {
            _serving.End(session);
            peer.Refuse(header, limit.Code, limit.Message, limit.RetryAfter);
            return ValueTask.CompletedTask;
        }

        _quotas.ChargeRequest(peer);
        Begin(session, header, request);
        _serving.Start(session, maySendHere: true);
        return ValueTask.CompletedTask;
    }

    /// <summary>Ends the sessions of a connection that is gone.</summary>
    public void OnDisconnected(BrokerConnection peer)
    {
        if (peer.FindFeature<PeerSessions>() is not { } sessions)
            return;
        foreach (FetchSession session in sessions.ById.Values)
            _serving.EndQuietly(session);
        sessions.ById.Clear();
    }

    /// <summary>Parked requests for what may not be read any more are answered so.</summary>
    public void OnRulesChanged()
    {
        foreach (FetchSession session in _sessions.All)
            _serving.ServeRefused(session);
    }

    /// <summary>Answers what is parked and parks no more, so that connections can drain.</summary>
    public void StopWaiting() => _serving.StopWaiting();

    public void Dispose() => _serving.Dispose();

    private FetchSession? Find(BrokerConnection peer, in FrameHeader header, FetchRequest request)
    {
        if (peer.Feature<PeerSessions>().ById.TryGetValue(
            request.SessionId, out FetchSession? session) && IsExpected(session, request))
        {
            return session;
        }

        string message = session is null or { Phase: FetchPhase.Ended }
            ? $"This connection has no fetch session {request.SessionId}."
            : session.Phase == FetchPhase.Idle
                ? $"Sequence {session.NextSequence} of fetch session {session.Id} is due; {request.Sequence} came."
                : $"Fetch session {session.Id} has a request under way; {request.Sequence} came.";
        if (session is not null)
            _serving.End(session);
        peer.Refuse(header, ErrorCode.UnknownFetchSession, message);
        return null;
    }

    private static bool IsExpected(FetchSession session, FetchRequest request) =>
        session.Phase == FetchPhase.Idle && session.NextSequence == request.Sequence;

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
        session.Request = request with { MaxBytes = Math.Min(request.MaxBytes, _limits.MaxFetchBytes) };
        bool isOurs = session.TryMove(FetchPhase.Idle, FetchPhase.Serving);
        System.Diagnostics.Debug.Assert(isOurs, "Only the receive loop takes a session out of rest.");
        foreach (QueueKey removed in request.Removed)
        {
            if (session.Queues.TryGetValue(removed, out SessionQueue? queue))
                _sessions.Leave(session, queue);
        }

        if (request.Queues.Count + request.Removed.Count > KeptChanges)
            session.Request = session.Request with { Queues = [], Removed = [] };
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
            _sessions.Count(session, uncounted);
    }

    private ErrorCode Judge(in FetchQueue wanted)
    {
        if (wanted.Queue.Log != 0 || !_catalogue.TryFindByQueue(wanted.Queue.Id, out _))
            return ErrorCode.UnknownQueue;
        if (wanted.Offset.Value < 0)
            return ErrorCode.OffsetOutOfRange;
        return wanted.LastEpoch > _store.Epoch ? ErrorCode.DivergingEpoch : ErrorCode.None;
    }
}
