using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Which addresses are nodes of one cluster, as the nodes themselves tell it.</summary>
/// <remarks>Thread-safe; empty for a client of single brokers. Each cluster has a watch, which ends with the
/// map.</remarks>
/// <param name="options">The client's.</param>
/// <param name="given">The addresses that the application gave.</param>
/// <param name="changed">Told when given addresses turn out to be nodes of a cluster, before a link to it is used; what
/// it returns is done outside of the gate.</param>
internal sealed class ClusterMap(ClientOptions options, IReadOnlyList<ServerAddress> given, Func<Action> changed)
    : IAsyncDisposable
{
    private readonly Lock _gate = new();
    private readonly Dictionary<ServerAddress, Cluster> _clusters = [];
    private readonly HashSet<LinkPlan> _links = [];
    private readonly List<LeaderWatch> _watches = [];
    private readonly Endings _ended = new();
    private bool _isDisposed;

    /// <summary>The cluster that an address is a node of; null = it is none, as far as it is known.</summary>
    public Cluster? Of(ServerAddress address)
    {
        lock (_gate)
            return _clusters.GetValueOrDefault(address);
    }

    /// <summary>The plan of a new link, which disposes it.</summary>
    public LinkPlan Plan(ServerAddress address, ConnectReports reports)
    {
        var link = new LinkPlan(address, this, reports);
        lock (_gate)
        {
            _links.Add(link);
            if (_clusters.TryGetValue(address, out Cluster? cluster))
                link.Follow(cluster);
        }

        return link;
    }

    public void Forget(LinkPlan link)
    {
        lock (_gate)
        {
            _links.Remove(link);
            link.Cluster?.Remove(link);
        }
    }

    /// <summary>An address has answered as a node of a cluster.</summary>
    /// <param name="teller">The link that was answered; null = a watch was.</param>
    /// <param name="node">The address.</param>
    /// <param name="told">The nodes and the leader, as it tells them; null = it has not.</param>
    public Cluster Join(LinkPlan? teller, ServerAddress node, WatchLeaderResponse? told)
    {
        ServerAddress? leader = told is not null && ServerAddress.TryParse(told.Leader, out ServerAddress leading)
            ? leading : null;
        List<ServerAddress> nodes = [node];
        if (leader is { } named)
            nodes.Add(named);
        foreach (string text in told?.Nodes ?? [])
        {
            if (ServerAddress.TryParse(text, out ServerAddress other))
                nodes.Add(other);
        }

        List<LinkPlan> joined = [];
        Cluster? cluster;
        Action? leave = null;
        lock (_gate)
        {
            Cluster[] known = [.. nodes.Select(one => _clusters.GetValueOrDefault(one)).OfType<Cluster>().Distinct()];
            cluster = known.FirstOrDefault();
            bool isNew = cluster is null;
            bool hasJoined = known.Length > 1;
            foreach (Cluster? other in known.Skip(1))
                Unite(other, cluster!, joined);
            cluster ??= new Cluster(given.Where(nodes.Contains).Append(node).First(), options);
            foreach (ServerAddress one in nodes)
            {
                bool isGiven = given.Contains(one);
                if (_clusters.TryAdd(one, cluster))
                {
                    cluster.AddNode(one, isGiven);
                    hasJoined |= isGiven;
                }
            }

            if (hasJoined)
                leave = changed();

            foreach (LinkPlan link in _links)
            {
                if (link.Cluster is null && _clusters.GetValueOrDefault(link.Address) == cluster)
                    joined.Add(link);
            }

            joined.ForEach(link => link.Follow(cluster));
            if (isNew && !_isDisposed)
                _watches.Add(new LeaderWatch(this, cluster, node, options));
        }

        if (told is not null)
            cluster.Learn(told, leader, teller);
        foreach (LinkPlan link in joined)
        {
            // What they try alone may hang: the others know better. Unless it is the leader.
            if (link != teller && !link.IsServed && link.Round.Target != leader)
                link.ConnectAnew(new EQueueException(ErrorCode.NotLeader, $"{link.Address} is a node of a cluster."));
        }

        leave?.Invoke();
        return cluster;
    }

    /// <summary>Nodes that knew nothing of each other when they were asked first are of one cluster. Under the
    /// gate.</summary>
    private void Unite(Cluster other, Cluster cluster, List<LinkPlan> joined)
    {
        foreach ((ServerAddress node, Cluster _) in _clusters.Where(pair => pair.Value == other).ToArray())
        {
            _clusters[node] = cluster;
            cluster.AddNode(node, given.Contains(node));
        }

        foreach (LinkPlan? link in _links.Where(link => link.Cluster == other))
        {
            other.Remove(link);
            link.Follow(cluster);
            joined.Add(link);
        }

        foreach (LeaderWatch? watch in _watches.Where(watch => watch.Cluster == other).ToArray())
        {
            _watches.Remove(watch);
            _ended.Begin(watch);
        }
    }

    public async ValueTask DisposeAsync()
    {
        LeaderWatch[] watches;
        lock (_gate)
        {
            _isDisposed = true;
            watches = [.. _watches];
        }

        foreach (LeaderWatch watch in watches)
            await watch.DisposeAsync().ConfigureAwait(false);
        await _ended.WhenAllAsync().ConfigureAwait(false);
    }
}
