using EQueue.Load.Clusters;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>A broker of one run: a process of its own with a fresh directory, which goes with it; or a cluster, which is
/// one broker on several nodes.</summary>
internal sealed class RunBroker : IAsyncDisposable
{
    private readonly IAsyncDisposable _process;
    private RunCluster? _cluster;
    private ClusterState? _began;

    private RunBroker(IAsyncDisposable process, string directory, string server)
    {
        _process = process;
        DataDirectory = directory;
        Server = server;
        Client = LoadClient.To(server);
    }

    /// <summary>Where it listens.</summary>
    public string Server { get; }

    /// <summary>Where its admin port is; null: it is not the server program and has none.</summary>
    public string? Admin { get; private init; }

    /// <summary>Of a cluster that of the node that leads.</summary>
    public int ProcessId { get; private init; }

    /// <summary>The other nodes of a cluster.</summary>
    public IReadOnlyList<int> FollowerIds { get; private init; } = [];

    public string DataDirectory { get; }

    /// <summary>Administers it, and asks for its figures.</summary>
    public EQueueClient Client { get; }

    /// <param name="maxConnections">That it takes; null: as many as the product's own setting.</param>
    public static async Task<RunBroker> StartAsync(
        LoadSession session, FlushMode flush, int? maxConnections, CancellationToken cancellationToken)
    {
        string directory = session.Workspace.NewPath("broker");
        RoleProcess process = session.Start(RoleList.Broker);
        var order = new BrokerOrder(directory, flush) { MaxConnections = maxConnections };
        BrokerResult started = await process.CallAsync<BrokerResult>("start", order, cancellationToken);
        return new RunBroker(process, directory, started.Server) { ProcessId = process.ProcessId };
    }

    /// <summary>Starts the server program, with its admin port, in place of a bare broker.</summary>
    public static async Task<RunBroker> StartServerAsync(
        LoadSession session, FlushMode flush, CancellationToken cancellationToken)
    {
        string directory = session.Workspace.NewPath("broker");
        RoleProcess process = session.Start(RoleList.Server);
        var order = new ServerOrder(directory, flush) { HasAdmin = true };
        ServerResult started = await process.CallAsync<ServerResult>("start", order, cancellationToken);
        return new RunBroker(process, directory, started.Server)
        {
            Admin = started.Admin,
            ProcessId = started.ProcessId,
        };
    }

    /// <summary>Starts a cluster of three nodes, and waits until each has a seat.</summary>
    public static async Task<RunBroker> StartClusterAsync(
        LoadSession session, FlushMode flush, CancellationToken cancellationToken)
    {
        RunCluster cluster = await RunCluster.StartAsync(session, flush, cancellationToken);
        ClusterState state = await cluster.StateAsync(cancellationToken);
        return new RunBroker(cluster, cluster.StoreOf(state.Leader!), cluster.Server)
        {
            _cluster = cluster,
            _began = state,
            ProcessId = cluster.ProcessIdOf(state.Leader!),
            FollowerIds = [.. RunCluster.Others(state.Leader!).Select(cluster.ProcessIdOf)],
        };
    }

    /// <summary>Demands that the figures are of one leader and of nodes that all had a seat.</summary>
    /// <exception cref="LoadException">Another node leads, or one lacks its seat.</exception>
    public async Task DemandSteadyAsync(CancellationToken cancellationToken)
    {
        if (_cluster is null)
            return;
        ClusterState state = await _cluster.HealthyAsync(cancellationToken);
        if (state != _began)
            throw LoadException.Failed($"the cluster changed during the run: from {_began} to {state}");
    }

    public async Task CreateTopicAsync(
        string topic, int queues, long? maxBacklog, CancellationToken cancellationToken)
    {
        var settings = new TopicSettings { QueueCount = queues, MaxBacklogMessages = maxBacklog };
        await Client.Admin.CreateTopicAsync(topic, settings, cancellationToken);
    }

    public Task<BrokerStats> ReadStatsAsync(CancellationToken cancellationToken) =>
        BrokerStats.TakeAsync([Client], cancellationToken);

    /// <summary>Compares what was acknowledged with what stands in the files of brokers.</summary>
    /// <param name="faults">Whether the files are to be made shorter before.</param>
    public static async Task CheckFilesAsync(
        IReadOnlyList<RunBroker> brokers,
        Figures figures,
        long acknowledged,
        Faults faults,
        CancellationToken cancellationToken)
    {
        if (faults.HasFlag(Faults.Short))
            LogTally.Shorten(brokers[0].DataDirectory);
        long? stored = 0;
        foreach (RunBroker broker in brokers)
            stored += await Task.Run(() => LogTally.Count(broker.DataDirectory), cancellationToken);
        figures[FigureNames.Unstored] = stored is { } count ? Math.Max(0, acknowledged - count) : null;
        figures.Note(FigureNames.Unstored, "the broker removed or packed segments meanwhile");
    }

    public async ValueTask DisposeAsync()
    {
        await Client.DisposeAsync();
        await _process.DisposeAsync();
        Workspace.Remove(DataDirectory);
    }
}
