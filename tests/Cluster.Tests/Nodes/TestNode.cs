using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Remoting;
using EQueue.Server.Hosting;

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

    public string Address => _listen;

    public ClusterNode? Node { get; private set; }

    public EQueueBroker? Broker { get; private set; }

    public bool IsServing => Node is { IsServing: true };

    public async Task StartAsync()
    {
        var options = new BrokerOptions
        {
            DataDirectory = directory,
            Listen = _listen,
            Store = new StoreOptions { DataDirectory = directory, FlushPolicy = policy },
        };
        var engines = new BrokerEngines(options, loggers, broker => Broker = broker);
        Node = await ClusterNode.StartAsync(
            new ClusterOptions { Node = name, Name = cluster, Etcd = [etcd] },
            engines,
            loggers,
            cancellationToken: TestContext.Current.CancellationToken);
        _listen = HostPort.Format(Node.EndPoint);
    }

    /// <summary>Stops in order.</summary>
    public async Task StopAsync()
    {
        if (Node is { } node) await node.StopAsync(CancellationToken.None);
        Node = null;
    }

    public async ValueTask DisposeAsync() => await StopAsync();
}
