using EQueue.MessageStore;
using EQueue.Remoting;

namespace EQueue.Cluster;

/// <summary>What runs on a shard's log while this node leads it: a broker.</summary>
/// <remarks>Made at a promotion, disposed when the epoch is over.</remarks>
public interface IShardEngine : IAsyncDisposable
{
    /// <summary>The log, open to lead.</summary>
    QueueStore Store { get; }

    /// <summary>Completes when the engine has stopped; faults when its store has failed.</summary>
    Task Completion { get; }

    /// <summary>Begins to serve, once the epoch is committed.</summary>
    /// <param name="listener">The node's.</param>
    /// <param name="cancellationToken">The epoch is over, or the node stops.</param>
    /// <returns>Serves the connections that the listener hands over.</returns>
    Task<IConnectionHandler> ServeAsync(RemotingServer listener, CancellationToken cancellationToken);

    /// <summary>Stops in order: answers what was read, makes everything durable, marks the directory as
    /// clean.</summary>
    Task StopAsync(CancellationToken cancellationToken);
}

/// <summary>Makes engines.</summary>
public interface IEngineFactory
{
    /// <summary>How the engine's store is kept. Its directory is the node's: each shard has one below it.</summary>
    StoreOptions Store { get; }

    /// <summary>How the node listens.</summary>
    RemotingServerOptions Listener { get; }

    /// <summary>Opens the shard's log to lead.</summary>
    /// <param name="directory">The shard's.</param>
    /// <param name="lead">The epoch, and what is known of the log.</param>
    /// <param name="cancellationToken">Gives up.</param>
    Task<IShardEngine> OpenAsync(string directory, Lead lead, CancellationToken cancellationToken);
}
