using System.Collections.Concurrent;
using EQueue.Cluster.Etcd;
using EQueue.Cluster.Tests.Etcd;
using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>Three nodes in this process, with an etcd.</summary>
internal sealed class TestCluster : IAsyncDisposable
{
    private readonly TempDirectory _directory = new();

    private TestCluster(EtcdServer etcd, string name, FlushPolicy policy)
    {
        Name = name;
        Shard = new EtcdShard(etcd.Client, name, null);
        Nodes =
        [
            .. new[] { "a", "b", "c" }.Select(node => new TestNode(
                node, name, etcd.Process.Address, _directory[node], policy, new NodeLog(node, this))),
        ];
    }

    public string Name { get; }

    public EtcdShard Shard { get; }

    public IReadOnlyList<TestNode> Nodes { get; }

    /// <summary>What the nodes have logged, in order.</summary>
    public ConcurrentQueue<(string Node, LogLine Line)> Log { get; } = new();

    public TestNode? Leader => Nodes.FirstOrDefault(node => node.IsServing);

    /// <summary>Nodes of a cluster that was not created; none is started.</summary>
    public static TestCluster New(EtcdServer etcd, FlushPolicy policy = FlushPolicy.Sync) =>
        new(etcd, "test-" + Guid.NewGuid().ToString("N")[..12], policy);

    public static async Task<TestCluster> StartAsync(EtcdServer etcd, FlushPolicy policy = FlushPolicy.Sync)
    {
        TestCluster cluster = await CreateAsync(etcd, policy);
        foreach (TestNode node in cluster.Nodes)
            await node.StartAsync();
        return cluster;
    }

    /// <summary>Creates it in etcd; no node runs yet.</summary>
    public static async Task<TestCluster> CreateAsync(EtcdServer etcd, FlushPolicy policy = FlushPolicy.Sync)
    {
        string name = "test-" + Guid.NewGuid().ToString("N")[..12];
        var cluster = new TestCluster(etcd, name, policy);
        var record = new ClusterRecord(
            Guid.NewGuid(), Guid.NewGuid(), Guid.NewGuid(), DateTimeOffset.UtcNow, 1, policy == FlushPolicy.Sync);
        bool isCreated = await cluster.Shard.CreateAsync(
            record, ["a", "b", "c"], null, TestContext.Current.CancellationToken);
        Assert.True(isCreated);
        return cluster;
    }

    /// <summary>Waits until one leads and so many have seats.</summary>
    public async Task SeatsAsync(int count)
    {
        await Eventually.TrueAsync(async () =>
        {
            ClusterView? view = await Shard.ReadAsync(TestContext.Current.CancellationToken);
            return view?.Shard.State?.Seats.Count == count && Leader is not null;
        });
    }

    /// <summary>A node beside the three, in a directory of its own.</summary>
    public TestNode NewNode(string name, string directory) => new(
        name, Name, Nodes[0].Etcd, _directory[directory], Nodes[0].Policy, new NodeLog(directory, this));

    /// <summary>How often a node has logged an event.</summary>
    public int CountOf(string node, int id) => Log.Count(one => one.Node == node && one.Line.Id == id);

    /// <summary>Waits until a node has logged an event whose text has this part.</summary>
    public Task LoggedAsync(string node, int id, string part) => Eventually.TrueAsync(
        () => Log.Any(one => one.Node == node && one.Line.Id == id
            && one.Line.Text.Contains(part, StringComparison.Ordinal)),
        $"{node} logs {id} with '{part}'");

    public EQueueClient Connect(params TestNode[] nodes) => new(new ClientOptions
    {
        Addresses = string.Join(',', (nodes.Length == 0 ? [.. Nodes.Where(node => node.HasStarted)] : nodes).Select(node => node.Address)),
    });

    public async ValueTask DisposeAsync()
    {
        await Task.WhenAll(Nodes.Select(node => node.DisposeAsync().AsTask()));
        _directory.Dispose();
    }

    private sealed class NodeLog(string node, TestCluster cluster) : LogSink(LogLevel.Information)
    {
        protected override void OnLine(LogLine line)
        {
            cluster.Log.Enqueue((node, line));
            TestContext.Current.TestOutputHelper?.WriteLine($"{DateTime.UtcNow:HH:mm:ss.fff} {node} {line.Level} {line.Text} {line.Exception}");
        }
    }
}
