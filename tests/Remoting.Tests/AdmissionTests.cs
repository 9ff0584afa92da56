using System.Net;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>Peers that connect and do not say who they are.</summary>
public sealed class AdmissionTests
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(400);
    private static readonly byte[] Ping = Calls.Frame(FrameHeader.PingOpcode, FrameFlags.None, 1, []);

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private static RemotingServerOptions Options => new() { AdmissionTimeout = Short };

    [Fact]
    public async Task GivenPeersThatOnlyPing_WhenTheTimeToSayWhoTheyAreIsOver_ThenTheyAreGoneAndTheAdmittedStay()
    {
        await using TestServer server = await TestServer.StartAsync(Admitting(), Options);
        await using RemotingClient known = server.NewClient();
        await known.EchoAsync([1], ScriptedHandler.Custom);
        Socket[] silent = await Task.WhenAll(Enumerable.Range(0, 30).Select(_ => server.ConnectRawAsync()));
        try
        {
            using var pace = new PeriodicTimer(TimeSpan.FromMilliseconds(50));
            var pings = Task.Run(async () =>
            {
                while (await pace.WaitForNextTickAsync(Token))
                    await Task.WhenAll(silent.Select(peer => peer.SendAsync(Ping.AsMemory()).AsTask()));
            }, Token);
            await Eventually.TrueAsync(() => server.Server.ConnectionCount == 1, "all that ping are gone");
            await Assert.ThrowsAnyAsync<SocketException>(() => pings);
        }
        finally
        {
            foreach (Socket peer in silent)
                peer.Dispose();
        }

        Assert.True(server.Log.CountOf(1100) > 0);
        Assert.Equal([2], await known.EchoAsync([2]));
        Assert.Equal(1, known.ConnectionGeneration);
    }

    [Fact]
    public async Task GivenAHandshakeThatDoesNotComeToAnEnd_WhenTheTimeIsOver_ThenTheConnectionIsClosed()
    {
        using var plant = new TlsPlant();
        RemotingServerOptions options = Options with
        {
            Tls = plant.Server.Tls! with { HandshakeTimeout = TimeSpan.FromMinutes(5) },
        };
        await using TestServer server = await TestServer.StartAsync(options: options);
        using Socket silent = await server.ConnectRawAsync();
        using Socket half = await server.ConnectRawAsync();
        await half.SendAsync(new byte[] { 22, 3, 1, 2, 0 });
        Assert.Empty(await silent.ReadToEndAsync());
        Assert.Empty(await half.ReadToEndAsync());
        await Eventually.TrueAsync(() => server.Server.ConnectionCount == 0);
        Assert.Equal(2, server.Log.CountOf(1100));
    }

    [Fact]
    public async Task GivenALargeFrame_WhenThePeerIsNotAdmitted_ThenItsConnectionIsClosedAndLaterItIsTaken()
    {
        await using TestServer server = await TestServer.StartAsync(
            Admitting(), new RemotingServerOptions { AdmissionTimeout = TimeSpan.FromMinutes(5) });
        byte[] large = Calls.Content(1, 65 * 1024);
        using Socket stranger = await server.ConnectRawAsync();
        await stranger.SendAsync(Calls.Frame(ScriptedHandler.Echo, FrameFlags.None, 1, large).AsMemory(0, 100));
        Assert.Empty(await stranger.ReadToEndAsync());
        await Eventually.TrueAsync(() => server.Log.CountOf(1004) == 1);
        Assert.Equal(0, server.Handler.FrameCount);

        await using RemotingClient known = server.NewClient();
        await known.EchoAsync([1], ScriptedHandler.Custom);
        Assert.Equal(large, await known.EchoAsync(large));
    }

    [Fact]
    public async Task GivenAllPlacesTakenByStrangers_WhenAnotherPeerComes_ThenTheOldestStrangerMakesRoom()
    {
        await using TestServer server = await TestServer.StartAsync(
            Admitting(),
            new RemotingServerOptions { AdmissionTimeout = TimeSpan.FromMinutes(5), MaxConnections = 4 });
        await using RemotingClient first = server.NewClient();
        await first.EchoAsync([1], ScriptedHandler.Custom);
        var strangers = new List<Socket>();
        for (int i = 0; i < 3; i++)
        {
            strangers.Add(await server.ConnectRawAsync());
            await Eventually.TrueAsync(() => server.Server.ConnectionCount == i + 2);
        }

        await using RemotingClient second = server.NewClient();
        Assert.Equal([2], await second.EchoAsync([2], ScriptedHandler.Custom));
        Assert.Empty(await strangers[0].ReadToEndAsync());
        Assert.Equal([3], await first.EchoAsync([3]));
        Assert.Equal(1, server.Log.CountOf(1104));
        foreach (Socket stranger in strangers.Skip(1))
        {
            await stranger.SendAsync(Ping);
            Assert.Equal(FrameHeader.Size, await stranger.ReceiveAsync(new byte[100]));
        }

        foreach (Socket stranger in strangers)
            stranger.Dispose();
    }

    [Fact]
    public async Task GivenABoundOfConnectionsOfOneAddress_WhenItHasThem_ThenItIsRefusedAndOthersAreNot()
    {
        await using TestServer server = await TestServer.StartAsync(
            options: new RemotingServerOptions { MaxConnectionsPerAddress = 3 });
        var first = new List<Socket>();
        for (int i = 0; i < 3; i++)
            first.Add(await ConnectFromAsync(server, "127.0.0.1"));
        await Eventually.TrueAsync(() => server.Server.ConnectionCount == 3);
        using Socket refused = await ConnectFromAsync(server, "127.0.0.1");
        Assert.Empty(await refused.ReadToEndAsync());
        Assert.Equal(1, server.Log.CountOf(1101));

        using Socket other = await ConnectFromAsync(server, "127.0.0.2");
        await other.SendAsync(Ping);
        Assert.Equal(FrameHeader.Size, await other.ReceiveAsync(new byte[100]));
        first[0].Dispose();
        await Eventually.TrueAsync(() => server.Server.ConnectionCount == 3);
        using Socket again = await ConnectFromAsync(server, "127.0.0.1");
        await again.SendAsync(Ping);
        Assert.Equal(FrameHeader.Size, await again.ReceiveAsync(new byte[100]));
        foreach (Socket socket in first)
            socket.Dispose();
    }

    [Fact]
    public void GivenOneAddressElsewhere_WhenItConnectsAllItCan_ThenItHasHalfAndOthersGetIn()
    {
        var places = new ConnectionPlaces(1_000, keptForLocal: 64, maxPerAddress: 0);
        int hostile = TakeAll(places, "203.0.113.7");
        Assert.InRange(hostile, 400, 500);
        Assert.InRange(TakeAll(places, "203.0.113.8"), 150, 250);

        // However many addresses it has, this machine's peers find places.
        for (int i = 0; i < 200; i++)
            TakeAll(places, $"198.51.100.{i}");
        Assert.Equal(ConnectionPlaces.Refusal.Full, places.TryTake(At("203.0.113.9"), out _));
        Assert.Equal(64, TakeAll(places, "127.0.0.1"));
        Assert.Equal(ConnectionPlaces.Refusal.Full, places.TryTake(At("127.0.0.1"), out _));
    }

    [Fact]
    public void GivenPeersOnThisMachine_WhenNoOthersAreThere_ThenTheyHaveAllPlaces()
    {
        var places = new ConnectionPlaces(1_000, keptForLocal: 64, maxPerAddress: 0);
        Assert.Equal(1_000, TakeAll(places, "127.0.0.1"));
    }

    [Theory]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true)]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:3::1", false)]
    [InlineData("::ffff:203.0.113.7", "203.0.113.7", true)]
    [InlineData("::1", "::2", false)]
    public void GivenAddresses_WhenOneHostMayHaveBoth_ThenTheyCountAsOne(string one, string other, bool areOne) =>
        Assert.Equal(areOne, Equals(PeerHost.AddressOf(At(one)), PeerHost.AddressOf(At(other))));

    [Fact]
    public void GivenPlacesGivenBack_WhenTaken_ThenEveryoneCountsAnew()
    {
        var places = new ConnectionPlaces(10, keptForLocal: 0, maxPerAddress: 0);
        for (int round = 0; round < 3; round++)
        {
            var taken = new List<PeerShare>();
            while (places.TryTake(At("203.0.113.7"), out PeerShare? share) == ConnectionPlaces.Refusal.None)
                taken.Add(share!);
            Assert.Equal(5, taken.Count);
            foreach (PeerShare share in taken)
                places.Give(share);
        }
    }

    private static IPEndPoint At(string address) => new(IPAddress.Parse(address), 1);

    private static int TakeAll(ConnectionPlaces places, string address)
    {
        int count = 0;
        while (places.TryTake(At(address), out _) == ConnectionPlaces.Refusal.None)
            count++;
        return count;
    }

    private static async Task<Socket> ConnectFromAsync(TestServer server, string address)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        socket.Bind(new IPEndPoint(IPAddress.Parse(address), 0));
        await socket.ConnectAsync(server.EndPoint);
        return socket;
    }

    /// <summary>Admits who sends the custom opcode, and echoes.</summary>
    private static ScriptedHandler Admitting() => new()
    {
        OnCustom = (connection, header, payload) =>
        {
            connection.Admit();
            ScriptedHandler.Answer(connection, header, payload.Span, inline: false);
            return ValueTask.CompletedTask;
        },
    };
}
