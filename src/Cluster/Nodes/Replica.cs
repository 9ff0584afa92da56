using EQueue.Cluster.Etcd;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Replication;

namespace EQueue.Cluster;

/// <summary>One life of one replica: the rules on their loop, the files or the engine under them, the other nodes and
/// etcd around them.</summary>
/// <remarks>
/// What the rules ask for is done on the loop's thread when it is short, and elsewhere when it may take time. The log
/// changes hands (files, engine, files) in one chain of steps, one after the other.
/// </remarks>
internal sealed partial class Replica : IReplicaActions, IAsyncDisposable
{
    private static readonly TimeSpan FarewellTime = TimeSpan.FromMilliseconds(200);

    private readonly ReplicaSetup _setup;
    private readonly ReplicaDirectory _directory;
    private readonly ReplicaLogView _view;
    private readonly ReplicaLoop _loop;
    private readonly ReplicaDisk _disk;
    private readonly ShardReads _reads;
    private readonly ReplicaCore _core;
    private readonly CancellationTokenSource _stopping = new();
    private readonly TaskCompletionSource<ReplicaEnd> _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _isStopping;

    /// <summary>Begins a life on an open directory.</summary>
    /// <param name="setup">What it works with.</param>
    /// <param name="files">The replica's from here on.</param>
    /// <exception cref="InvalidDataException">The directory's record cannot be read.</exception>
    public Replica(ReplicaSetup setup, ReplicaFiles files)
    {
        _setup = setup;
        _directory = new ReplicaDirectory(setup.Files, files, setup.Logger, setup.Time, Fail);
        _view = new ReplicaLogView(_directory.Lock, setup.Room);
        _view.Follow(files);
        _loop = new ReplicaLoop("equeue-replica", Tick, Fail);
        _disk = new ReplicaDisk(
            _directory.Lock,
            () => _directory.Files,
            () => _view.Generation,
            setup.Rules.IsSync ? TimeSpan.Zero : setup.FlushInterval,
            TellMoved,
            why => _loop.Post(() => OnAppendRefused(why)),
            cause => setup.Logger.DiskFull(setup.Node, cause.Message),
            Fail);
        _reads = new ShardReads(setup, () => _loop.NowMs, OnView, Fail, _stopping.Token);
        ReplicaRecord? before = RecordCodec.Read(files.Note.Record.Span);
        var start = new ReplicaStart(
            setup.Node, setup.Life, before, files.IsWhole, files.IsClean, (ulong)Random.Shared.NextInt64());
        _core = new ReplicaCore(start, setup.Rules, _view, this);
    }

    /// <summary>Completes when the life ended by itself; faults when it cannot go on.</summary>
    public Task<ReplicaEnd> Ended => _ended.Task;

    /// <summary>Whether this node leads and takes messages.</summary>
    public bool IsServing => _setup.Door.IsOpen;

    /// <summary>What this node does.</summary>
    public NodeRole Role => IsServing ? NodeRole.Serves : _core.IsLeading ? NodeRole.Leads : NodeRole.Follows;

    /// <summary>The seats as etcd has them; 0 before the first read.</summary>
    public int SeatCount => _core.View?.State?.Seats.Count ?? 0;

    /// <summary>Where the log ends.</summary>
    public LogPosition End => _view.Tail.End;

    /// <summary>The store while this node leads; null while it follows.</summary>
    public QueueStore? LeadingStore => _view.Store;

    /// <summary>The name of the node that leads, when it is another one.</summary>
    public string? LeaderName => _core.IsLeading ? null : _core.View?.State?.Leader.Node;

    /// <summary>Keeps the derived files as the leader has them.</summary>
    public ReplicaMirror NewMirror() =>
        new(
            _directory.Lock,
            () => _directory.Files,
            () => _core.Record.Committed,
            _setup.Node,
            _setup.Logger);

    /// <summary>Begins: from here on the rules run.</summary>
    public void Start()
    {
        _disk.Start();
        _loop.Post(() => _core.Start(_loop.NowMs));
        _loop.Start();
    }

    /// <summary>A message has come from another node.</summary>
    public void Receive(string from, PeerMessage message)
    {
        _setup.Counters.NoteMessage(from, message);
        _loop.Post(() =>
        {
            if (_isStopping)
                return;
            // A follower may have more than the store has told of here: what it was sent was read from the store.
            _view.Refresh();
            _core.OnMessage(from, message, _loop.NowMs);
        });
    }

    /// <summary>Connections to a node are refused.</summary>
    public void NoteUnreachable(string node) => _loop.Post(() =>
    {
        if (!_isStopping)
            _core.OnUnreachable(node, _loop.NowMs);
    });

    /// <summary>A follower tells its leader that it stops in order, and gives that a moment to be on its way.</summary>
    public Task LeaveAsync() => _core.IsLeading
        ? Task.CompletedTask
        : Task.WhenAny(SayFarewellAsync(), Task.Delay(FarewellTime, _setup.Time));

    /// <summary>Stops in order: what is here is made durable, and the directory is marked as clean.</summary>
    /// <param name="cancellationToken">Ends the wait for answers and slow peers.</param>
    public async Task StopAsync(CancellationToken cancellationToken)
    {
        var stopped = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _loop.Post(() =>
        {
            _isStopping = true;
            _setup.Door.Close();
            stopped.TrySetResult();
        });
        await Task.WhenAny(stopped.Task, _ended.Task).ConfigureAwait(false);
        await EndAsync(isOrderly: true, cancellationToken).ConfigureAwait(false);
        _directory.CloseInOrder();
    }

    /// <summary>Ends at once: the directory is as after a crash of the process.</summary>
    public async ValueTask DisposeAsync()
    {
        await _stopping.CancelAsync().ConfigureAwait(false);
        _setup.Door.Close();
        await EndAsync(isOrderly: false, CancellationToken.None).ConfigureAwait(false);
        _directory.Dispose();
        _loop.Dispose();
        _stopping.Dispose();
    }

    void IReplicaActions.Send(string node, PeerMessage message) => _setup.Links.Send(node, message);

    void IReplicaActions.SendEntries(string node, FetchAnswer answer, LogPosition from)
    {
        if (_view.Store is not { } store || _setup.Links.Find(node) is not { } link)
            return;
        try
        {
            EntrySender.Send(store, link, answer, from);
        }
        catch (DiskException exception)
        {
            // The follower asks again; a disk that stays so is the store's own matter.
            _setup.Logger.EntriesUnreadable(node, from.Value, exception.Message);
        }
    }

    void IReplicaActions.ReadEtcd() => _reads.Ask();

    void IReplicaActions.Persist(ReplicaRecord record) => _directory.Persist(record);

    void IReplicaActions.PersistSoon(ReplicaRecord record) => _directory.PersistSoon(record);

    void IReplicaActions.Transact(Transaction transaction) => _ = Task.Run(async () =>
    {
        TransactionResult result;
        _setup.Counters.NoteTransaction(transaction);
        try
        {
            result = await _setup.Etcd.TransactAsync(transaction, _stopping.Token).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is EtcdException or OperationCanceledException)
        {
            result = new TransactionResult(TransactionOutcome.Unknown, null);
        }

        if (result.Outcome == TransactionOutcome.Unknown)
            _setup.Counters.NoteEtcdFailure();
        if (result.Outcome == TransactionOutcome.Succeeded && transaction.Kind == TransactionKind.SetChange)
        {
            _setup.Logger.SeatsAre(
                transaction.Next.Epoch, string.Join(", ", transaction.Next.Seats.Select(seat => seat.Node)));
        }

        _loop.Post(() =>
        {
            if (!_isStopping)
                _core.OnTransaction(transaction, result, _loop.NowMs);
        });
    });

    void IReplicaActions.Append(object entries) =>
        _disk.Append((EntryBlock)entries, _core.Record.Epoch, _view.Generation);

    void IReplicaActions.CutTo(LogPosition end)
    {
        lock (_directory.Lock)
        {
            if (_directory.Files is not { } files)
                return;
            _setup.Logger.Cut(_setup.Node, files.Tail.End.Value, end.Value, _core.Record.Epoch);
            try
            {
                files.CutTo(end);
            }
            catch (DiskException exception) when (exception.Fault == DiskFault.Full)
            {
                // The log ends there; room for what follows is made when there is some, before the next entry.
                _setup.Logger.DiskFull(_setup.Node, exception.Message);
            }

            _view.Cut(files.Tail, files.Durable);
        }
    }

    void IReplicaActions.Stop(StopReason reason, string why)
    {
        if (reason is not (StopReason.SetAside or StopReason.Gone))
            _setup.Counters.NoteAlarm();
        _ended.TrySetResult(new ReplicaEnd(reason, why));
    }

    void IReplicaActions.Alarm(string what)
    {
        _setup.Counters.NoteAlarm();
        _setup.Logger.Alarm(_setup.Node, what);
    }

    void IReplicaActions.LetOut(string node, bool isSilent, int waitMs) =>
        _setup.Logger.LetOut(_setup.Node, node, isSilent ? "says nothing" : "stays behind", waitMs / 1000);

    void IReplicaActions.Resign(bool isFull) => _setup.Logger.Resigns(
        _setup.Node, isFull ? "is full" : "stands still, and the others wait for it", _core.Record.Epoch);

    private async Task SayFarewellAsync()
    {
        var told = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _loop.Post(() =>
        {
            _core.Leave();
            told.TrySetResult();
        });
        await told.Task.ConfigureAwait(false);
        await _setup.Links.WhenDrained().ConfigureAwait(false);
    }

    private void Tick(long nowMs)
    {
        if (_isStopping)
            return;
        if (_loop.TakePause(_setup.Rules.FetchWaitMs) is { } pausedMs)
            _setup.Logger.Paused(_setup.Node, pausedMs);
        if (!_core.IsLeading)
            _setup.Room.Look(nowMs);
        _core.OnTick(nowMs);
    }

    /// <summary>On the disk's thread, under the files' lock: the end belongs to the log as it is now.</summary>
    private void TellMoved(ReplicaTail tail, LogPosition durable)
    {
        int generation = _view.Generation;
        _loop.Post(() => OnFilesMoved(tail, durable, generation));
    }

    private void OnFilesMoved(in ReplicaTail tail, LogPosition durable, int generation)
    {
        // What was written before the log was opened to lead is told by the store.
        if (_isStopping || _directory.Files is null)
            return;
        if (_view.TryMove(tail, durable, generation))
            _core.OnLogMoved(_loop.NowMs);
    }

    private void OnAppendRefused(string why)
    {
        _setup.Logger.EntriesRefused(_setup.Node, why);
        _core.OnAppendRefused();
    }

    private void OnView(ShardView view) => _loop.Post(() =>
    {
        if (!_isStopping)
            _core.OnView(view, _loop.NowMs);
    });

    private void Fail(Exception cause)
    {
        _ended.TrySetException(cause);
        _setup.Door.Close();
    }
}
