using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>Where the attempts of one link to connect go: to its own address, or, once that is known to be a node of a
/// cluster, to the cluster's leader.</summary>
/// <param name="address">The link's own.</param>
/// <param name="map">Which addresses are nodes of clusters; null = none is looked for.</param>
/// <param name="reports">Where failures are told.</param>
internal sealed class LinkPlan(ServerAddress address, ClusterMap? map, ConnectReports reports)
    : IConnectPlan, IDisposable
{
    private readonly Lock _gate = new();
    private volatile Cluster? _cluster;
    private volatile bool _isServed;
    private long _attempt;
    private bool _isGivenUp;

    public ServerAddress Address => address;

    /// <summary>The cluster that the link follows; null = its address is a broker's of its own, as far as it is
    /// known.</summary>
    public Cluster? Cluster => _cluster;

    /// <summary>How far the link has come in trying the nodes. Under the cluster's gate.</summary>
    public LinkRound Round { get; } = new(address);

    /// <summary>Whether a broker has admitted the newest connection.</summary>
    public bool IsServed => _isServed;

    /// <summary>Ends what the link has begun and has it connect anew.</summary>
    public Action<Exception>? Anew { get; set; }

    /// <inheritdoc/>
    public ConnectTarget Next()
    {
        lock (_gate)
        {
            _isServed = _isGivenUp = false;
            _attempt++;
        }

        return _cluster?.Next(this) ?? new ConnectTarget(address.ToEndPoint(), Timeout.InfiniteTimeSpan);
    }

    /// <inheritdoc/>
    public TimeSpan? PauseAfter(int failures) => _cluster?.PauseAfter(this, failures);

    /// <summary>The link belongs to a cluster from here on.</summary>
    public void Follow(Cluster cluster)
    {
        _cluster = cluster;
        cluster.Add(this);
    }

    /// <summary>An attempt failed.</summary>
    public void Failed(ConnectFault fault)
    {
        if (_cluster is not { } cluster)
            reports.Failed(address, fault);
        else if (cluster.Fail(this, ConnectReports.ReasonOf(fault)) is { } words)
            reports.Failed(address, new ConnectFault(words, null, fault.Attempts));
    }

    /// <summary>Takes what a node says that does not lead, in answer to Hello.</summary>
    public void Refused(in ResponseFrame response)
    {
        if (map is not null)
            map.Join(this, Round.Target, LeaderIn(response)).Refuse(this);
    }

    /// <summary>Takes what a node says that leads no longer, in answer to a call, and leaves it.</summary>
    /// <remarks>Such an answer may be read late: the link is at the leader by then, and stays there.</remarks>
    public void Deposed(in ResponseFrame response, Exception cause)
    {
        WatchLeaderResponse? told = LeaderIn(response);
        bool isThere = told is not null && ServerAddress.TryParse(told.Leader, out ServerAddress leader)
            && leader == Round.Target;
        if (map is null || isThere)
            return;
        map.Join(this, Round.Target, told);
        ConnectAnew(cause);
    }

    /// <summary>Takes a Hello that a broker has answered.</summary>
    /// <param name="hello">Its answer.</param>
    /// <param name="ask">Asks it for the nodes of its cluster; null = it does not tell.</param>
    /// <exception cref="EQueueException">NotLeader: it leads no longer, for a newer epoch is known, or the link was
    /// told meanwhile to go elsewhere.</exception>
    public async ValueTask AdmitAsync(HelloResponse hello, Func<ValueTask<WatchLeaderResponse?>> ask)
    {
        if (map is not null && (hello.Features & HelloFeatures.Cluster) != 0)
        {
            // Before anything is numbered: whose addresses the others are.
            if (_cluster is not { HasNodes: true } cluster)
                cluster = map.Join(this, Round.Target, await ask().ConfigureAwait(false));
            cluster.Confirm(this, hello.StoreId, (int)Math.Min(hello.Incarnation, int.MaxValue));
        }

        lock (_gate)
        {
            if (_isGivenUp)
                throw new EQueueException(ErrorCode.NotLeader, $"{Round.Target} was left for the cluster's leader.");
            _isServed = true;
        }
    }

    /// <summary>Has the link connect anew, on another thread: the one that finds out must not run the callbacks of the
    /// calls that fail with the connection.</summary>
    /// <remarks>Nothing happens when it does so meanwhile, or when an attempt is admitted that was under way: then it
    /// is at a leader, and calls are.</remarks>
    public void ConnectAnew(Exception cause) => _ = Task.Run(Leaving(cause));

    /// <summary>What ends the attempt or connection that there is now, when it is called.</summary>
    internal Action Leaving(Exception cause)
    {
        long attempt;
        bool wasServed;
        lock (_gate)
            (attempt, wasServed) = (_attempt, _isServed);
        return () =>
        {
            lock (_gate)
            {
                // Of several who find out the first is enough.
                if (_attempt != attempt || _isServed != wasServed)
                    return;
                _isGivenUp = true;
            }

            Anew?.Invoke(cause);
        };
    }

    /// <summary>The link is over.</summary>
    public void Dispose() => map?.Forget(this);

    private static WatchLeaderResponse? LeaderIn(in ResponseFrame response) =>
        Payload.TryRead(response.PayloadSpan, out NotLeaderDetail detail) ? detail.Leader : null;
}

/// <summary>How far one link has come in trying the nodes of its cluster.</summary>
/// <param name="address">Where it begins.</param>
internal sealed class LinkRound(ServerAddress address)
{
    /// <summary>The node of the present attempt or connection.</summary>
    public ServerAddress Target { get; set; } = address;

    /// <summary>The nodes that were tried in this round.</summary>
    public HashSet<ServerAddress> Tried { get; } = [];

    /// <summary>The news under which they were tried.</summary>
    public int Version { get; set; }

    /// <summary>Rounds without success.</summary>
    public int Count { get; set; }

    /// <summary>The epoch of the leader that has admitted the link; 0 = none has.</summary>
    public int Epoch { get; set; }

    /// <summary>Whether an attempt is under way.</summary>
    public bool IsTrying { get; set; }

    /// <summary>Whether the node of the present attempt has answered.</summary>
    public bool HasAnswered { get; set; }

    /// <summary>Whether a node has said in this round that it does not lead.</summary>
    public bool HasHeard { get; set; }
}
