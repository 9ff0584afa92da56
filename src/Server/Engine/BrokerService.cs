using System.Net;
using System.Net.Sockets;
using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Server.Configuration;
using EQueue.Server.Security;
using ClusterNode = EQueue.Cluster.ClusterNode;

namespace EQueue.Server.Engine;

/// <summary>Runs the broker between the host's start and stop, and ends the host when the store fails.</summary>
/// <remarks>Owns the broker. The host calls start and stop once each; the admin pages ask from any thread.</remarks>
internal sealed class BrokerService(
    ServerOptions options,
    ServerOutcome outcome,
    IHostApplicationLifetime lifetime,
    ILoggerFactory loggers,
    ILogger<BrokerService> logger,
    TimeProvider time) : IHostedService, IDisposable
{
    private const int SmallestFrameBytes = 16 << 20;
    private const int BesideBatch = 1 << 20;

    private readonly AuditTrail _audit = new(options, time, logger);
    private volatile EQueueBroker? _broker;
    private volatile ClusterNode? _node;
    private Task _watch = Task.CompletedTask;
    private volatile bool _isStopping;

    /// <summary>The broker once it serves, until the server begins to stop or the store fails.</summary>
    public EQueueBroker? Serving
        => _broker is { Completion.IsCompleted: false } broker && !IsStopping ? broker : null;

    /// <summary>Whether the server does what it is there for: serves, or as a node of a cluster follows or waits for
    /// who leads.</summary>
    public bool IsReady => Serving is not null || (_node is { Completion.IsCompleted: false } && !IsStopping);

    /// <summary>Where it listens; null before it does.</summary>
    public EndPoint? EndPoint => _node?.EndPoint ?? _broker?.EndPoint;

    /// <summary>Where the admin port reaches the broker within the process; null: there is no admin port.</summary>
    public InMemoryEndPoint? InMemory { get; } = options.HasAdmin ? new InMemoryEndPoint() : null;

    /// <summary>The longest frame that the broker may send there.</summary>
    public int MaxFrameBytes => Math.Max(SmallestFrameBytes, options.Broker.Store.MaxBatchBytes + BesideBatch);

    /// <summary>Cancelled when the server begins to stop.</summary>
    public CancellationToken Stopping => lifetime.ApplicationStopping;

    private bool IsStopping => _isStopping || Stopping.IsCancellationRequested;

    /// <summary>Throws unless the broker serves.</summary>
    /// <exception cref="EQueueException">Why not: Unreachable (not yet), ShuttingDown, StoreFaulted.</exception>
    public void CheckServing()
    {
        if (Serving is not null)
            return;
        if (_broker is { Completion.IsFaulted: true })
            throw new EQueueException(ErrorCode.StoreFaulted);
        if (_node is { } node && !IsStopping)
        {
            string leader = node.Leader.Leader;
            throw new EQueueException(ErrorCode.NotLeader, leader.Length > 0
                ? $"This node does not lead: ask the one at {leader}."
                : "This node does not lead, and no leader is known.");
        }

        throw IsStopping
            ? new EQueueException(ErrorCode.ShuttingDown)
            : new EQueueException(ErrorCode.Unreachable, "The broker is opening its store; it does not serve yet.")
            {
                RetryAfter = TimeSpan.FromSeconds(1),
            };
    }

    public async Task StartAsync(CancellationToken cancellationToken)
    {
        string policy = options.Broker.Store.FlushPolicy == FlushPolicy.Sync ? "sync" : "async";
        if (options.Broker.Store.Disk is MemoryDisk memory)
            Log.InMemory(logger, memory.LimitBytes);
        else
            Log.Opening(logger, options.Broker.DataDirectory, policy);
        foreach ((string setting, string path, string others, string mode) in KeyFiles.FindReadable(options))
            Log.KeyReadable(logger, setting, path, others, mode);
        IdentityNotice.Write(options, logger);
        if (AddressSpace.FindLimit() is { } addresses)
            Log.AddressSpaceLimited(logger, addresses);
        try
        {
            SecurityOptions security = options.Broker.Security with { Audit = _audit.Begin() };
            BrokerOptions wanted = options.Broker with { InMemory = InMemory, Security = security };
            if (options.IsNode)
                await StartNodeAsync(wanted, cancellationToken);
            else
                await StartBrokerAsync(wanted, cancellationToken);
        }
        catch (SocketException exception)
        {
            throw new PortException("Server:Listen", options.Broker.Listen, exception);
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Full)
        {
            string shortage = $"{exception.Message} {VolumeRoom.FindShortage(options)}";
            throw new VolumeFullException(shortage.TrimEnd(), exception);
        }

        if (VolumeRoom.FindShortage(options) is { } missing)
            Log.NoRoom(logger, missing);
        _audit.Open();
    }

    public async Task StopAsync(CancellationToken cancellationToken)
    {
        _isStopping = true;
        if (_node is null && _broker is null)
            return;
        Log.Stopping(logger);
        if (_node is { } node)
            await node.StopAsync(cancellationToken);
        else
            await StopBrokerAsync(_broker!, cancellationToken);
        await _watch;
        _audit.Dispose();
    }

    /// <summary>Writes the audit lines that wait, where the broker was not stopped.</summary>
    public void Dispose() => _audit.Dispose();

    private async Task StartBrokerAsync(BrokerOptions wanted, CancellationToken cancellationToken)
    {
        ClusterFiles.CheckDirectory(options);
        EQueueBroker broker = await EQueueBroker.StartAsync(wanted, loggers, cancellationToken);
        _broker = broker;
        _watch = WatchAsync(broker.Completion);
    }

    private static async Task StopBrokerAsync(EQueueBroker broker, CancellationToken cancellationToken)
    {
        bool hasFailed = broker.Completion.IsFaulted;
        try
        {
            await broker.StopAsync(cancellationToken);
        }
        catch (Exception) when (hasFailed)
        {
            // The store's fault was logged when it happened; closing a failed store may well fail again.
        }
    }

    private async Task StartNodeAsync(BrokerOptions wanted, CancellationToken cancellationToken)
    {
        var engines = new BrokerEngines(wanted, loggers, broker => _broker = broker);
        ClusterNode node = await ClusterNode.StartAsync(
            ClusterFiles.Read(options), engines, loggers, time, cancellationToken);
        _node = node;
        _watch = WatchAsync(node.Completion);
        _ = Task.Run(WarmUpAsync, CancellationToken.None);
    }

    private async Task WarmUpAsync()
    {
        try
        {
            await EngineWarmUp.RunAsync(Stopping);
        }
        catch (OperationCanceledException) when (IsStopping)
        {
            // The node has its time no more.
        }
        catch (Exception cause)
        {
            Log.NotWarm(logger, cause);
        }
    }

    private async Task WatchAsync(Task completion)
    {
        try
        {
            await completion;
        }
        catch (Exception cause)
        {
            // A node reads etcd and opens its directory after it has started: what keeps it from that is told as at
            // the start of a broker.
            (int exitCode, string reason) = StartFailure.Explain(cause);
            bool isNoFault = options.IsNode && exitCode is ExitCode.Configuration or ExitCode.DataDirectory;
            if (isNoFault)
                Log.NodeEnds(logger, reason);
            else
                Log.StoreFailed(logger, cause);
            outcome.Fail(isNoFault ? exitCode : ExitCode.StoreFault);
            lifetime.StopApplication();
        }
    }
}
