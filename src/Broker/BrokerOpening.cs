using EQueue.MessageStore;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Broker;

/// <summary>A broker whose store is open and which does not serve yet: for a node of a cluster, which serves when its
/// epoch has begun.</summary>
/// <remarks>One call at a time. Either <see cref="StartAsync"/> takes the store over, whatever becomes of it, or
/// <see cref="DisposeAsync"/> closes it.</remarks>
public sealed class BrokerOpening : IAsyncDisposable
{
    private readonly BrokerOptions _options;
    private readonly BrokerState _state;
    private readonly ILoggerFactory _loggers;
    private readonly GuardedLogger _logger;
    private readonly TimeProvider _time;
    private readonly bool _isNode;
    private bool _isTaken;

    private BrokerOpening(
        BrokerOptions options,
        QueueStore store,
        BrokerState state,
        ILoggerFactory loggers,
        GuardedLogger logger,
        TimeProvider time,
        bool isNode)
    {
        (_options, Store, _state, _loggers, _logger) = (options, store, state, loggers, logger);
        (_time, _isNode) = (time, isNode);
    }

    /// <summary>The broker's store.</summary>
    public QueueStore Store { get; }

    /// <summary>Opens the store of a broker that leads replicas, and brings its state back.</summary>
    /// <param name="options">How the broker runs. Where it listens is the listener's matter.</param>
    /// <param name="lead">The epoch, and what is known of the log.</param>
    /// <param name="loggerFactory">Where it logs; null = nowhere.</param>
    /// <param name="cancellationToken">Gives up; the directory is as it was.</param>
    /// <exception cref="ArgumentException">A setting is out of its range; the message names it.</exception>
    /// <exception cref="ReplicaException">The log does not fit what is said of it.</exception>
    /// <exception cref="DiskException">The directory is locked by another process, or cannot be read or
    /// written.</exception>
    /// <exception cref="InvalidDataException">The directory was written by a later version, or its state is
    /// damaged.</exception>
    public static Task<BrokerOpening> OpenAsync(
        BrokerOptions options,
        Lead lead,
        ILoggerFactory? loggerFactory = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(lead);
        return OpenAsync(
            options, lead, loggerFactory ?? NullLoggerFactory.Instance, TimeProvider.System, cancellationToken);
    }

    /// <summary>How a listener serves a broker with these options.</summary>
    /// <param name="options">The broker's.</param>
    /// <param name="logger">For what does not fit.</param>
    public static RemotingServerOptions ToListener(BrokerOptions options, ILogger logger)
    {
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();
        return ToRemoting(Fit(options), logger);
    }

    /// <summary>Serves: with the listener of a node, or one of its own.</summary>
    /// <param name="listener">Hands connections to <see cref="EQueueBroker.Handler"/>, and stays its owner's; null =
    /// the broker listens where its options say.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <remarks>The store of a leader must have begun its epoch. What the broker writes first waits until it is
    /// committed.</remarks>
    public async Task<EQueueBroker> StartAsync(RemotingServer? listener, CancellationToken cancellationToken)
    {
        _isTaken = true;
        (BrokerOptions options, QueueStore store, BrokerState state) = (_options, Store, _state);
        (GuardedLogger logger, TimeProvider time) = (_logger, _time);
        BacklogTable? backlogs = null;
        TopicCatalogue? catalogue = null;
        FetchHandler? fetch = null;
        HeartbeatHandler? heartbeats = null;
        QuotaTable? quotas = null;
        SecurityParts? security = null;
        RemotingServer? own = null;
        try
        {
            var counters = new BrokerCounters();
            var ledger = new MemoryLedger(options.Limits, store, state.Groups);
            var rules = new ProgressRules(state.Groups, ledger, options.Limits);
            var failures = new FailureAnswers(counters, logger);
            var generations = new GroupGenerations(store.Epoch);
            var groups = new GroupTable(
                state.Groups, options.Limits, options.Groups, generations, ledger, store.StoreId);
            backlogs = new BacklogTable(store, groups, counters, ledger.Parked, time, logger);
            catalogue = new TopicCatalogue(store, state, backlogs, options, logger);
            quotas = new QuotaTable(store, state.Quotas, counters, options.Limits, time, logger);
            await LoadAsync(store, state, catalogue, groups, backlogs, quotas, logger);
            security = new SecurityParts(
                store, state.Security, options.Security, ledger.Security, counters, time, logger);
            await security.Table.KeepMockKeyAsync(CancellationToken.None);
            fetch = new FetchHandler(
                store, catalogue, ledger.Sessions, counters, failures, quotas, options.Limits, time, logger);
            security.Watch(fetch);
            heartbeats = new HeartbeatHandler(
                store, catalogue, groups, generations, backlogs, ledger.Members, options, counters, failures, time,
                logger);
            var stats = new StatsHandler(store, catalogue, groups, backlogs, ledger, counters, security.Audit, time);
            var progress = new ProgressWriter(store, heartbeats, backlogs);
            var remover = new GroupRemover(progress);
            var commits = new CommitHandler(
                store, state.Groups, catalogue, groups, heartbeats, backlogs, rules, counters, failures);
            var admin = new GroupAdminHandler(
                store, state.Groups, catalogue, groups, generations, heartbeats, progress, remover, rules,
                ledger.Requests,
                logger);
            var dispatcher = new Dispatcher(
                new HelloHandler(store, options, security, time, _isNode),
                new TopicHandler(store, catalogue, groups, heartbeats),
                new ProduceHandler(store, catalogue, backlogs, quotas, counters, options, time),
                fetch, new OffsetHandler(store, catalogue), new HistoryHandler(store, catalogue), commits, heartbeats,
                admin, stats, new QuotaHandler(quotas), security, new AuditFacts(catalogue, quotas, security.Table),
                quotas, ledger, counters, failures, options, logger);
            own = listener is null ? new RemotingServer(ToRemoting(options, logger), dispatcher, _loggers) : null;
            ledger.Include(own ?? listener!);
            if (own is not null)
                await own.StartAsync(cancellationToken);
            LogStart(logger, options, store, catalogue, groups, own ?? listener!);
            var deletions = new DeletionWatch(catalogue, groups, time, logger);
            store.DeletionWatch = deletions;
            var retention = new RetentionLoop(store, catalogue, backlogs, deletions, options.Topics, time, logger);
            var expiry = new GroupExpiry(store, groups, remover, options.Groups, counters, time, logger);
            StartLoops(options, heartbeats, retention, expiry, security);
            var parts = new BrokerParts(
                store, catalogue, groups, backlogs, ledger, counters, security.Audit, options, time, logger);
            return new EQueueBroker(
                options, logger, store, backlogs, catalogue, fetch, heartbeats, ledger, quotas, security, stats,
                new BrokerMeter(parts), retention, expiry, dispatcher, own ?? listener!, ownsListener: own is not null);
        }
        catch
        {
            await GiveUpAsync(own, store, [fetch, heartbeats, quotas, security, catalogue, backlogs, logger]);
            throw;
        }
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        if (_isTaken)
            return;
        _isTaken = true;
        await Store.DisposeAsync();
        _logger.Dispose();
    }

    /// <summary>As the public one; a broker of its own has nothing to lead.</summary>
    internal static async Task<BrokerOpening> OpenAsync(
        BrokerOptions options,
        Lead? lead,
        ILoggerFactory loggers,
        TimeProvider time,
        CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(options);
        options.Validate();
        options = Fit(options);
        var logger = new GuardedLogger(loggers.CreateLogger("EQueue.Broker"), time);
        var state = new BrokerState();
        QueueStore store = await QueueStore.OpenAsync(
            options.EffectiveStore, state, loggers, time, lead, cancellationToken);
        return new BrokerOpening(options, store, state, loggers, logger, time, lead is not null);
    }

    private static BrokerOptions Fit(BrokerOptions options) =>
        options with { Limits = options.Limits.ForMemory(MemoryFacts.Read().UsableBytes, options.Store) };

    private static async Task GiveUpAsync(RemotingServer? server, QueueStore store, IDisposable?[] parts)
    {
        if (server is not null)
            await server.DisposeAsync();
        foreach (IDisposable? part in parts)
            part?.Dispose();
        await store.DisposeAsync();
    }

    private static async Task LoadAsync(
        QueueStore store,
        BrokerState state,
        TopicCatalogue catalogue,
        GroupTable groups,
        BacklogTable backlogs,
        QuotaTable quotas,
        ILogger logger)
    {
        catalogue.Load();
        quotas.Load();
        await GroupProgress.MendAsync(store, state.Groups, logger);
        int forgotten = groups.Load(catalogue);
        if (forgotten > 0)
            logger.OffsetsForgotten(forgotten);
        foreach (Topic topic in catalogue.Topics)
            await backlogs.MeasureAsync(topic.Backlog, topic.Queues);
    }

    private static void LogStart(
        ILogger logger,
        BrokerOptions options,
        QueueStore store,
        TopicCatalogue catalogue,
        GroupTable groups,
        RemotingServer server) => logger.Started(
            store.StoreId,
            Path.GetFullPath(options.DataDirectory),
            server.LocalEndPoint,
            store.Epoch,
            catalogue.Count,
            catalogue.QueueCount,
            groups.Count);

    private static void StartLoops(
        BrokerOptions options,
        HeartbeatHandler heartbeats,
        RetentionLoop retention,
        GroupExpiry expiry,
        SecurityParts security)
    {
        heartbeats.Start();
        security.Start();
        retention.Start();
        if (options.Groups.OffsetRetention > TimeSpan.Zero)
            expiry.Start();
    }

    private static RemotingServerOptions ToRemoting(BrokerOptions options, ILogger logger) => new()
    {
        Listen = HostPort.Split(options.Listen),
        InMemory = options.InMemory,
        Tls = options.Tls,
        MaxConnections = DescriptorPlan.Places(options.Limits.MaxConnections, logger),
        LocalConnections = options.Limits.LocalConnections,
        MaxConnectionsPerAddress = options.Limits.MaxConnectionsPerAddress,
        AdmissionTimeout = options.Limits.HelloTimeout,
        MinReceiveRate = options.Limits.MinReceiveRate,
        MaxFrameBytes = options.MaxFrameBytes,
        MaxQueuedSendBytes = options.MaxFrameBytes,
        ReceiveMemoryBytes = options.Limits.ReceiveBytes,
        SendMemoryBytes = options.Limits.MemoryBytes,
    };
}
