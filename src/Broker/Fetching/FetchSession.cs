using System.Collections.Concurrent;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Who may touch a fetch session now.</summary>
internal enum FetchPhase
{
    /// <summary>Between two requests: the receive loop.</summary>
    Idle,

    /// <summary>A request is being answered: owned by the thread that took it into this phase.</summary>
    Serving,

    /// <summary>A request waits: owned by the thread that takes it out of this phase.</summary>
    Parked,

    /// <summary>Over.</summary>
    Ended,
}

/// <summary>The queues that one reader follows, and its request while there is one.</summary>
/// <remarks>
/// <see cref="Phase"/> changes by compare-and-swap and says who owns everything else, so that serving needs no lock.
/// The store's signals come at any time and only leave a note.
/// </remarks>
internal sealed class FetchSession(
    BrokerConnection peer, uint id, FetchServing serving) : ReadySignal, IThreadPoolWorkItem, IDeadline
{
    /// <summary>What a session takes in memory without its queues.</summary>
    public const int OwnBytes = 2_000;

    /// <summary>What a queue of a session takes, with its places in lists and with those who watch it.</summary>
    public const int QueueBytes = 260;

    private const int LittleBytes = 32 << 10;

    private readonly ConcurrentQueue<QueueId> _woken = new();
    private readonly List<SessionQueue> _resting = [];
    private FetchAnswer? _spareAnswer;
    private int _phase;
    private int _isScheduled;
    private int _isHeld;
    private TimeSpan _restWait;
    private bool _isDue;
    private bool _hasResting;
    private bool _isRestDue;

    public BrokerConnection Peer { get; } = peer;

    /// <summary>What its peer may read.</summary>
    public PeerAccess Access { get; } = PeerAccess.Of(peer);

    /// <summary>All sessions of its peer.</summary>
    public PeerSessions OfPeer { get; } = peer.Feature<PeerSessions>();

    public uint Id { get; } = id;

    public Dictionary<QueueKey, SessionQueue> Queues { get; } = [];

    /// <summary>Queues that may have something to give, in the order in which they get their turn.</summary>
    public Queue<SessionQueue> Ready { get; } = new();

    /// <summary>A ready queue whose turn comes before the ready list's: it did not fit into the last answer.</summary>
    public SessionQueue? HeldBack { get; set; }

    /// <summary>Queues in the answer under construction.</summary>
    public List<SessionQueue> Served { get; } = [];

    /// <summary>Ready queues that need the disk and were left out of an answer, in the order in which they were: first
    /// as soon as an answer has room for what comes from disk.</summary>
    public Queue<SessionQueue> Cold { get; } = new();

    /// <summary>Queues in which something was passed over that the reader may not have been told of.</summary>
    public List<SessionQueue> Moved { get; } = [];

    /// <summary>Messages passed over since the last answer.</summary>
    public long PassedCount { get; set; }

    /// <summary>Whether senders may wait for the reader to hear of what was passed over.</summary>
    public bool IsMoveAwaited { get; set; }

    /// <summary>Whether the last turn ended before everything that is visible was looked at.</summary>
    public bool IsPassing { get; set; }

    /// <summary>Whether the request has waited before: its next wait is what is left of the first.</summary>
    public bool HasWaited { get; set; }

    public FetchRequest Request { get; set; } = new();

    public FrameHeader Header { get; set; }

    /// <summary>The sequence of the next request.</summary>
    public uint NextSequence { get; set; }

    /// <summary>When the session was used last, to find the one that rests longest.</summary>
    public long LastUsed { get; set; }

    /// <summary>Bytes of the last answer: the reader will want about as many again.</summary>
    public int LastAnswerBytes { get; set; }

    /// <summary>Queues whose memory is taken.</summary>
    public int TakenQueues { get; set; }

    /// <summary>Set by the wheel: the request has waited long enough.</summary>
    public bool IsDue
    {
        get => Volatile.Read(ref _isDue);
        set => Volatile.Write(ref _isDue, value);
    }

    /// <summary>Set by the wheel: queues that rested may give again.</summary>
    public bool IsRestDue
    {
        get => Volatile.Read(ref _isRestDue);
        set => Volatile.Write(ref _isRestDue, value);
    }

    /// <summary>Whether queues rest until their topic's quota lets them give again.</summary>
    public bool HasResting => Volatile.Read(ref _hasResting);

    /// <inheritdoc/>
    public DeadlinePlace Place { get; } = new();

    public FetchPhase Phase => (FetchPhase)Volatile.Read(ref _phase);

    public int ReadyCount => Ready.Count + Cold.Count + (HeldBack is null ? 0 : 1);

    public bool HasNotes => !_woken.IsEmpty;

    /// <summary>Changes the phase if it is <paramref name="from"/>.</summary>
    public bool TryMove(FetchPhase from, FetchPhase to) =>
        Interlocked.CompareExchange(ref _phase, (int)to, (int)from) == (int)from;

    /// <summary>Ends the session.</summary>
    /// <returns>The phase it was in.</returns>
    public FetchPhase End() => (FetchPhase)Interlocked.Exchange(ref _phase, (int)FetchPhase.Ended);

    /// <summary>Moves the queues that were noted to the ready list.</summary>
    public void TakeNotes()
    {
        while (_woken.TryDequeue(out QueueId queue))
        {
            if (!Queues.TryGetValue(new QueueKey(0, queue), out SessionQueue? noted))
                continue;
            noted.IsWatched = false;
            MakeReady(noted);
        }
    }

    /// <summary>An answer to fill.</summary>
    public FetchAnswer TakeAnswer() => Interlocked.Exchange(ref _spareAnswer, null) ?? new FetchAnswer();

    /// <summary>Gives it back. When it was sent, the session may be another's again, who has one of his own.</summary>
    public void GiveAnswer(FetchAnswer answer) => Volatile.Write(ref _spareAnswer, answer);

    /// <summary>The session is put off, in the phase <see cref="FetchPhase.Serving"/>, by the thread that serves
    /// it.</summary>
    public void BeginHold() => Volatile.Write(ref _isHeld, 1);

    /// <summary>Takes a session that was put off; true once.</summary>
    public bool TryEndHold() => Interlocked.Exchange(ref _isHeld, 0) == 1;

    /// <summary>Leaves a queue, which was just taken from the ready list, out until its time has passed.</summary>
    public void Rest(SessionQueue queue, TimeSpan wait)
    {
        queue.IsReady = false;
        _restWait = _resting.Count == 0 || wait < _restWait ? wait : _restWait;
        _resting.Add(queue);
        Volatile.Write(ref _hasResting, true);
    }

    /// <summary>Gives all that rest another turn.</summary>
    public void WakeResting()
    {
        foreach (SessionQueue queue in _resting)
        {
            if (!queue.IsGone)
                MakeReady(queue);
        }

        _resting.Clear();
        Volatile.Write(ref _hasResting, false);
        IsRestDue = false;
    }

    /// <summary>A wait that ends when the first of those who rest is due.</summary>
    public TimeSpan CutByRest(TimeSpan wait) => _resting.Count > 0 && _restWait < wait ? _restWait : wait;

    public void MakeReady(SessionQueue queue)
    {
        if (queue.IsReady)
            return;
        queue.IsReady = true;
        Ready.Enqueue(queue);
    }

    /// <summary>The next queue whose turn it is.</summary>
    /// <param name="hasColdRoom">Whether those that are known to need the disk may have theirs.</param>
    public SessionQueue? TakeReady(bool hasColdRoom)
    {
        if (HeldBack is { } first)
        {
            HeldBack = null;
            return first;
        }

        if (hasColdRoom && Cold.TryDequeue(out SessionQueue? cold))
            return cold;
        return Ready.TryDequeue(out SessionQueue? queue) ? queue : null;
    }

    /// <summary>Leaves a note that a queue is worth a look, and has a parked request served.</summary>
    protected override void OnReady(QueueId queue)
    {
        _woken.Enqueue(queue);
        Interlocked.MemoryBarrier();
        if (Phase == FetchPhase.Parked && Interlocked.Exchange(ref _isScheduled, 1) == 0)
            Schedule();
    }

    /// <summary>Little is copied sooner than a thread is woken; much would keep a thread of the sockets.</summary>
    private void Schedule()
    {
        if (LastAnswerBytes <= LittleBytes && Request.MinBytes <= LittleBytes)
            AfterReceive.Queue(this, unlessPrompt: true);
        else
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: true);
    }

    void IThreadPoolWorkItem.Execute()
    {
        Volatile.Write(ref _isScheduled, 0);
        serving.ServeParked(this, maySendHere: true);
    }

    /// <summary>Whether another answer to the same request may follow: the reader takes several, and has taken what it
    /// was given; its wait is not over; and this one is so little that a request for each would cost more than what it
    /// brings.</summary>
    public bool MayGoOnAfter(FetchAnswer answer) =>
        Header.Flags.HasFlag(FrameFlags.More)
        && !IsDue
        && !Peer.IsClosed
        && Peer.Transport.QueuedBytes < SendBudget.UnitBytes
        && !answer.HasErrors
        && answer.EntryBytes is > 0 and <= LittleBytes
        && Request.MaxBytes - answer.EntryBytes >= LittleBytes;

    /// <summary>Begins the next answer to the same request, as if the reader had asked for it: with what is left of its
    /// bytes and of its wait.</summary>
    public void GoOnAfter(FetchAnswer answer)
    {
        NextSequence++;
        HasWaited = true;
        Request = Request with
        {
            Sequence = Request.Sequence + 1,
            MaxBytes = Request.MaxBytes - answer.EntryBytes,
            Queues = [],
            Removed = [],
        };
    }

    /// <summary>The answer leaves: moves each queue that it serves on, and counts what it gives, once for each topic
    /// whose queues stand together.</summary>
    public void Advance()
    {
        TopicTraffic? topic = null;
        (long messages, long bytes) = (0, 0);
        foreach (SessionQueue queue in Served)
        {
            if (queue.Traffic != topic)
            {
                topic?.Give(messages, bytes);
                (topic, messages, bytes) = (queue.Traffic, 0, 0);
            }

            messages += queue.NextAfterAnswer.Value - queue.Next.Value;
            bytes += queue.GivenBytes;
            queue.Next = queue.Told = queue.NextAfterAnswer;
        }

        topic?.Give(messages, bytes);
    }
}
