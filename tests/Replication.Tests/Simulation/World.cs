namespace EQueue.Replication.Tests.Simulation;

/// <summary>Nodes, their network, their disks, an etcd and a clock, all from one seed.</summary>
internal sealed class World
{
    private readonly PriorityQueue<Action, (long Time, long Number)> _events = new();
    private readonly HashSet<(string From, string To)> _cuts = [];
    private long _number;

    public World(int seed, int nodes = 3, bool isSync = true, int seats = 3)
    {
        Random = new Random(seed);
        Etcd = new ModelEtcd(this);
        Oracle = new Oracle();
        string[] names = [.. Enumerable.Range(0, nodes).Select(number => ((char)('a' + number)).ToString())];
        Options = new ReplicaOptions
        {
            Nodes = names,
            SeatCount = seats,
            IsSync = isSync,
            FetchWaitMs = 100,
            SuspectMs = 300,
            ReportMs = 40,
            ClaimDelayMs = 10,
            SeatSilenceMs = 400,
            StallMs = 100,
            LagMs = 400,
            LagWindowMs = 2000,
            FullMs = 300,
            FullDelayMs = 100,
            MostLagMs = 400,
            LagBackOffMs = (2000, 120_000),
            PauseMs = 100,
            EtcdMs = 100,
            AnswerMs = 200,
            ClaimBackOffMs = (200, 3000),
        };
        Nodes = [.. names.Select(name => new ModelNode(this, name))];
    }

    public Random Random { get; }

    public ReplicaOptions Options { get; }

    public ModelEtcd Etcd { get; }

    public Oracle Oracle { get; }

    public IReadOnlyList<ModelNode> Nodes { get; }

    public long Now { get; private set; }

    /// <summary>Whether messages are delayed at random and sometimes lost.</summary>
    public bool HasBadNetwork { get; set; }

    /// <summary>Whether a disk takes up to 300 ms for some of the appends.</summary>
    public bool HasSlowAppends { get; set; } = true;

    /// <summary>Seats that were let out because they held the others up.</summary>
    public int LetOuts { get; set; }

    /// <summary>Leaders that let others lead because their own disks stood still.</summary>
    public int Resignations { get; set; }

    public long Steps { get; private set; }

    public ModelNode this[string name] => Nodes[name[0] - 'a'];

    /// <summary>The node that takes messages; the newest epoch's when a deposed one does not know yet.</summary>
    public ModelNode? Leader => Nodes.Where(node => node.Core is { IsOpen: true }).MaxBy(node => node.Core!.Record.Epoch);

    /// <summary>Starts every node; the first one makes the shard.</summary>
    public void Begin()
    {
        foreach (ModelNode node in Nodes)
            node.Start();
        Etcd.Create(new Seat("a", Nodes[0].Life));
    }

    /// <summary>Starts every node, and clients that send to whichever leads, and waits until all seats are taken.</summary>
    public void BeginWithSeats()
    {
        Begin();
        Propose();
        if (!RunUntil(() => Etcd.Now.State!.Seats.Count == Options.SeatCount && Leader is not null, 3000))
            Oracle.Fail($"the seats are not taken: {Describe()}");
        RunFor(200);
    }

    /// <summary>A client sends every 10 ms to every node that takes messages.</summary>
    public void Propose()
    {
        foreach (ModelNode node in Nodes)
            node.Propose();
        After(10, Propose);
    }

    public void After(int milliseconds, Action action)
        => _events.Enqueue(action, (Now + milliseconds, _number++));

    public void RunFor(int milliseconds)
    {
        long end = Now + milliseconds;
        while (_events.TryPeek(out Action? action, out (long Time, long Number) at) && at.Time <= end)
        {
            _events.Dequeue();
            Now = at.Time;
            Steps++;
            action();
        }

        Now = end;
    }

    /// <summary>Where everything stands, for the message of a test that failed.</summary>
    public string Describe()
    {
        ShardState? state = Etcd.Now.State;
        string seats = state is null ? "none" : string.Join(' ', state.Seats.Select(Name));
        string text = $"{Now} ms, etcd: epoch {state?.Epoch}, leader {(state is null ? "none" : Name(state.Leader))}, seats {seats}, min {state?.Min}";
        foreach (ModelNode node in Nodes)
        {
            text += $"\n{Name(new Seat(node.Name, node.Life))} alive {node.IsAlive} epoch {node.Core?.Record.Epoch} end {node.Log.Tail.End}"
                + $" durable {node.Log.Durable} committed {node.Core?.Record.Committed} leads {node.Core?.IsLeading} open {node.Core?.IsOpen}"
                + $" former {node.Record?.Former.Count} pending {node.Core?.Pending?.Kind} stopped {node.Stopped}";
        }

        return text;
    }

    private static string Name(Seat seat) => $"{seat.Node}/{(uint)seat.Life.Value:x8}";

    /// <summary>Runs until something holds.</summary>
    /// <returns>Whether it came to hold within the time.</returns>
    public bool RunUntil(Func<bool> holds, int milliseconds)
    {
        long end = Now + milliseconds;
        while (!holds() && Now < end)
            RunFor(5);
        return holds();
    }

    public void Cut(string from, string to) => _cuts.Add((from, to));

    public void CutBoth(string one, string other)
    {
        Cut(one, other);
        Cut(other, one);
    }

    public void Heal(string from, string to) => _cuts.Remove((from, to));

    public void HealAll() => HealAllBut(null);

    /// <summary>Ends every fault; the named node stays down.</summary>
    public void HealAllBut(string? name)
    {
        _cuts.Clear();
        Etcd.IsAway = Etcd.IsBad = HasBadNetwork = false;
        foreach (ModelNode node in Nodes)
        {
            node.Resume();
            node.IsSlow = node.IsStalled = node.HasNoEtcd = node.Log.IsFull = false;
            if (!node.IsAlive && node.Name != name)
                node.Start();
        }
    }

    /// <summary>Delivers a message in order with the others of its way, unless the way is cut.</summary>
    public void Send(ModelNode from, string to, PeerMessage message)
    {
        if (_cuts.Contains((from.Name, to)) || (HasBadNetwork && Random.Next(30) == 0))
            return;
        ModelNode target = this[to];
        int incarnation = target.Incarnation;
        int delay = 1 + (HasBadNetwork ? Random.Next(20) : 0);
        long at = from.NextArrival(to, Now + delay);
        _events.Enqueue(
            () =>
            {
                if (_cuts.Contains((from.Name, to)) || target.Incarnation != incarnation)
                    return;
                target.Do(() => target.Core?.OnMessage(from.Name, message, Now));
            },
            (at, _number++));
    }
}
