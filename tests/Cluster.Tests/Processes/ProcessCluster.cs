using EQueue.Client;
using EQueue.Cluster.Etcd;
using EQueue.Cluster.Tests.Etcd;
using EQueue.Replication;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>Three nodes in processes of their own, with an etcd.</summary>
internal sealed class ProcessCluster : IAsyncDisposable
{
    private static readonly string[] Names = ["a", "b", "c"];

    private readonly TempDirectory _directory = new();
    private readonly EtcdServer _etcd;
    private readonly string _name = "test-" + Guid.NewGuid().ToString("N")[..12];
    private readonly bool _isSync;

    private ProcessCluster(EtcdServer etcd, bool isSync)
    {
        (_etcd, _isSync) = (etcd, isSync);
        Shard = new EtcdShard(etcd.Client, _name, null);
    }

    public EtcdShard Shard { get; }

    public ServerProcess[] Nodes { get; } = new ServerProcess[Names.Length];

    public static async Task<ProcessCluster> StartAsync(EtcdServer etcd, bool isSync)
    {
        var cluster = new ProcessCluster(etcd, isSync);
        var record = new ClusterRecord(
            Guid.NewGuid(), Guid.NewGuid(), Guid.NewGuid(), DateTimeOffset.UtcNow, 1, isSync);
        Assert.True(await cluster.Shard.CreateAsync(record, Names, null, TestContext.Current.CancellationToken));
        for (int node = 0; node < Names.Length; node++) cluster.Nodes[node] = await cluster.StartNodeAsync(node);
        return cluster;
    }

    public string DirectoryOf(int node) => _directory[Names[node]];

    /// <summary>The state in etcd.</summary>
    public async Task<ShardState?> ReadStateAsync() =>
        (await Shard.ReadAsync(TestContext.Current.CancellationToken))?.Shard.State;

    /// <summary>The index of the node that leads.</summary>
    public async Task<int> LeaderAsync() => Array.IndexOf(Names, (await ReadStateAsync())?.Leader.Node);

    /// <summary>Waits until so many seats are taken.</summary>
    public Task SeatsAsync(int count) =>
        Eventually.TrueAsync(async () => (await ReadStateAsync()) is { } state && state.Seats.Count == count
            && state.Leader.Node is not null);

    public EQueueClient Connect() =>
        new(new ClientOptions { Addresses = string.Join(',', Nodes.Select(node => node.Address)) });

    /// <summary>What all nodes have written to their logs, for the message of a test that failed.</summary>
    public string Describe() => string.Join('\n', Nodes.Select((node, i) => $"--- {Names[i]} {node.Address}\n{node.Error}"));

    public async ValueTask DisposeAsync()
    {
        foreach (ServerProcess? node in Nodes)
        {
            if (node is null) continue;
            node.Resume();
            await node.DisposeAsync();
        }

        _directory.Dispose();
    }

    private Task<ServerProcess> StartNodeAsync(int node) => ServerProcess.StartAsync(
        DirectoryOf(node),
        "--flush", _isSync ? "sync" : "async",
        "--Cluster:Node", Names[node],
        "--Cluster:Name", _name,
        "--Cluster:Etcd", _etcd.Process.Address.ToString(),
        "--Server:AllowUnauthenticatedLocalAccess", "true");
}
