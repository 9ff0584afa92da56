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
        var context = new ModuleContext(_options, Store, _state, _time, _logger, _isNode);
        BrokerModules? modules = null;
        RemotingServer? own = null;
        try
        {
            modules = new BrokerModules(context);
            await modules.LoadAsync();
            var dispatcher = new Dispatcher(context, modules);
            own = listener is null ? new RemotingServer(ToRemoting(_options, _logger), dispatcher, _loggers) : null;
            RemotingServer serving = own ?? listener!;
            context.Ledger.Include(serving);
            if (own is not null)
                await own.StartAsync(cancellationToken);
            LogStart(context, modules, serving);
            modules.Start();
            return new EQueueBroker(context, modules, dispatcher, serving, ownsListener: own is not null);
        }
        catch
        {
            if (own is not null)
                await own.DisposeAsync();
            if (modules is not null)
                await modules.CloseAsync();
            else
                await Store.DisposeAsync();
            _logger.Dispose();
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

    private static void LogStart(ModuleContext context, BrokerModules modules, RemotingServer server) =>
        context.Logger.Started(
            context.Store.StoreId,
            Path.GetFullPath(context.Options.DataDirectory),
            server.LocalEndPoint,
            context.Store.Epoch,
            modules.Topics.Count,
            modules.Topics.QueueCount,
            modules.Groups.Table.Count);

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
