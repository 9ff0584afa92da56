using System.Runtime.Versioning;
using EQueue.Cluster.Etcd;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>A cluster of server processes: the settings are what a person gives them.</summary>
[SupportedOSPlatform("linux")]
internal sealed class ServerCluster : IAsyncDisposable
{
    private readonly TempDirectory _directory = new();
    private readonly List<ServerProcess> _servers = [];
    private readonly Uri _etcd;

    private ServerCluster(EtcdClient etcd, Uri address, string name)
    {
        (_etcd, Name) = (address, name);
        Shard = new EtcdShard(etcd, name, null);
    }

    public string Name { get; }

    public EtcdShard Shard { get; }

    public TempDirectory Directory => _directory;

    /// <summary>Creates a cluster with these nodes; none runs yet.</summary>
    /// <param name="etcd">With what it is created.</param>
    /// <param name="address">Where the nodes find etcd.</param>
    /// <param name="nodes">The first one begins.</param>
    public static async Task<ServerCluster> CreateAsync(EtcdClient etcd, Uri address, params string[] nodes)
    {
        ServerCluster cluster = Of(etcd, address);
        await cluster.CreateAsync(nodes);
        return cluster;
    }

    /// <summary>One that etcd does not know yet.</summary>
    public static ServerCluster Of(EtcdClient etcd, Uri address) =>
        new(etcd, address, "servers-" + Guid.NewGuid().ToString("N")[..12]);

    /// <summary>Creates it.</summary>
    public async Task CreateAsync(params string[] nodes)
    {
        var record = new ClusterRecord(Guid.NewGuid(), Guid.NewGuid(), Guid.NewGuid(), DateTimeOffset.UtcNow, 1, true);
        Assert.True(await Shard.CreateAsync(record, nodes, null, TestContext.Current.CancellationToken));
    }

    /// <summary>Starts a server as a node.</summary>
    /// <param name="node">Its name.</param>
    /// <param name="arguments">Others than its name, its cluster and its etcd.</param>
    public async Task<ServerProcess> StartAsync(string node, params string[] arguments)
    {
        ServerProcess server = await ServerProcess.StartAsync(
            _directory[node],
            ["--Cluster:Node", node, "--Cluster:Name", Name, "--Cluster:Etcd", $"{_etcd}", .. arguments]);
        _servers.Add(server);
        return server;
    }

    /// <summary>What etcd knows of the cluster.</summary>
    public async Task<ClusterView> ReadAsync() => (await Shard.ReadAsync(TestContext.Current.CancellationToken))!;

    /// <summary>Waits until one leads and these nodes alone have seats.</summary>
    public Task SeatsAsync(params string[] nodes) => Eventually.TrueAsync(
        async () => (await ReadAsync()).Shard.State is { Epoch: > 0 } state
            && state.Seats.Select(seat => seat.Node).Order().SequenceEqual(nodes),
        string.Join(", ", nodes));

    /// <summary>Writes a file that its owner alone reads, and gives its path.</summary>
    public string Write(string name, string text)
    {
        File.WriteAllText(_directory[name], text);
        File.SetUnixFileMode(_directory[name], UnixFileMode.UserRead | UnixFileMode.UserWrite);
        return _directory[name];
    }

    public async ValueTask DisposeAsync()
    {
        foreach (ServerProcess server in _servers)
            await server.DisposeAsync();
        _directory.Dispose();
    }
}
