using EQueue.Protocol;

namespace EQueue.Replication.Tests.Simulation;

/// <summary>A machine: its disk, its process while it lives, what the process asks for.</summary>
internal sealed class ModelNode(World world, string name) : IReplicaActions
{
    private const int TickMs = 20;

    private readonly Queue<Action> _paused = new();
    private readonly Dictionary<string, long> _arrivals = new(StringComparer.Ordinal);
    private ModelLog _log = new();
    private ReplicaRecord? _record;
    private bool _isClean;
    private bool _isPaused;
    private bool _syncs;
    private LogPosition _startEnd;
    private int _opening;
    private int _records;

    public string Name => name;

    public ModelLog Log => _log;

    public ReplicaRecord? Record => _record;

    public ReplicaCore? Core { get; private set; }

    public Life Life { get; private set; }

    /// <summary>Rises with each start and end: what belongs to an earlier one does not happen.</summary>
    public int Incarnation { get; private set; }

    public bool IsAlive => Core is not null;

    /// <summary>Whether this node alone cannot reach etcd.</summary>
    public bool HasNoEtcd { get; set; }

    /// <summary>Whether the disk takes 30 to 200 ms for a sync instead of 1 to 5.</summary>
    public bool IsSlow { get; set; }

    /// <summary>Whether no sync returns for now.</summary>
    public bool IsStalled { get; set; }

    public List<string> Alarms { get; } = [];

    public (StopReason Reason, string Why)? Stopped { get; private set; }

    public int SetAsides { get; private set; }

    public void Start(bool trustsPages = true)
    {
        Incarnation++;
        _opening = 0;
        Life = new Life(new UInt128((ulong)world.Random.NextInt64(), (ulong)world.Random.NextInt64(1, long.MaxValue)));
        Stopped = null;
        _syncs = false;
        _isPaused = false;
        bool isWhole = _record is null || _log.Tail.End >= _record.Durable;
        // Opening writes again and syncs what was not proven durable.
        if (trustsPages)
            _log.TrySync(_log.Tail.End);
        var start = new ReplicaStart(name, Life, _record, isWhole, _isClean, (ulong)world.Random.NextInt64());
        _isClean = false;
        Core = new ReplicaCore(start, world.Options, _log, this);
        Core.Start(world.Now);
        Tick(Incarnation);
    }

    public void Kill()
    {
        Incarnation++;
        Core = null;
        _paused.Clear();
    }

    /// <summary>The machine loses what was not durable.</summary>
    public void LosePower()
    {
        Kill();
        _log.LosePower(world.Random);
    }

    /// <summary>Stops in order: everything is synced, and a mark says where the log ends.</summary>
    public void StopCleanly()
    {
        if (Core is null || Core.IsStopped)
            return;
        Core.Leave();
        _log.TrySync(_log.Tail.End);
        _record = Core.Record with { Durable = _log.Durable };
        _isClean = true;
        Kill();
    }

    public void Pause() => _isPaused = true;

    public void Resume()
    {
        _isPaused = false;
        int incarnation = Incarnation;
        while (!_isPaused && Incarnation == incarnation && _paused.TryDequeue(out Action? action))
            action();
    }

    /// <summary>The directory is gone.</summary>
    public void LoseDirectory()
    {
        _log = new ModelLog();
        _record = null;
        _isClean = false;
    }

    public (ModelEntry[] Entries, ReplicaRecord? Record) Image() => ([.. _log.Entries], _record);

    public void RestoreImage((ModelEntry[] Entries, ReplicaRecord? Record) image)
    {
        _log.Restore(image.Entries);
        _record = image.Record;
        _isClean = false;
    }

    /// <summary>A client sends a message.</summary>
    public void Propose()
    {
        if (_isPaused || _log.IsFull || Core is not { IsOpen: true })
            return;
        Write(Core.Record.Epoch, 1 + world.Random.Next(3));
        NotifyWritten();
    }

    /// <summary>Runs what happens to the process now, or when it is no longer paused.</summary>
    public void Do(Action action)
    {
        if (_isPaused)
            _paused.Enqueue(action);
        else
            action();
    }

    /// <summary>Keeps the messages of one way in order.</summary>
    public long NextArrival(string to, long earliest)
    {
        long at = Math.Max(earliest, _arrivals.GetValueOrDefault(to));
        _arrivals[to] = at;
        return at;
    }

    void IReplicaActions.Send(string node, PeerMessage message) => world.Send(this, node, message);

    void IReplicaActions.SendEntries(string node, FetchAnswer answer, LogPosition from)
    {
        if (_log.Durable < _startEnd)
            world.Oracle.Fail($"{name} answers before the start of its epoch is durable");
        world.Send(this, node, answer with { Entries = _log.Read(from) });
    }

    void IReplicaActions.ReadEtcd()
    {
        if (HasNoEtcd)
            return;
        int incarnation = Incarnation;
        if (!world.Etcd.Now.Lives.TryGetValue(name, out Life life) || life != Life)
            world.Etcd.PutLife(name, Life);
        world.Etcd.Read(view => DoIf(incarnation, () => Core!.OnView(view, world.Now)));
    }

    void IReplicaActions.Transact(Transaction transaction)
    {
        if (HasNoEtcd)
            return;
        int incarnation = Incarnation;
        world.Etcd.Transact(
            transaction, result => DoIf(incarnation, () => Core!.OnTransaction(transaction, result, world.Now)));
    }

    void IReplicaActions.Persist(ReplicaRecord record)
    {
        _record = record;
        _records++;
    }

    void IReplicaActions.PersistSoon(ReplicaRecord record)
    {
        int incarnation = Incarnation, number = ++_records;
        world.After(world.Random.Next(100), () =>
        {
            if (Incarnation == incarnation && number == _records)
                _record = record;
        });
    }

    void IReplicaActions.Append(object entries)
    {
        int incarnation = Incarnation;
        bool isSlow = world.HasSlowAppends && world.Random.Next(20) == 0;
        world.After(world.Random.Next(isSlow ? 300 : 3), () => DoIf(incarnation, () => Store((ModelEntry[])entries)));
    }

    void IReplicaActions.CutTo(LogPosition end) => _log.CutTo(end);

    void IReplicaActions.StartEpoch(int epoch, Nonce nonce)
    {
        int incarnation = Incarnation;
        _opening = epoch;
        world.After(OpeningTime(), () => DoIf(incarnation, () =>
        {
            // Deposed while it was opened: nothing is written any more.
            if (_opening != epoch)
                return;
            ModelEntry entry = Write(epoch, 1);
            _startEnd = entry.End;
            NotifyWritten();
            Core!.OnEpochStarted(epoch, entry.End, world.Now);
        }));
    }

    void IReplicaActions.Publish(LogPosition committed, LogPosition durable, bool isOpen)
    {
        if (durable > committed)
            world.Oracle.Fail($"{name} tells {durable} as durable, {committed} is committed");
        world.Oracle.OnPublished(name, _log, committed, Core!.Record.Epoch, isOpen);
    }

    void IReplicaActions.StopLeading()
    {
        int incarnation = Incarnation;
        _opening = 0;
        world.After(OpeningTime(), () => DoIf(incarnation, () => Core!.OnLogOpened(world.Now)));
    }

    void IReplicaActions.Stop(StopReason reason, string why)
    {
        Stopped = (reason, why);
        if (reason != StopReason.SetAside)
            return;
        SetAsides++;
        int incarnation = Incarnation;
        world.After(50, () =>
        {
            if (Incarnation != incarnation)
                return;
            Kill();
            LoseDirectory();
            Start();
        });
    }

    void IReplicaActions.Alarm(string what) => Alarms.Add(what);

    void IReplicaActions.LetOut(string node, bool isSilent, int waitMs) => world.LetOuts++;

    void IReplicaActions.Resign(bool isFull) => world.Resignations++;

    /// <summary>A disk stores in its own time: the rules may have gone elsewhere meanwhile.</summary>
    private void Store(ModelEntry[] entries)
    {
        bool fits = !Core!.IsLeading && Core.IsLogOpen
            && entries[0].Position == _log.Tail.End && entries[0].Epoch >= _log.Tail.Epoch;
        if (!fits)
        {
            Core.OnAppendRefused();
            return;
        }

        foreach (ModelEntry entry in entries)
            _log.Add(entry);
        NotifyWritten();
    }

    /// <summary>Opening takes as long as recovery does: mostly little, at times longer than others wait for a
    /// leader.</summary>
    private int OpeningTime() => world.Random.Next(8) == 0 ? world.Random.Next(500) : world.Random.Next(20);

    private ModelEntry Write(int epoch, int size)
    {
        ModelEntry entry = _log.Stage(epoch, size, (uint)world.Random.Next());
        world.Oracle.OnWritten(name, entry);
        return entry;
    }

    private void NotifyWritten()
    {
        int incarnation = Incarnation;
        world.After(0, () => DoIf(incarnation, () => Core!.OnLogMoved(world.Now)));
        if (_syncs)
            return;
        _syncs = true;
        world.After(world.Options.IsSync ? 0 : 20, () => BeginSync(incarnation));
    }

    private void BeginSync(int incarnation)
    {
        if (Incarnation != incarnation)
            return;
        LogPosition end = _log.Tail.End;
        world.After(IsSlow ? 30 + world.Random.Next(170) : 1 + world.Random.Next(5), () =>
        {
            if (Incarnation != incarnation)
                return;
            if (IsStalled)
            {
                BeginSync(incarnation);
                return;
            }

            bool moved = _log.TrySync(end);
            _syncs = _log.Durable < _log.Tail.End;
            if (_syncs)
                BeginSync(incarnation);
            if (moved)
                Do(() => Core?.OnLogMoved(world.Now));
        });
    }

    private void Tick(int incarnation)
    {
        if (Incarnation != incarnation)
            return;
        if (!_isPaused)
            Core!.OnTick(world.Now);
        world.After(TickMs, () => Tick(incarnation));
    }

    private void DoIf(int incarnation, Action action)
    {
        if (Incarnation != incarnation)
            return;
        Do(() =>
        {
            if (Incarnation == incarnation)
                action();
        });
    }
}
