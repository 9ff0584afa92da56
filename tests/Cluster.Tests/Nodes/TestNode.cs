using System.Net;
using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Remoting;
using EQueue.Server.Engine;

namespace EQueue.Cluster.Tests;

/// <summary>A node in this process that can be started again in its directory and on its port.</summary>
internal sealed class TestNode(
    string name, string cluster, Uri etcd, string directory, FlushPolicy policy, ILoggerFactory loggers)
    : IAsyncDisposable
{
    private string _listen = "127.0.0.1:0";

    public string Name => name;

    public string Directory => directory;

    public string ShardDirectory => Path.Combine(directory, "shards", "0");

    /// <summary>Where it listens.</summary>
    public string Address => _listen;

    public ClusterNode? Node { get; private set; }

    public EQueueBroker? Broker { get; private set; }

    /// <summary>Whether it has ever listened.</summary>
    public bool HasStarted => !_listen.EndsWith(":0", StringComparison.Ordinal);

    public bool IsServing => Node is { IsServing: true };

    /// <summary>Where this node finds etcd.</summary>
    public Uri Etcd { get; set; } = etcd;

    public FlushPolicy Policy { get; set; } = policy;

    public string Secret { get; set; } = "";

    /// <summary>Whether segments and messages are small.</summary>
    public bool IsSmall { get; set; }

    public TimeSpan HelloTimeout { get; set; } = TimeSpan.FromSeconds(10);

    /// <summary>Null for the real one.</summary>
    public IDisk? Disk { get; set; }

    public TimeSpan NodeKeyInterval { get; set; } = TimeSpan.FromMinutes(1);

    /// <summary>Others reach this node by it; null for no detour.</summary>
    public LinkProxy? Detour { get; set; }

    public async Task StartAsync()
    {
        var options = new BrokerOptions
        {
            DataDirectory = directory,
            Listen = _listen,
            Security = new SecurityOptions { Unauthenticated = UnauthenticatedAccess.Owner },
            Limits = new LimitOptions { MaxMessageBytes = IsSmall ? 64 << 10 : 4 << 20, HelloTimeout = HelloTimeout },
            Store = new StoreOptions
            {
                DataDirectory = directory,
                FlushPolicy = Policy,
                Disk = Disk,
                SegmentSizeBytes = IsSmall ? 1 << 20 : 64 << 20,
                MaxBatchBytes = IsSmall ? 128 << 10 : 8 << 20,
            },
        };
        var engines = new BrokerEngines(options, loggers, broker => Broker = broker);
        Node = await ClusterNode.StartAsync(
            new ClusterOptions
            {
                Node = name,
                Name = cluster,
                Etcd = [Etcd],
                Secret = Secret,
                NodeKeyInterval = NodeKeyInterval,
                AdvertisedAddress = Detour?.Address,
            },
            engines,
            loggers,
            cancellationToken: TestContext.Current.CancellationToken);
        _listen = HostPort.Format(Node.EndPoint);
        if (Detour is { } detour)
            detour.Target = (IPEndPoint)Node.EndPoint;
    }

    /// <summary>Stops in order.</summary>
    public async Task StopAsync()
    {
        if (Node is { } node)
            await node.StopAsync(CancellationToken.None);
        Node = null;
    }

    /// <summary>Ends as a process that is killed.</summary>
    public async Task KillAsync()
    {
        if (Node is { } node)
            await node.AbortAsync();
        Node = null;
    }

    public async ValueTask DisposeAsync() => await StopAsync();
}
