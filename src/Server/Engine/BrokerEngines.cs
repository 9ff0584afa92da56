using EQueue.Broker;
using EQueue.Cluster;
using EQueue.MessageStore;
using EQueue.Remoting;

namespace EQueue.Server.Engine;

/// <summary>Makes brokers for a node of a cluster.</summary>
/// <param name="options">How the broker runs; its directory and listener are the node's.</param>
/// <param name="loggers">Where it logs.</param>
/// <param name="served">Told of the broker that serves now, and of null when none does any more.</param>
internal sealed class BrokerEngines(BrokerOptions options, ILoggerFactory loggers, Action<EQueueBroker?> served)
    : IEngineFactory
{
    /// <summary>What a frame between nodes holds beside the entries of one request.</summary>
    private const int BesideEntries = 1 << 20;

    /// <inheritdoc/>
    public StoreOptions Store { get; } = options.Store with { DataDirectory = options.DataDirectory };

    /// <inheritdoc/>
    public RemotingServerOptions Listener { get; } = Widen(
        BrokerOpening.ToListener(options, loggers.CreateLogger("EQueue.Broker")));

    /// <inheritdoc/>
    public async Task<IShardEngine> OpenAsync(string directory, Lead lead, CancellationToken cancellationToken) =>
        new Engine(
            await BrokerOpening.OpenAsync(
                options with { DataDirectory = directory }, lead, loggers, cancellationToken),
            served);

    private static RemotingServerOptions Widen(RemotingServerOptions listener) => listener with
    {
        MaxFrameBytes = listener.MaxFrameBytes + BesideEntries,
        MaxQueuedSendBytes = listener.MaxQueuedSendBytes + BesideEntries,
    };

    private sealed class Engine(BrokerOpening opening, Action<EQueueBroker?> served) : IShardEngine
    {
        private EQueueBroker? _broker;

        public QueueStore Store => opening.Store;

        public Task Completion => opening.Store.Completion;

        public async Task<IConnectionHandler> ServeAsync(RemotingServer listener, CancellationToken cancellationToken)
        {
            _broker = await opening.StartAsync(listener, cancellationToken);
            served(_broker);
            return _broker.Handler;
        }

        public async Task StopAsync(CancellationToken cancellationToken)
        {
            served(null);
            if (_broker is { } broker)
                await broker.StopAsync(cancellationToken);
            else
                await opening.DisposeAsync();
        }

        public async ValueTask DisposeAsync() => await StopAsync(new CancellationToken(canceled: true));
    }
}
