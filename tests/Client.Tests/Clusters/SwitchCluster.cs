using System.Net;
using System.Net.Sockets;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Client.Tests.Clusters;

/// <summary>Nodes before one real broker: the node that leads passes everything to it, so that all have one log. A
/// change of leader opens the broker anew, in its next epoch.</summary>
internal sealed class SwitchCluster : IAsyncDisposable
{
    private readonly Lock _lock = new();
    private TaskCompletionSource _changed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private WatchLeaderResponse _told = new(0, "", []);

    private SwitchCluster(TestBroker broker, int count)
    {
        Broker = broker;
        Nodes = [.. Enumerable.Range(0, count).Select(_ => new SwitchNode(this))];
        Advertised = [.. Nodes.Select(static node => node.Address)];
    }

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    public TestBroker Broker { get; }

    public IReadOnlyList<SwitchNode> Nodes { get; }

    /// <summary>The names of the nodes as they tell them.</summary>
    public string[] Advertised { get; set; }

    /// <summary>Whether the leader says in Hello that it is a node of a cluster.</summary>
    public bool HasFeature { get; set; } = true;

    /// <summary>How many watches wait now.</summary>
    public int Watches => Nodes.Sum(static node => node.WatchCount);

    /// <summary>How many watches have waited at the same time, at most.</summary>
    public int MostWatches { get; private set; }

    public int Epoch => Volatile.Read(ref _told).Epoch;

    public string Addresses => string.Join(',', Nodes.Select(static node => node.Address));

    public static async Task<SwitchCluster> StartAsync(int leader = 0, int count = 3)
    {
        var cluster = new SwitchCluster(await TestBroker.StartAsync(), count);
        await cluster.Broker.Client.Admin.CreateTopicAsync(
            TwoBrokers.Topic, new TopicSettings { QueueCount = 4 }, Token);
        await cluster.LeadAsync(leader);
        return cluster;
    }

    public EQueueClient NewClient(
        string? addresses = null,
        double timeoutSeconds = 20,
        TimeSpan? connectTimeout = null,
        ILoggerFactory? log = null,
        Action<ConnectFailure>? failed = null) => new(new ClientOptions
        {
            Addresses = addresses ?? Addresses,
            RequestTimeout = TimeSpan.FromSeconds(timeoutSeconds),
            ConnectTimeout = connectTimeout ?? TimeSpan.FromSeconds(5),
            LoggerFactory = log ?? NullLoggerFactory.Instance,
            ConnectFailed = failed,
        });

    /// <summary>The leader becomes something else, the broker opens anew, and another node leads it.</summary>
    public async Task FailOverAsync(int from, NodeRole become, int to)
    {
        Nodes[from].Become(become);
        await Broker.RestartAsync();
        await LeadAsync(to);
    }

    /// <summary>No node leads.</summary>
    public void Leaderless()
    {
        foreach (SwitchNode? node in Nodes.Where(static node => node.Role == NodeRole.Leads))
            node.Become(NodeRole.Refuses);
        Tell(new WatchLeaderResponse(Epoch, "", Advertised));
    }

    public async Task LeadAsync(int node)
    {
        await using var client = new EQueueClient(Broker.Address);
        BrokerDescription hello = await client.Admin.DescribeBrokerAsync(Token);
        Nodes[node].Become(NodeRole.Leads);
        Tell(new WatchLeaderResponse((int)hello.Incarnation, Advertised[node], Advertised));
    }

    /// <summary>Tells the watches.</summary>
    public void Tell(WatchLeaderResponse told)
    {
        TaskCompletionSource changed;
        lock (_lock)
        {
            _told = told;
            changed = _changed;
            _changed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        }

        changed.SetResult();
    }

    public NotLeaderDetail NotLeader() =>
        new(new ErrorDetail("This node does not lead.", TimeSpan.Zero), Volatile.Read(ref _told));

    public async Task<WatchLeaderResponse> WatchAsync(WatchLeaderRequest request, CancellationToken cancellationToken)
    {
        (WatchLeaderResponse told, Task changed) = Look();
        if (told.Epoch > request.Epoch)
            return told;
        MostWatches = Math.Max(MostWatches, Watches);
        await changed.WaitAsync(request.Wait, cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        cancellationToken.ThrowIfCancellationRequested();
        return Look().Told;

        (WatchLeaderResponse Told, Task Changed) Look()
        {
            lock (_lock)
                return (_told, _changed.Task);
        }
    }

    public async Task<NetworkStream> ConnectAsync()
    {
        var end = (IPEndPoint)HostPort.Parse(Broker.Address);
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(end);
            return new NetworkStream(socket, ownsSocket: true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        foreach (SwitchNode node in Nodes)
            await node.DisposeAsync();
        await Broker.DisposeAsync();
    }
}
