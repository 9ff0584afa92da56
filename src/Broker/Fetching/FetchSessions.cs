using System.Collections.Concurrent;
using System.Diagnostics;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>The fetch sessions of all connections, and the memory that they and their queues take.</summary>
/// <remarks>The sessions of a connection are opened on its receive loop. A session gives its memory back once, by the
/// thread that owns it last.</remarks>
internal sealed class FetchSessions
{
    /// <summary>A session may name so many more queues than there are: some may just have been deleted.</summary>
    private const int SpareQueues = 1_000;

    /// <summary>When a reader that met a limit may try again.</summary>
    public static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    private readonly QueueStore _store;
    private readonly TopicCatalogue _catalogue;
    private readonly BrokerCounters _counters;
    private readonly LimitOptions _limits;
    private readonly ILogger _logger;
    private readonly MemoryPool _memory;
    private readonly ConcurrentDictionary<FetchSession, bool> _sessions = new();

    public FetchSessions(ModuleContext context, TopicCatalogue catalogue)
    {
        _store = context.Store;
        _catalogue = catalogue;
        _counters = context.Counters;
        _limits = context.Limits;
        _logger = context.Logger;
        _memory = context.Ledger.Sessions;
    }

    /// <summary>Those that have not ended; others may come and go meanwhile.</summary>
    public IEnumerable<FetchSession> All => _sessions.Keys;

    /// <summary>Opens a session.</summary>
    /// <returns>Null when the request was refused.</returns>
    public FetchSession? Open(
        BrokerConnection peer, in FrameHeader header, FetchRequest request, FetchServing serving)
    {
        if (request.Sequence != 0)
        {
            peer.Refuse(header, ErrorCode.UnknownFetchSession, "A new session begins with sequence 0.");
            return null;
        }

        PeerSessions sessions = peer.Feature<PeerSessions>();
        sessions.ForgetEnded();
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

        var session = new FetchSession(peer, id, serving);
        sessions.ById[id] = session;
        _sessions[session] = true;
        Interlocked.Increment(ref _counters.FetchSessions);
        return session;
    }

    /// <summary>Takes the memory of the queues that a request adds to a session.</summary>
    /// <returns>Null when it is taken; else why not.</returns>
    public EQueueException? TryAdd(FetchSession session, FetchRequest request)
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

    /// <summary>Counts queues that a session has more, or fewer.</summary>
    public void Count(FetchSession session, int queues)
    {
        long bytes = (long)queues * FetchSession.QueueBytes;
        session.TakenQueues += queues;
        Interlocked.Add(ref session.OfPeer.Bytes, bytes);
        _memory.Count(bytes);
    }

    /// <summary>Takes a queue out of the session it belongs to.</summary>
    public void Leave(FetchSession session, SessionQueue queue)
    {
        queue.IsGone = true;
        if (session.Queues.Remove(queue.Key))
            Count(session, -1);
        if (queue.IsWatched)
            _store.Unwatch(queue.Key.Id, session);
    }

    /// <summary>Gives back what an ended session holds; called once, by its last owner.</summary>
    public void CleanUp(FetchSession session)
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

    /// <summary>Ends the session of a connection that has rested longest. On the receive loop.</summary>
    /// <returns>False when each has a request under way.</returns>
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
        longest.OfPeer.ById.Remove(longest.Id);
        FetchPhase before = longest.End();
        Debug.Assert(before == FetchPhase.Idle, "Only the receive loop takes a session out of rest.");
        CleanUp(longest);
        return true;
    }
}
