using EQueue.Protocol;

namespace EQueue.Replication;

/// <summary>
/// The rules of one replica of one log: follows, claims, leads, commits. Pure: time, messages, ends of writes and
/// answers of etcd come in by the On methods, what is to be done goes out by <see cref="IReplicaActions"/>.
/// </summary>
/// <remarks>
/// All calls come from one thread at a time and return at once. The rules are numbered as in docs/replication.md.
/// </remarks>
public sealed class ReplicaCore
{
    private const int PersistMs = 1000;

    private readonly IReplicaActions _actions;
    private readonly Follower _follower;
    private readonly Candidacy _candidacy;
    private readonly EtcdAge _age = new();
    private Leader? _leader;
    private long _readMs = long.MinValue / 2;
    private long _persistedMs;
    private long? _tickedMs;
    private ReplicaRecord _persisted;

    /// <summary>Begins a life. Nothing is done before <see cref="Start"/>.</summary>
    /// <param name="start">What opening the directory has shown.</param>
    /// <param name="options">The shard's times and numbers.</param>
    /// <param name="log">The open log.</param>
    /// <param name="actions">Takes what is to be done.</param>
    public ReplicaCore(ReplicaStart start, ReplicaOptions options, IReplicaLog log, IReplicaActions actions)
    {
        _actions = actions;
        Random = new ReplicaRandom(start.Seed);
        Options = options;
        Log = log;
        Me = new Seat(start.Node, start.Life);
        IsProven = start.Before is { } before
            && (start.IsClean || (options.IsSync && before.IsSync && start.IsWhole))
            && before.Committed <= log.Tail.End;
        Record = _persisted = start.Before?.Next(start.Life, options.IsSync, start.IsClean, log.Tail.End)
            ?? ReplicaRecord.Empty(start.Life, options.IsSync);
        Transactor = new Transactor(actions, options.EtcdMs);
        _follower = new Follower(this, actions);
        _candidacy = new Candidacy(this, _follower, actions);
    }

    /// <summary>What the directory says of itself now.</summary>
    public ReplicaRecord Record { get; private set; }

    /// <summary>Whether this replica leads its epoch and takes messages.</summary>
    public bool IsOpen => _leader is { IsOpen: true };

    /// <summary>Whether this replica leads its epoch, open or not.</summary>
    public bool IsLeading => _leader is not null;

    /// <summary>The transaction whose outcome is not known; null when there is none.</summary>
    public Transaction? Pending => Transactor.Pending;

    /// <summary>Whether the log can be looked at and written: not while it changes from one that leads to one that
    /// follows.</summary>
    public bool IsLogOpen { get; private set; } = true;

    /// <summary>Whether this replica has ended.</summary>
    public bool IsStopped { get; private set; }

    /// <summary>The newest state known.</summary>
    public ShardView? View { get; private set; }

    /// <summary>This life of this node.</summary>
    internal Seat Me { get; }

    internal ReplicaOptions Options { get; }

    internal IReplicaLog Log { get; }

    internal Transactor Transactor { get; }

    internal ReplicaRandom Random { get; }

    /// <summary>The highest epoch that this replica has heard of, from whomever.</summary>
    internal int HeardEpoch { get; private set; }

    /// <summary>The highest epoch acted on, written or heard of.</summary>
    internal int HighestEpoch => Math.Max(Record.Epoch, Math.Max(Log.Tail.Epoch, HeardEpoch));

    /// <summary>Whether the directory holds all that was ever answered for its last seat (rule R9).</summary>
    internal bool IsProven { get; }

    /// <summary>The epoch that this replica acted on last.</summary>
    internal EpochMark Acted => new(Record.Epoch, Record.Nonce);

    /// <summary>What counts for the set: durable with the sync policy, written with the async one.</summary>
    internal LogPosition Position => Options.IsSync ? Log.Durable : Log.Tail.End;

    /// <summary>Writes down the new life. Called once, before the other inputs.</summary>
    public void Start(long nowMs)
    {
        Persist(Record);
        ReadEtcd(nowMs);
    }

    /// <summary>Time has passed; called every few milliseconds.</summary>
    public void OnTick(long nowMs)
    {
        if (IsStopped)
            return;
        NotePause(nowMs);
        if (nowMs - _readMs >= Options.EtcdMs)
            ReadEtcd(nowMs);
        Transactor.Tick(nowMs);
        _leader?.Tick(nowMs);
        if (_leader is null)
        {
            _follower.Tick(nowMs);
            if (IsLogOpen)
                _candidacy.Tick(nowMs);
        }

        PersistNow(nowMs);
    }

    /// <summary>A read of etcd has ended.</summary>
    public void OnView(ShardView view, long nowMs)
    {
        if (IsStopped)
            return;
        // A lower revision is out of date, or etcd was restored: a transaction's answer will tell, or time.
        bool isOlder = (View is not null && view.Revision < View.Revision)
            || (view.State is { } state && state.Epoch < Record.Epoch);
        if (_age.IsRestored(isOlder))
            _actions.Alarm($"etcd stays behind epoch {Record.Epoch}, which this replica acted on: it was restored");
        if (isOlder)
            return;
        Take(view, isRestored: false, nowMs);
    }

    /// <summary>A transaction was answered, or given up as unknown.</summary>
    public void OnTransaction(Transaction transaction, TransactionResult result, long nowMs)
    {
        if (IsStopped || !Transactor.TryEnd(transaction, result))
            return;
        ShardView view = result.View!;
        if (transaction.IsNewEpoch && view.State?.Nonce == transaction.Next.Nonce)
        {
            Lead(view, transaction, nowMs);
            return;
        }

        if (transaction.Kind == TransactionKind.Claim)
            _candidacy.Lost();
        // The answer was true when it was given; only a revision below the expected one says that etcd was restored.
        bool isRestored = view.Revision < transaction.ExpectedRevision;
        if (isRestored || View is null || view.Revision >= View.Revision)
            Take(view, isRestored, nowMs);
    }

    /// <summary>This life is about to stop in order: the leader need not find out that it is silent.</summary>
    public void Leave() => _follower.Leave();

    /// <summary>A message has come.</summary>
    public void OnMessage(string from, PeerMessage message, long nowMs)
    {
        if (IsStopped)
            return;
        switch (message)
        {
            case Fetch fetch when _leader is not null:
                _leader.OnFetch(fetch, nowMs);
                break;
            case Fetch fetch:
                Hear(fetch.Epoch, nowMs);
                _actions.Send(from, new FetchAnswer(fetch.Session, Record.Epoch, FetchVerdict.OtherEpoch, default));
                break;
            case Ack ack:
                _leader?.OnAck(ack, nowMs);
                break;
            case Farewell farewell:
                _leader?.OnFarewell(farewell);
                break;
            case FetchAnswer answer when _leader is null:
                _follower.OnAnswer(from, answer, nowMs);
                break;
            case StateQuestion when !IsLogOpen:
                break; // what it would tell is changing
            case StateQuestion question:
                _actions.Send(from, Report(question.Round, nowMs));
                break;
            case StateReport report:
                Hear(report.Epoch, nowMs);
                _candidacy.OnReport(report);
                break;
            case EpochNotice notice:
                Hear(notice.Epoch, nowMs);
                break;
        }
    }

    /// <summary>The log was opened to lead, and its epoch has begun; whether that is durable,
    /// <see cref="OnLogMoved"/> tells.</summary>
    /// <param name="epoch">Which; one that this replica no longer leads is passed over.</param>
    /// <param name="end">Where the entry that begins the epoch ends.</param>
    /// <param name="nowMs">Now.</param>
    public void OnEpochStarted(int epoch, LogPosition end, long nowMs)
    {
        if (!IsStopped && epoch == Record.Epoch)
            _leader?.OnStarted(end, nowMs);
    }

    /// <summary>The log is open plainly again, after this replica stopped to lead.</summary>
    public void OnLogOpened(long nowMs)
    {
        if (IsStopped || IsLogOpen)
            return;
        IsLogOpen = true;
        _follower.OnLogOpened(nowMs);
    }

    /// <summary>The log did not take what was fetched: it is fetched again, after a while.</summary>
    public void OnAppendRefused()
    {
        if (!IsStopped && _leader is null)
            _follower.OnAppendRefused();
    }

    /// <summary>Connections to a node are refused: it is not there. Times decide only when something is tried, and so
    /// does this.</summary>
    public void OnUnreachable(string node, long nowMs)
    {
        if (!IsStopped && _leader is null)
            _follower.OnUnreachable(node, nowMs);
    }

    /// <summary>The log has got longer, or more of it is durable.</summary>
    public void OnLogMoved(long nowMs)
    {
        if (IsStopped)
            return;
        if (_leader is not null)
            _leader.OnLogMoved(nowMs);
        else
            _follower.OnLogMoved(nowMs);
    }

    /// <summary>An epoch was named by another node: when it is above ours, etcd says whether it is true.</summary>
    internal void Hear(int epoch, long nowMs)
    {
        if (epoch <= Record.Epoch || epoch <= HeardEpoch)
            return;
        HeardEpoch = epoch;
        ReadEtcd(nowMs);
    }

    internal void ReadEtcd(long nowMs)
    {
        _readMs = nowMs;
        _actions.ReadEtcd();
    }

    /// <summary>Notes what is known to be committed; written to disk with the next record.</summary>
    internal void NoteCommitted(LogPosition committed)
    {
        if (committed > Record.Committed)
            Record = Record with { Committed = committed };
    }

    internal void NoteOpened() => _candidacy.Opened();

    internal void Stop(StopReason reason, string why)
    {
        IsStopped = true;
        EndLeading();
        _actions.Stop(reason, why);
    }

    /// <summary>The own disk stands still or is full: another seat leads, which asks and is told so.</summary>
    internal void Resign(bool isFull, long nowMs)
    {
        _candidacy.Hold(nowMs + Options.SuspectMs + Options.AnswerMs);
        _leader!.TellEnd();
        EndLeading();
        _actions.Resign(isFull);
    }

    private void EndLeading()
    {
        if (_leader is null)
            return;
        _leader = null;
        IsLogOpen = false;
        _actions.StopLeading();
    }

    internal StateReport Report(long round, long nowMs)
        => new(Me, round, Record.Epoch, Log.Tail, Record.Former, Record.Committed,
            _leader is not null || _follower.HearsLeader(nowMs));

    private void Take(ShardView view, bool isRestored, long nowMs)
    {
        View = view;
        if (view.State is not { } state)
            return;
        if (Transactor.Pending is { IsNewEpoch: true } claim && claim.Next.Nonce == state.Nonce)
        {
            Transactor.Resolve();
            Lead(view, claim, nowMs);
            return;
        }

        if (state.Epoch < Record.Epoch)
        {
            if (isRestored)
                FallBack(state);
            return;
        }

        if (state.Epoch == Record.Epoch)
        {
            if (state.Nonce != Record.Nonce)
                Stop(StopReason.ForeignHistory, $"epoch {state.Epoch} has another beginning in etcd");
            else if (_leader is not null)
                _leader.OnState(state, nowMs);
            else if (state.Leader.Node is not null && !_follower.IsFollowing)
                _follower.Follow(state.Leader, nowMs);
            return;
        }

        if (!ActOn(state, view))
            return;
        EndLeading();
        _follower.Follow(state.Leader, nowMs);
    }

    /// <summary>A replica that was not running says nothing of the others' silence.</summary>
    private void NotePause(long nowMs)
    {
        long pauseMs = nowMs - (_tickedMs ?? nowMs);
        _tickedMs = nowMs;
        if (pauseMs <= Options.PauseMs)
            return;
        _leader?.Forgive(pauseMs, nowMs);
        _follower.Forgive(pauseMs, nowMs);
    }

    /// <summary>etcd is older than what this replica acted on: it was restored. The leader continues without
    /// changes.</summary>
    private void FallBack(ShardState state)
    {
        string what = $"etcd is at epoch {state.Epoch}, this replica acted on {Record.Epoch}: etcd was restored";
        if (_leader is null)
            Stop(StopReason.ForeignHistory, what);
        else
            _actions.Alarm(what);
    }

    /// <summary>Rule R11: the new epoch is acted on only when etcd still knows the last one by its nonce.</summary>
    private bool ActOn(ShardState state, ShardView view)
    {
        if (Record.Epoch > 0
            && (!view.History.TryGetValue(Record.Epoch, out Nonce known) || known != Record.Nonce))
        {
            Stop(StopReason.ForeignHistory, $"etcd does not know epoch {Record.Epoch} as this replica does");
            return false;
        }

        Persist(Record with { Epoch = state.Epoch, Nonce = state.Nonce });
        return true;
    }

    private void Lead(ShardView view, Transaction claim, long nowMs)
    {
        ShardState state = view.State!;
        View = view;
        // Something newer was followed in the meantime, or the chain is broken: nothing is led.
        if (state.Epoch <= Record.Epoch || state.Epoch <= Log.Tail.Epoch || !IsLogOpen || !ActOn(state, view))
            return;
        _leader = new Leader(this, _actions, state, claim.Expected?.Leader ?? default);
        _leader.Begin(nowMs);
    }

    private void Persist(ReplicaRecord record)
    {
        Record = _persisted = record with { Durable = Log.Durable };
        _actions.Persist(Record);
    }

    private void PersistNow(long nowMs)
    {
        if (nowMs - _persistedMs < PersistMs)
            return;
        _persistedMs = nowMs;
        bool hasSeat = View?.State is { } state && state.Has(Me);
        ReplicaRecord record = Record with { Durable = Log.Durable, Former = hasSeat ? [] : Record.Former };
        if (record == _persisted)
            return;
        // A disk that stands still must not keep this replica from hearing and answering.
        Record = _persisted = record;
        _actions.PersistSoon(record);
    }
}
