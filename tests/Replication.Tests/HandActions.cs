using System.Collections.Immutable;
using EQueue.Protocol;
using EQueue.Replication.Tests.Simulation;

namespace EQueue.Replication.Tests;

/// <summary>One replica driven by hand: what it asks for is kept, nothing happens by itself.</summary>
internal sealed class HandActions : IReplicaActions
{
    public static readonly Nonce First = new(11);
    public static readonly Life OtherLife = new(77);

    private long _now;
    private uint _crc;

    public HandActions(
        bool isSync = true, ReplicaRecord? before = null, bool isClean = false, bool isWhole = true, Action<ModelLog>? fill = null)
    {
        fill?.Invoke(Log);
        Log.TrySync(Log.Tail.End);
        Options = new ReplicaOptions { Nodes = ["a", "b", "c"], IsSync = isSync };
        Core = new ReplicaCore(new ReplicaStart("a", new Life(1), before, isWhole, isClean, 5), Options, Log, this);
        Core.Start(0);
    }

    public ModelLog Log { get; } = new();

    public ReplicaOptions Options { get; }

    public ReplicaCore Core { get; }

    public List<(string Node, PeerMessage Message)> Sent { get; } = [];

    public List<Transaction> Transactions { get; } = [];

    /// <summary>Whether <see cref="FinishOpening"/> and <see cref="FinishClosing"/> are called by the test.</summary>
    public bool OpensSlowly { get; set; }

    public List<(LogPosition Committed, bool IsOpen)> Published { get; } = [];

    public LogPosition PublishedDurable { get; private set; }

    public List<string> Alarms { get; } = [];

    public List<(string Node, bool IsSilent, int WaitMs)> LetOuts { get; } = [];

    public int Resignations { get; private set; }

    public List<LogPosition> Cuts { get; } = [];

    public StopReason? Stopped { get; private set; }

    public Seat Me => new("a", new Life(1));

    public static Seat B => new("b", new Life(2));

    public static Seat C => new("c", new Life(3));

    public FetchAnswer LastAnswer(string node)
        => (FetchAnswer)Sent.Last(sent => sent.Node == node && sent.Message is FetchAnswer).Message;

    public Fetch LastFetch => (Fetch)Sent.Last(sent => sent.Message is Fetch).Message;

    /// <summary>etcd as it is read: the state, and the history of the named epochs.</summary>
    public ShardView View(ShardState state, long revision = 10, params (int Epoch, Nonce Nonce)[] history)
    {
        ImmutableDictionary<string, Life> lives = ImmutableDictionary<string, Life>.Empty
            .Add("a", Me.Life).Add("b", B.Life).Add("c", C.Life);
        return new ShardView(revision, state, history.ToDictionary(row => row.Epoch, row => row.Nonce), lives);
    }

    public void Read(ShardView view) => Core.OnView(view, _now);

    public void Pass(int milliseconds)
    {
        for (long end = _now + milliseconds; _now < end; _now += 10)
            Core.OnTick(_now);
    }

    /// <summary>The process does not run for a while.</summary>
    public void Freeze(int milliseconds) => _now += milliseconds;

    public void Receive(string node, PeerMessage message) => Core.OnMessage(node, message, _now);

    /// <summary>Lets the pending transaction succeed.</summary>
    public void Succeed()
    {
        Transaction transaction = Transactions[^1];
        (int, Nonce)[] history = transaction.IsNewEpoch ? [(transaction.Next.Epoch, transaction.Next.Nonce)] : [];
        if (transaction.Acted.Epoch > 0)
            history = [.. history, (transaction.Acted.Epoch, transaction.Acted.Nonce)];
        Core.OnTransaction(
            transaction,
            new TransactionResult(
                TransactionOutcome.Succeeded, View(transaction.Next, transaction.ExpectedRevision + 1, history)),
            _now);
    }

    /// <summary>The pending transaction came too late: the state is as it was.</summary>
    public void Refuse()
    {
        Transaction transaction = Transactions[^1];
        Core.OnTransaction(
            transaction,
            new TransactionResult(
                TransactionOutcome.Refused,
                View(
                    transaction.Expected!,
                    transaction.ExpectedRevision + 1,
                    (transaction.Acted.Epoch, transaction.Acted.Nonce))),
            _now);
    }

    /// <summary>Gives no answer: the outcome is unknown.</summary>
    public void LoseAnswer()
        => Core.OnTransaction(Transactions[^1], new TransactionResult(TransactionOutcome.Unknown, null), _now);

    /// <summary>Makes this replica lead, with the named seats beside it.</summary>
    public void Lead(params Seat[] others)
    {
        Read(View(new ShardState(0, default, [Me, .. others], others.Length == 0 ? 1 : 2, default)));
        Pass(1000);
        Succeed();
        Sync();
    }

    /// <summary>The log is open to lead, and its epoch has begun.</summary>
    public void FinishOpening()
        => Core.OnEpochStarted(Core.Record.Epoch, Log.Stage(Core.Record.Epoch, 1, ++_crc).End, _now);

    /// <summary>The log is open plainly.</summary>
    public void FinishClosing() => Core.OnLogOpened(_now);

    /// <summary>Everything written here becomes durable.</summary>
    public void Sync()
    {
        Log.TrySync(Log.Tail.End);
        Core.OnLogMoved(_now);
    }

    /// <summary>The store takes a message.</summary>
    public void Write(bool durable = true)
    {
        Log.Stage(Core.Record.Epoch, 2, ++_crc);
        if (durable)
            Log.TrySync(Log.Tail.End);
        Core.OnLogMoved(_now);
    }

    /// <summary>A replica with an equal log asks for what comes next.</summary>
    public void Fetch(
        Seat seat, LogPosition position, long session = 1, int? epoch = null, LogTail? tail = null, bool isFull = false)
        => Receive(
            seat.Node,
            new Fetch(seat, session, epoch ?? Core.Record.Epoch, tail ?? Log.Tail, position, position, isFull));

    void IReplicaActions.Send(string node, PeerMessage message) => Sent.Add((node, message));

    void IReplicaActions.SendEntries(string node, FetchAnswer answer, LogPosition from)
        => Sent.Add((node, answer with { Entries = Log.Read(from) }));

    void IReplicaActions.ReadEtcd()
    {
    }

    void IReplicaActions.Transact(Transaction transaction) => Transactions.Add(transaction);

    void IReplicaActions.Persist(ReplicaRecord record)
    {
    }

    void IReplicaActions.PersistSoon(ReplicaRecord record)
    {
    }

    void IReplicaActions.Append(object entries)
    {
        foreach (ModelEntry entry in (ModelEntry[])entries)
            Log.Add(entry);
    }

    void IReplicaActions.CutTo(LogPosition end)
    {
        Cuts.Add(end);
        Log.CutTo(end);
    }

    void IReplicaActions.StartEpoch(int epoch, Nonce nonce)
    {
        if (!OpensSlowly)
            FinishOpening();
    }

    void IReplicaActions.Publish(LogPosition committed, LogPosition durable, bool isOpen)
    {
        Published.Add((committed, isOpen));
        PublishedDurable = durable;
    }

    void IReplicaActions.StopLeading()
    {
        if (!OpensSlowly)
            Core.OnLogOpened(_now);
    }

    void IReplicaActions.Stop(StopReason reason, string why) => Stopped = reason;

    void IReplicaActions.Alarm(string what) => Alarms.Add(what);

    void IReplicaActions.LetOut(string node, bool isSilent, int waitMs) => LetOuts.Add((node, isSilent, waitMs));

    void IReplicaActions.Resign(bool isFull) => Resignations++;
}
