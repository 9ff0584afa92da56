using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Server.Configuration;

namespace EQueue.Server.Hosting;

/// <summary>Runs the broker between the host's start and stop, and ends the host when the store fails.</summary>
/// <remarks>Owns the broker. The host calls start and stop once each; the admin pages ask from any thread.</remarks>
internal sealed class BrokerService(
    ServerOptions options,
    ServerOutcome outcome,
    IHostApplicationLifetime lifetime,
    ILoggerFactory loggers,
    ILogger<BrokerService> logger) : IHostedService
{
    private EQueueBroker? _broker;
    private Task _watch = Task.CompletedTask;
    private volatile bool _isStopping;

    /// <summary>The broker once it serves, until it stops or fails.</summary>
    public EQueueBroker? Serving
        => _broker is { Completion.IsCompleted: false } broker && !_isStopping ? broker : null;

    public async Task StartAsync(CancellationToken cancellationToken)
    {
        string policy = options.Broker.Store.FlushPolicy == FlushPolicy.Sync ? "sync" : "async";
        if (options.Broker.Store.Disk is MemoryDisk memory)
            Log.InMemory(logger, memory.LimitBytes);
        else
            Log.Opening(logger, options.Broker.DataDirectory, policy);
        EQueueBroker broker = await EQueueBroker.StartAsync(options.Broker, loggers, cancellationToken);
        _broker = broker;
        _watch = WatchAsync(broker);
    }

    public async Task StopAsync(CancellationToken cancellationToken)
    {
        _isStopping = true;
        if (_broker is not { } broker) return;
        Log.Stopping(logger);
        bool hasFailed = broker.Completion.IsFaulted;
        try
        {
            await broker.StopAsync(cancellationToken);
        }
        catch (Exception) when (hasFailed)
        {
            // The store's fault was logged when it happened; closing a failed store may well fail again.
        }

        await _watch;
    }

    private async Task WatchAsync(EQueueBroker broker)
    {
        try
        {
            await broker.Completion;
        }
        catch (Exception cause)
        {
            Log.StoreFailed(logger, cause);
            outcome.Fail(ExitCode.StoreFault);
            lifetime.StopApplication();
        }
    }
}
