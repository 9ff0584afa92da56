using System.Net;
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
    private readonly string[] _options;

    private ProcessCluster(EtcdServer etcd, bool isSync, string[] options)
    {
        (_etcd, _isSync, _options) = (etcd, isSync, options);
        Shard = new EtcdShard(etcd.Client, _name, null);
    }

    public EtcdShard Shard { get; }

    public ServerProcess[] Nodes { get; } = new ServerProcess[Names.Length];

    /// <summary>Stands before each node: clients and the other nodes reach it there.</summary>
    public LinkProxy[] Doors { get; } = [.. Names.Select(_ => new LinkProxy())];

    /// <param name="etcd">The cluster's.</param>
    /// <param name="isSync">The flush policy.</param>
    /// <param name="options">Settings of every node.</param>
    public static async Task<ProcessCluster> StartAsync(EtcdServer etcd, bool isSync, params string[] options)
    {
        var cluster = new ProcessCluster(etcd, isSync, options);
        var record = new ClusterRecord(
            Guid.NewGuid(), Guid.NewGuid(), Guid.NewGuid(), DateTimeOffset.UtcNow, 1, isSync);
        Assert.True(await cluster.Shard.CreateAsync(record, Names, null, TestContext.Current.CancellationToken));
        for (int node = 0; node < Names.Length; node++)
        {
            cluster.Nodes[node] = await cluster.StartNodeAsync(node);
            cluster.Doors[node].Target = IPEndPoint.Parse(cluster.Nodes[node].Address);
        }

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
        new(new ClientOptions { Addresses = string.Join(',', Doors.Select(door => door.Address)) });

    /// <summary>Stops all nodes in order; those that had a seat have the same log, byte for byte.</summary>
    /// <returns>How many bytes were compared.</returns>
    public async Task<long> CompareLogsAsync()
    {
        foreach (ServerProcess node in Nodes)
            Assert.Equal(0, await node.StopAsync());
        return LogComparison.AssertEqual(Names.Select((_, node) => DirectoryOf(node)));
    }

    /// <summary>The lines at the levels Error and Critical that the nodes have logged.</summary>
    public IEnumerable<string> Errors => Nodes.SelectMany(node => node.Error.Split('\n'))
        .Where(line => line.Contains(" ERR ", StringComparison.Ordinal) || line.Contains(" CRT ", StringComparison.Ordinal));

    /// <summary>What all nodes have written to their logs, for the message of a test that failed.</summary>
    public string Describe() => string.Join('\n', Nodes.Select((node, i) => $"--- {Names[i]} {node.Address}\n{node.Error}"));

    public async ValueTask DisposeAsync()
    {
        foreach (ServerProcess? node in Nodes)
        {
            if (node is null)
                continue;
            node.Resume();
            await node.DisposeAsync();
        }

        foreach (LinkProxy door in Doors)
            await door.DisposeAsync();

        _directory.Dispose();
    }

    private Task<ServerProcess> StartNodeAsync(int node) => ServerProcess.StartAsync(
        DirectoryOf(node),
        ["--flush", _isSync ? "sync" : "async",
            "--Cluster:Node", Names[node],
            "--Cluster:Name", _name,
            "--Cluster:Etcd", _etcd.Process.Address.ToString(),
            "--Cluster:AdvertisedAddress", Doors[node].Address,
            "--Server:AllowUnauthenticatedLocalAccess", "true",
            .. _options]);
}
