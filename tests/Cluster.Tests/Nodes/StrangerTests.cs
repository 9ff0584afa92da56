using EQueue.Cluster.Etcd;
using EQueue.Cluster.Tests.Etcd;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>What those get of a node that are unknown to it: another user of the machine, and clients that have not
/// logged in.</summary>
public sealed class StrangerTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private const int PeerRefused = 7038;

    private static CancellationToken None => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenNodesWithoutASecret_WhenAnotherUserAsksForEachOperationOfNodes_ThenItIsRefusedAndToldNothing()
    {
        Assert.SkipUnless(Stranger.CanRun, Stranger.Needs);
        await using TestCluster cluster = await StartOneAsync();
        string address = cluster.Nodes[0].Address;
        ClusterView view = (await cluster.Shard.ReadAsync(None))!;
        PeerHello hello = RawPeer.HelloOf(view, "b", "a");
        string first = FrameOf((byte)PeerOpcode.Hello, hello);
        PeerOpcode[] operations = Enum.GetValues<PeerOpcode>();

        string[] answers = await Stranger.TryPortAsync(
            operations.Select(one => $"{first} {FrameOf((byte)one, Done.Value)}"), address);

        Assert.Equal(operations.Length, answers.Length);
        Assert.All(answers, line =>
        {
            (FrameHeader Header, byte[] Body) answer = Assert.Single(Stranger.FramesIn(line));
            Assert.Equal(ErrorCode.NotAuthorized, (ErrorCode)answer.Header.Error);
            string text = ErrorDetail.ToException(ErrorCode.NotAuthorized, answer.Body).Message;
            Assert.Contains("Cluster:SecretFile", text, StringComparison.Ordinal);
            Assert.DoesNotContain($"{view.Cluster.ClusterId}", text, StringComparison.Ordinal);
        });
        await cluster.LoggedAsync("a", PeerRefused, "run under one user");

        // One of the same user is a node.
        using RawPeer own = await RawPeer.ConnectAsAsync(address, hello, "");
        Assert.Equal(ErrorCode.None, (await own.AskAsync(PeerOpcode.ListFiles, [])).Error);
    }

    [Fact]
    [Follows("give all of them one (Cluster:SecretFile)")]
    public async Task GivenNodesWithASecret_WhenOneOfAnotherUserGreets_ThenItIsAskedForItsProof()
    {
        Assert.SkipUnless(Stranger.CanRun, Stranger.Needs);
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        cluster.Nodes[0].Secret = "of the cluster";
        await cluster.Nodes[0].StartAsync();
        await cluster.SeatsAsync(1);
        PeerHello hello = RawPeer.HelloOf((await cluster.Shard.ReadAsync(None))!, "b", "a");
        string greeting = FrameOf((byte)PeerOpcode.Hello, hello);
        string other = FrameOf((byte)PeerOpcode.ListFiles, Done.Value);

        string[] answers = await Stranger.TryPortAsync([$"{greeting} {other}"], cluster.Nodes[0].Address);

        // A challenge; what comes without its proof is refused.
        Assert.Equal(
            [ErrorCode.None, ErrorCode.HelloRequired],
            Stranger.FramesIn(Assert.Single(answers)).Select(static answer => (ErrorCode)answer.Header.Error));
    }

    [Fact]
    public async Task GivenANodeThatServes_WhenAnotherUserAsksForEachOperationOfClients_ThenItIsUnauthenticated()
    {
        Assert.SkipUnless(Stranger.CanRun, Stranger.Needs);
        await using TestCluster cluster = await StartOneAsync();
        await Eventually.TrueAsync(() => cluster.Nodes[0].IsServing);
        var hello = new HelloRequest
        {
            Features = HelloFeatures.Cluster,
            ClientInstanceId = Guid.NewGuid(),
            ClientName = "stranger",
            ClientVersion = "1",
            MaxFrameBytes = 16 << 20,
        };
        string first = FrameOf((byte)Opcode.Hello, hello);
        Opcode[] operations = Enum.GetValues<Opcode>();

        string[] answers = await Stranger.TryPortAsync(
            operations.Select(one => $"{first} {FrameOf((byte)one, Done.Value)}"),
            cluster.Nodes[0].Address);

        Assert.Equal(operations.Length, answers.Length);
        Assert.All(answers, line => Assert.Equal(
            [ErrorCode.Unauthenticated], Stranger.FramesIn(line).Select(static answer => (ErrorCode)answer.Header.Error)));
    }

    [Fact]
    public async Task GivenOneThatAsksWhoLeads_WhenItAsksNoMore_ThenItHasToGo_AndItsFramesStayShort()
    {
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        cluster.Nodes[0].HelloTimeout = TimeSpan.FromSeconds(1);
        await cluster.Nodes[0].StartAsync();
        await cluster.SeatsAsync(1);
        string address = cluster.Nodes[0].Address;
        using RawPeer silent = await RawPeer.ConnectAsync(address);
        using RawPeer asking = await RawPeer.ConnectAsync(address);
        await silent.SendAsync((byte)Opcode.WatchLeader, RawPeer.Encode(new WatchLeaderRequest(0, TimeSpan.Zero)), FrameFlags.None);
        Assert.Equal(ErrorCode.None, (await silent.ReadAsync())?.Error);
        Task<(ErrorCode Error, byte[] Body)?> gone = silent.ReadAsync();

        // Each answer takes 300 ms: in all longer than a silent peer has.
        byte[] question = RawPeer.Encode(new WatchLeaderRequest(int.MaxValue, TimeSpan.FromMilliseconds(300)));
        for (int i = 0; i < 8 || !gone.IsCompleted; i++)
        {
            await asking.SendAsync((byte)Opcode.WatchLeader, question, FrameFlags.None);
            Assert.Equal(ErrorCode.None, (await asking.ReadAsync())?.Error);
        }

        Assert.Null(await gone);
        await asking.SendAsync((byte)Opcode.WatchLeader, new byte[70_000], FrameFlags.None);
        Assert.Null(await asking.ReadAsync());
    }

    [Fact]
    public async Task GivenNamesThatWouldForgeALine_WhenOneSaysItHasThem_ThenItIsRefusedAndTheLogHasNoneOfThem()
    {
        await using TestCluster cluster = await StartOneAsync();
        ClusterView view = (await cluster.Shard.ReadAsync(None))!;
        foreach (string name in (string[])["b\nCRIT 7040 all is lost", "b\u001b[2J", "", new string('b', 64)])
        {
            using RawPeer peer = await RawPeer.ConnectAsync(cluster.Nodes[0].Address);
            (ErrorCode error, _) = await peer.AskAsync(
                PeerOpcode.Hello, RawPeer.Encode(RawPeer.HelloOf(view, name, "a")));
            Assert.Equal(ErrorCode.NotAuthorized, error);
        }

        await cluster.LoggedAsync("a", PeerRefused, "This is no node's greeting");
        Assert.DoesNotContain(cluster.Log, one => one.Line.Text.Any(char.IsControl));
    }

    private async Task<TestCluster> StartOneAsync()
    {
        TestCluster cluster = await TestCluster.CreateAsync(etcd);
        await cluster.Nodes[0].StartAsync();
        await cluster.SeatsAsync(1);
        return cluster;
    }

    private static string FrameOf<T>(byte opcode, T payload)
        where T : IPayload<T> => Convert.ToHexString(RawPeer.FrameOf(opcode, RawPeer.Encode(payload), FrameFlags.None, 7));
}
