using EQueue.Cluster.Etcd;
using EQueue.Cluster.Tests.Etcd;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Replication;
using EQueue.Support;
using EQueue.Support.Fuzz;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cluster.Tests;

/// <summary>What strangers and wrong nodes send to a node's port.</summary>
/// <remarks>Alone, because it looks at the memory of the process.</remarks>
[Collection(nameof(PeerAbuseTests))]
[CollectionDefinition(nameof(PeerAbuseTests), DisableParallelization = true)]
public sealed class PeerAbuseTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private const string Secret = "of the cluster";
    private const int PeerRefused = 7038;
    private const int EntriesRefused = 7028;
    private const long MostGrowthBytes = 32L << 20;

    /// <summary>Frames before and after the handshake, each.</summary>
    private static readonly int Frames = LongRun.Length("EQUEUE_PEER_FRAMES", 200, 2_000);

    private static readonly Seat Stranger = new("b", new Life(77));

    private static readonly PeerMessage[] Messages =
    [
        new Fetch(Stranger, 1, 1, new LogTail(new LogPosition(100), 1, new LogPosition(50), 7), new(100), new(100)),
        new FetchAnswer(1, 1, FetchVerdict.Diverging, new LogPosition(5), 1, new LogPosition(5)),
        new Ack(Stranger, 1, 1, new LogPosition(100), new LogPosition(100)),
        new StateQuestion(Stranger, 1),
        new StateReport(Stranger, 1, 1, default, [new Life(1), new Life(2)], new LogPosition(5), false),
        new EpochNotice(1),
    ];

    private static CancellationToken None => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenGarbageBeforeAndAfterTheHandshake_WhenItIsSent_ThenItIsRefusedByType_AndNothingGrowsOrEnds()
    {
        await using TestCluster cluster = await StartOneAsync();
        string address = cluster.Nodes[0].Address;
        ClusterView view = (await cluster.Shard.ReadAsync(None))!;
        byte[][] corpus = [.. Messages.Select(Bytes)];
        var mutator = new ByteMutator(corpus, 1);
        await StrangersAsync(0, 50);
        await NodesAsync(0, 50);
        long before = GC.GetTotalMemory(forceFullCollection: true);
        await StrangersAsync(50, 50 + Frames);
        await NodesAsync(50 + Frames, 50 + (2 * Frames));
        long grown = GC.GetTotalMemory(forceFullCollection: true) - before;

        Assert.InRange(grown, long.MinValue, MostGrowthBytes);
        Assert.DoesNotContain(cluster.Log, one => one.Line.Level >= LogLevel.Error || one.Line.Exception is not null);
        Assert.False(cluster.Nodes[0].Node!.Completion.IsCompleted);
        Assert.True(cluster.Nodes[0].IsServing);

        async Task StrangersAsync(int from, int to)
        {
            for (int number = from; number < to; number++)
            {
                using RawPeer peer = await RawPeer.ConnectAsync(address);
                await peer.SendAsync((byte)(80 + (number % 5)), mutator.Make(number).ToArray(), FrameFlags.None);
                Assert.True(await peer.ReadAsync() is { Error: not ErrorCode.None }, $"frame {number}");
                Assert.Null(await peer.ReadAsync());
            }
        }

        async Task NodesAsync(int from, int to)
        {
            int number = from;
            while (number < to)
            {
                using RawPeer peer = await RawPeer.ConnectAsAsync(address, RawPeer.HelloOf(view, "b", "a"), Secret);
                // Until one is refused: that ends the connection. A question behind each shows whether it did.
                bool isOpen = true;
                while (isOpen && number < to)
                {
                    byte opcode = (byte)(number % 4 == 0 ? 80 + (number % 5) : (byte)PeerOpcode.Message);
                    await peer.SendAsync(opcode, mutator.Make(number).ToArray(), FrameFlags.Oneway);
                    await peer.SendAsync((byte)PeerOpcode.ReadFile, [], FrameFlags.None);
                    isOpen = await peer.ReadAsync() is { Error: not ErrorCode.None };
                    number++;
                }
            }
        }
    }

    [Fact]
    public async Task GivenAProofThatWasRight_WhenItIsSentAgainOnAnotherConnection_ThenItIsRefused()
    {
        await using TestCluster cluster = await StartOneAsync();
        string address = cluster.Nodes[0].Address;
        PeerHello hello = RawPeer.HelloOf((await cluster.Shard.ReadAsync(None))!, "b", "a");
        using RawPeer first = await RawPeer.ConnectAsync(address);
        PeerChallenge challenge = await first.GreetAsync(hello);
        byte[] proof = new PeerSecret(Secret).SignCall(hello, challenge.Nonce);
        Assert.Equal(ErrorCode.None, (await first.ProveAsync(proof)).Error);

        using RawPeer second = await RawPeer.ConnectAsync(address);
        await second.GreetAsync(hello);
        Assert.Equal(ErrorCode.AuthenticationFailed, (await second.ProveAsync(proof)).Error);
        Assert.Null(await second.ReadAsync());

        // Nor does the called node's own proof serve its caller.
        using RawPeer third = await RawPeer.ConnectAsync(address);
        PeerChallenge mirrored = await third.GreetAsync(hello);
        Assert.Equal(ErrorCode.AuthenticationFailed, (await third.ProveAsync(mirrored.Proof.ToArray())).Error);
        await cluster.LoggedAsync("a", PeerRefused, "Cluster:SecretFile holds another secret here");
    }

    [Fact]
    public async Task GivenANode_WhenItSpeaksInAnothersName_ThenItsConnectionIsRefused()
    {
        await using TestCluster cluster = await StartOneAsync();
        ClusterView view = (await cluster.Shard.ReadAsync(None))!;
        var other = new Seat("c", new Life(77));
        PeerMessage[] lies =
        [
            new Fetch(other, 1, 1, default, default, default),
            new Ack(other, 1, 1, default, default),
            new StateQuestion(other, 1),
            new StateReport(other, 1, 1, default, [], default, false),
        ];
        foreach (PeerMessage lie in lies)
        {
            using RawPeer peer = await RawPeer.ConnectAsAsync(
                cluster.Nodes[0].Address, RawPeer.HelloOf(view, "b", "a"), Secret);
            await peer.TellAsync(lie, FrameFlags.None);
            Assert.Equal(ErrorCode.MalformedRequest, (await peer.ReadAsync())?.Error);
            Assert.Null(await peer.ReadAsync());
        }
    }

    [Fact]
    public async Task GivenAnAnswerOf16MiBThatWasNotAskedFor_WhenItComes_ThenTheNodeServesOn()
    {
        await using TestCluster cluster = await StartOneAsync();
        ClusterView view = (await cluster.Shard.ReadAsync(None))!;
        byte[] answer = [.. Bytes(new FetchAnswer(1, 1, FetchVerdict.Matched, default)), .. new byte[16 << 20]];
        using RawPeer peer = await RawPeer.ConnectAsAsync(
            cluster.Nodes[0].Address, RawPeer.HelloOf(view, "b", "a"), Secret);
        await peer.SendAsync((byte)PeerOpcode.Message, answer, FrameFlags.Oneway);
        // Longer than any group of entries can be: the frame is refused by its length, with the connection.
        Assert.Null(await peer.ReadAsync());
        Assert.True(cluster.Nodes[0].IsServing);
    }

    [Fact]
    public async Task GivenEntriesWithFlippedBits_WhenAFollowerGetsThem_ThenItStoresNone_AndAsksUntilTheyAreRight()
    {
        await using var detour = new LinkProxy();
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        cluster.Nodes[2].Detour = detour;
        await cluster.Nodes[0].StartAsync();
        await cluster.SeatsAsync(1);
        await cluster.Nodes[1].StartAsync();
        await cluster.Nodes[2].StartAsync();
        await cluster.SeatsAsync(3);
        await using var load = new Load(cluster);
        await load.StoredAsync(20);
        var random = new Random(1);
        int flips = 0;
        detour.Damage = bytes => flips += Flip(bytes.Span, random) ? 1 : 0;
        await Eventually.TrueAsync(() => cluster.CountOf("c", EntriesRefused) >= 5);
        detour.Damage = null;
        await load.MoreAsync(20);
        await cluster.SeatsAsync(3);
        await load.CheckAsync();

        await Task.WhenAll(cluster.Nodes.Select(node => node.StopAsync()));
        Assert.InRange(flips, 5, int.MaxValue);
        byte[] leader = ReadAll(cluster.Nodes[0]);
        byte[] follower = ReadAll(cluster.Nodes[2]);
        int shared = Math.Min(leader.Length, follower.Length);
        Assert.True(shared > 20 * 16, $"{shared}");
        Assert.True(leader.AsSpan(0, shared).SequenceEqual(follower.AsSpan(0, shared)));
    }

    [Fact]
    public async Task GivenMoreWatchersThanMayWait_WhenTheLeaderChanges_ThenThoseBeyondAreAnsweredAtOnceAndTheOthersThen()
    {
        var board = new LeaderBoard();
        Task<WatchLeaderResponse>[] watchers =
        [
            .. Enumerable.Range(0, 5_000).Select(_ => board.WatchAsync(0, TimeSpan.FromMinutes(1), None)),
        ];
        Assert.Equal(5_000 - LeaderBoard.MostWaiting, watchers.Count(watcher => watcher.IsCompleted));

        Seat leader = new("a", new Life(1));
        board.Take(
            new ShardState(1, leader, [leader], 1, default), ["a"], new Dictionary<string, string>(StringComparer.Ordinal) { ["a"] = "h:1" });
        await Task.WhenAll(watchers);
        Assert.Equal(
            LeaderBoard.MostWaiting, watchers.Count(watcher => watcher.Result is { Epoch: 1, Leader: "h:1" }));
        Assert.Equal(1, (await board.WatchAsync(0, TimeSpan.FromMinutes(1), None)).Epoch);
    }

    /// <summary>One node, with a secret.</summary>
    private async Task<TestCluster> StartOneAsync()
    {
        TestCluster cluster = await TestCluster.CreateAsync(etcd);
        cluster.Nodes[0].Secret = Secret;
        await cluster.Nodes[0].StartAsync();
        await cluster.SeatsAsync(1);
        return cluster;
    }

    private static byte[] Bytes(PeerMessage message)
    {
        using var frame = FrameBuffer.Rent();
        PeerCodec.Write(new PayloadWriter(frame), message);
        return frame.WrittenSpan.ToArray();
    }

    /// <summary>Flips a bit of the entries, if these bytes begin with an answer that has some.</summary>
    private static bool Flip(Span<byte> bytes, Random random)
    {
        const int Answer = 2;
        int head = FrameHeader.Size + Bytes(Messages[1]).Length;
        if (!FrameHeader.TryRead(bytes, int.MaxValue, out FrameHeader header, out _)
            || header.Opcode != (byte)PeerOpcode.Message || bytes[FrameHeader.Size] != Answer)
        {
            return false;
        }

        int end = (int)Math.Min(header.Length, bytes.Length);
        if (end <= head)
            return false;
        bytes[random.Next(head, end)] ^= (byte)(1 << random.Next(8));
        return true;
    }

    private static byte[] ReadAll(TestNode node)
    {
        using var files = ReplicaFiles.Open(
            new ReplicaFilesOptions { DataDirectory = node.ShardDirectory },
            NullLogger.Instance,
            TimeProvider.System,
            None);
        var all = new MemoryStream();
        byte[] bytes = new byte[1 << 20];
        while (files.Read(new LogPosition(all.Length), bytes, out _) is var size and > 0)
            all.Write(bytes, 0, size);
        return all.ToArray();
    }
}
