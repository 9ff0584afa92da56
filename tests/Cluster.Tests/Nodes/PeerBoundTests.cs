using EQueue.Cluster.Etcd;
using EQueue.Cluster.Tests.Etcd;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Replication;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>A node whose port is driven to the most that each operation of nodes takes, by strangers and by those who
/// have proven to be nodes, of whom none reads its answers: memory comes back, and a client beside them is served. What
/// clients ask for is driven in System.Tests.</summary>
/// <remarks>Alone, because it looks at the memory of the process.</remarks>
[Collection(nameof(PeerAbuseTests))]
public sealed class PeerBoundTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private const string Secret = "of the cluster";
    private const int Connections = 60;
    private const long MostGrowthBytes = 32L << 20;

    private static readonly Seat Peer = new("b", new Life(77));
    private static readonly byte[] Long = new byte[60_000];

    private static CancellationToken None => TestContext.Current.CancellationToken;

    [Fact]
    public void GivenTheOperationsAndMessagesOfNodes_WhenHeldAgainstTheCases_ThenEachIsDriven()
    {
        Assert.Equal(Enum.GetValues<PeerOpcode>().Order(), CasesOf("", Guid.Empty).Keys.Order());
        Assert.Equal(
            typeof(PeerMessage).Assembly.GetTypes().Where(type => type.BaseType == typeof(PeerMessage))
                .Select(type => type.Name).Order(),
            Messages.Select(message => message.GetType().Name).Order());
    }

    [Fact]
    public async Task GivenANode_WhenEachOperationOfNodesIsDrivenToItsMost_ThenMemoryReturnsAndAClientGoesOn()
    {
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        TestNode node = cluster.Nodes[0];
        (node.Secret, node.IsSmall) = (Secret, true);
        await node.StartAsync();
        await cluster.SeatsAsync(1);
        ClusterView view = (await cluster.Shard.ReadAsync(None))!;
        PeerHello hello = RawPeer.HelloOf(view, "b", "a");
        string file = await FillAsync(cluster, hello);
        await AskOnceAsync(node.Address, CasesOf(file, view.Cluster.ClusterId), hello);

        await using (var load = new Load(cluster))
        {
            await load.StoredAsync(20);
            await DriveAsync(node.Address, CasesOf(file, view.Cluster.ClusterId), hello, TimeSpan.FromSeconds(1));
            long before = GC.GetTotalMemory(forceFullCollection: true);
            long sent = load.Acknowledged;
            await DriveAsync(node.Address, CasesOf(file, view.Cluster.ClusterId), hello, TimeSpan.FromSeconds(6));

            Assert.True(load.Acknowledged > sent + 20, $"{load.Acknowledged - sent} were stored meanwhile.");
            long grown = 0;
            await Eventually.TrueAsync(
                () => (grown = GC.GetTotalMemory(forceFullCollection: true) - before) < MostGrowthBytes,
                "memory comes back");
            TestContext.Current.TestOutputHelper?.WriteLine($"{load.Acknowledged - sent} stored, {grown} bytes grown");
            await load.CheckAsync();
        }

        Assert.DoesNotContain(cluster.Log, one => one.Line.Level >= LogLevel.Error || one.Line.Exception is not null);
        Assert.True(node.IsServing);
    }

    /// <summary>Of each kind one, as large as it may be.</summary>
    private static PeerMessage[] Messages =>
    [
        new Fetch(Peer, 1, 1, default, default, default),
        new FetchAnswer(1, 1, FetchVerdict.Diverging, new LogPosition(5), 1, new LogPosition(5)),
        new Ack(Peer, 1, 1, new LogPosition(100), new LogPosition(100)),
        new Farewell(Peer),
        new StateQuestion(Peer, 1),
        new StateReport(
            Peer, 1, 1, default, [.. Enumerable.Range(1, 15).Select(i => new Life((UInt128)i))], new LogPosition(5), false),
        new EpochNotice(1),
    ];

    /// <summary>What is sent for each operation: bodies, how often, and what a stranger and a node are answered.
    /// </summary>
    private static Dictionary<PeerOpcode, PeerCase> CasesOf(string file, Guid cluster) => new()
    {
        [PeerOpcode.Hello] = new(
            [RawPeer.Encode(new PeerHello(cluster, 0, new string('b', 30_000), "a", Guid.NewGuid()))], 1,
            ErrorCode.NotAuthorized, ErrorCode.MalformedRequest),
        [PeerOpcode.Prove] = new(
            [RawPeer.Encode(new PeerProof(Long))], 1, ErrorCode.HelloRequired, ErrorCode.MalformedRequest),
        [PeerOpcode.Message] = new([.. Messages.Select(Bytes)], 200, ErrorCode.HelloRequired, null),
        [PeerOpcode.ListFiles] = new([[]], 500, ErrorCode.HelloRequired, ErrorCode.None),
        [PeerOpcode.ReadFile] = new(
            [RawPeer.Encode(new FilePart(file, 0))], 64, ErrorCode.HelloRequired, ErrorCode.None),
    };

    /// <summary>Each case once, its answers read: one that is refused where it should not drives nothing.</summary>
    private static async Task AskOnceAsync(
        string address, Dictionary<PeerOpcode, PeerCase> cases, PeerHello hello)
    {
        foreach ((PeerOpcode operation, PeerCase one) in cases)
        {
            foreach (byte[] body in one.Bodies)
            {
                using RawPeer stranger = await RawPeer.ConnectAsync(address);
                Assert.Equal(one.AsStranger, (await stranger.AskAsync(operation, body)).Error);
                using RawPeer peer = await RawPeer.ConnectAsAsync(address, hello, Secret);
                if (one.AsPeer is { } expected)
                    Assert.Equal(expected, (await peer.AskAsync(operation, body)).Error);
                else
                    await peer.SendAsync((byte)operation, body, FrameFlags.Oneway);
                if (one.AsPeer is null)
                    Assert.Equal(ErrorCode.None, (await peer.AskAsync(PeerOpcode.ListFiles, [])).Error);
            }
        }
    }

    /// <summary>Connections that come and go, each with the next case, as a stranger, as one who has greeted and as a
    /// node; none takes an answer.</summary>
    private static async Task DriveAsync(
        string address, Dictionary<PeerOpcode, PeerCase> cases, PeerHello hello, TimeSpan time)
    {
        PeerOpcode[] operations = [.. cases.Keys];
        Task ending = Eventually.PassedAsync(time);
        int turn = 0;
        await Task.WhenAll(Enumerable.Range(0, Connections).Select(_ => Task.Run(RunAsync, None)));

        async Task RunAsync()
        {
            while (!ending.IsCompleted)
            {
                int next = Interlocked.Increment(ref turn);
                PeerOpcode operation = operations[next % operations.Length];
                int guise = next / operations.Length % 4;
                RawPeer peer = guise == 0
                    ? await RawPeer.ConnectAsAsync(address, hello, Secret)
                    : await RawPeer.ConnectAsync(address);
                Task sending = guise switch
                {
                    0 => SendAsync(peer, operation, cases[operation]),
                    1 => SendAsync(peer, operation, cases[operation]),
                    2 => peer.GreetAsync(hello),
                    _ => WatchAsync(peer),
                };
                await Task.WhenAny(ending, Eventually.PassedAsync(TimeSpan.FromSeconds(1)));
                peer.Dispose();
                await Record.ExceptionAsync(() => sending); // what was under way ends with its connection
            }
        }
    }

    private static async Task SendAsync(RawPeer peer, PeerOpcode operation, PeerCase one)
    {
        FrameFlags flags = operation == PeerOpcode.Message ? FrameFlags.Oneway : FrameFlags.None;
        for (int i = 0; i < one.Count; i++)
            await peer.SendAsync((byte)operation, one.Bodies[i % one.Bodies.Length], flags);
    }

    /// <summary>Anybody may watch who leads.</summary>
    private static async Task WatchAsync(RawPeer peer)
    {
        byte[] question = RawPeer.Encode(new WatchLeaderRequest(int.MaxValue, WatchLeaderRequest.MaxWait));
        for (int i = 0; i < 64; i++)
            await peer.SendAsync((byte)Opcode.WatchLeader, question, FrameFlags.None);
    }

    /// <summary>Fills more than a segment.</summary>
    /// <returns>The longest file that other nodes may copy.</returns>
    private static async Task<string> FillAsync(TestCluster cluster, PeerHello hello)
    {
        await using EQueueClient client = cluster.Connect(cluster.Nodes[0]);
        await using Producer producer = client.CreateProducer();
        for (int i = 0; i < 40; i++)
            await producer.SendAsync("fill", Long, cancellationToken: None);
        string file = "";
        await Eventually.TrueAsync(async () =>
        {
            using RawPeer peer = await RawPeer.ConnectAsAsync(cluster.Nodes[0].Address, hello, Secret);
            (ErrorCode error, byte[] body) = await peer.AskAsync(PeerOpcode.ListFiles, []);
            Assert.Equal(ErrorCode.None, error);
            Assert.True(Payload.TryRead(body, out FileListing listing));
            file = listing.Files.Files.OrderBy(one => one.Length).LastOrDefault().Name;
            return file is not null && listing.Files.Files.Max(one => one.Length) > 512 << 10;
        });
        return file;
    }

    private static byte[] Bytes(PeerMessage message)
    {
        using var frame = FrameBuffer.Rent();
        PeerCodec.Write(new PayloadWriter(frame), message);
        return frame.WrittenSpan.ToArray();
    }

    /// <param name="Bodies">Sent in turns.</param>
    /// <param name="Count">How many a connection sends.</param>
    /// <param name="AsStranger">What one is answered who has not greeted.</param>
    /// <param name="AsPeer">What a node is answered; null: it is told nothing.</param>
    private sealed record PeerCase(byte[][] Bodies, int Count, ErrorCode AsStranger, ErrorCode? AsPeer);
}
