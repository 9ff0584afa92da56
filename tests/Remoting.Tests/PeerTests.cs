using System.Net;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>What a handler is told of whose the peer is.</summary>
public sealed class PeerTests : IDisposable
{
    private readonly TempDirectory _directory = new();

    [Theory]
    [InlineData("127.0.0.1:0", "127.0.0.1")]
    [InlineData("127.0.0.1:0", "::ffff:127.0.0.1")]
    [InlineData("127.8.8.8:0", "::ffff:127.8.8.8")]
    [InlineData("[::1]:0", "::1")]
    [InlineData("[::]:0", "127.0.0.1")]
    [InlineData("[::]:0", "127.9.9.9")]
    [InlineData("[::]:0", "::ffff:127.0.0.1")]
    [InlineData("[::]:0", "::1")]
    public async Task GivenProcessOfAnotherUser_WhenItConnectsOverLoopback_ThenItsUserIsKnown(
        string listen, string address)
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "There is no IPv6 here.");
        await using TestServer server = await TestServer.StartAsync(options: new() { Listen = [listen] });
        using ForeignPeer peer = await ForeignPeer.ConnectAsync(address, server.EndPoint.Port);
        FrameConnection connection = await ConnectedAsync(server);
        Assert.Equal(PeerPlace.Loopback, connection.Place);
        Assert.Equal(ForeignPeer.User, connection.FindPeerUser());
        Assert.True(connection.IsPrivate);
    }

    [Theory]
    [InlineData("127.0.0.1:0", "127.0.0.1")]
    [InlineData("127.0.0.1:0", "::ffff:127.0.0.1")]
    [InlineData("[::1]:0", "::1")]
    [InlineData("[::]:0", "127.0.0.1")]
    public async Task GivenOwnProcess_WhenItConnectsOverLoopback_ThenItsUserIsKnown(string listen, string address)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux() && Socket.OSSupportsIPv6, "Linux tells, and here is IPv6.");
        await using TestServer server = await TestServer.StartAsync(options: new() { Listen = [listen] });
        var target = IPAddress.Parse(address);
        using var socket = new Socket(target.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        if (target.AddressFamily == AddressFamily.InterNetworkV6)
            socket.DualMode = true;
        await socket.ConnectAsync(new IPEndPoint(target, server.EndPoint.Port));
        FrameConnection connection = await ConnectedAsync(server);
        Assert.Equal(PeerPlace.Loopback, connection.Place);
        Assert.Equal(LoopbackPeer.OwnUser, connection.FindPeerUser());
        Assert.NotNull(LoopbackPeer.OwnUser);
    }

    [Fact]
    public async Task GivenProcessOfAnotherUser_WhenItConnectsOverAUnixSocket_ThenItsUserIsKnown()
    {
        await using TestServer server = await StartOnPathAsync();
        using ForeignPeer peer = await ForeignPeer.ConnectAsync(_directory["a.sock"], 0);
        FrameConnection connection = await ConnectedAsync(server);
        Assert.Equal(PeerPlace.UnixSocket, connection.Place);
        Assert.Equal(ForeignPeer.User, connection.FindPeerUser());
        Assert.True(connection.IsPrivate);
        Assert.False(connection.IsEncrypted);
    }

    [Fact]
    public async Task GivenOwnProcess_WhenItConnectsOverAUnixSocket_ThenItsUserIsKnownUntilTheEnd()
    {
        await using TestServer server = await StartOnPathAsync();
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        await socket.ConnectAsync(new UnixDomainSocketEndPoint(_directory["a.sock"]));
        FrameConnection connection = await ConnectedAsync(server);
        Assert.Equal(PeerPlace.UnixSocket, connection.Place);
        Assert.Equal(OperatingSystem.IsLinux() ? LoopbackPeer.OwnUser : null, connection.FindPeerUser());
        connection.Close(null);
        Assert.Null(connection.FindPeerUser());
    }

    [Fact]
    public async Task GivenPeerInMemory_WhenAsked_ThenItIsTheProcessItself()
    {
        var endPoint = new InMemoryEndPoint();
        await using TestServer server = await TestServer.StartAsync(
            options: new() { Listen = [], InMemory = endPoint });
        await using var client = new RemotingClient(endPoint, new RemotingClientOptions(), new CollectedLog());
        await client.EchoAsync([1]);
        FrameConnection connection = server.Handler.Connected.Single();
        Assert.Equal(PeerPlace.InProcess, connection.Place);
        Assert.Equal(LoopbackPeer.OwnUser, connection.FindPeerUser());
        Assert.True(connection.IsPrivate);
        Assert.False(connection.IsEncrypted);
        Assert.Null(connection.PeerCertificate);
    }

    [Fact]
    public async Task GivenPeerThatIsGoneAgain_WhenAsked_ThenItIsNotTakenForRoot()
    {
        await using TestServer server = await TestServer.StartAsync();
        using ForeignPeer peer = await ForeignPeer.ConnectAsync("127.0.0.1", server.EndPoint.Port, "go");
        FrameConnection connection = await ConnectedAsync(server);
        Assert.Null(connection.FindPeerUser());
    }

    [Fact]
    public async Task GivenPeerThatHasEndedItsDirection_WhenAsked_ThenItsUserIsKnown()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        int port = ((IPEndPoint)listener.LocalEndpoint).Port;
        using ForeignPeer peer = await ForeignPeer.ConnectAsync("127.0.0.1", port, "end");
        using Socket near = await listener.AcceptSocketAsync(TestContext.Current.CancellationToken);
        Assert.Equal(0, await near.ReceiveAsync(new byte[1]));
        Assert.Equal(
            ForeignPeer.User,
            LoopbackPeer.FindUser((IPEndPoint)near.LocalEndPoint!, (IPEndPoint)near.RemoteEndPoint!));
    }

    [Fact]
    public async Task GivenPeerAtAnotherAddressOfThisMachine_WhenAsked_ThenItIsRemoteAndNotKnown()
    {
        IPAddress? own = (await Dns.GetHostAddressesAsync(Dns.GetHostName()))
            .FirstOrDefault(static one => one.AddressFamily == AddressFamily.InterNetwork && !IPAddress.IsLoopback(one));
        Assert.SkipWhen(own is null, "This machine has no address but loopback.");
        await using TestServer server = await TestServer.StartAsync(options: new() { Listen = [$"{own}:0"] });
        using Socket socket = await server.ConnectRawAsync();
        FrameConnection connection = await ConnectedAsync(server);
        Assert.Equal(PeerPlace.Remote, connection.Place);
        Assert.Null(connection.FindPeerUser());
        Assert.False(connection.IsPrivate);
    }

    [Fact]
    public async Task GivenClientThatShowsACertificate_WhenItIsTrusted_ThenTheHandlerHasIt()
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.MutualServer);
        await using RemotingClient client = server.NewClient(plant.MutualClient);
        await client.EchoAsync([1]);
        FrameConnection connection = server.Handler.Connected.Single();
        Assert.True(connection.IsEncrypted);
        Assert.True(connection.IsPrivate);
        Assert.Contains("client", connection.PeerCertificate!.Subject, StringComparison.Ordinal);
        await client.DisposeAsync();
        await Eventually.TrueAsync(() => !server.Handler.Disconnected.IsEmpty);
        Assert.Contains("client", connection.PeerCertificate!.Subject, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenClientThatShowedACertificate_WhenTheCertificateEnds_ThenItIsTrustedNoMore()
    {
        using var plant = new TlsPlant();
        var time = new WallClock();
        await using TestServer server = await TestServer.StartAsync(options: plant.MutualServer, time: time);
        await using RemotingClient client = server.NewClient(plant.MutualClient);
        await client.EchoAsync([1]);
        FrameConnection connection = server.Handler.Connected.Single();
        Assert.Null(connection.FindDistrust());
        time.Ahead = TimeSpan.FromDays(29);
        Assert.Null(connection.FindDistrust());

        time.Ahead = TimeSpan.FromDays(31);

        Assert.Contains("expired on", connection.FindDistrust(), StringComparison.Ordinal);
        Assert.Equal([2], await client.EchoAsync([2]));
    }

    [Theory]
    [InlineData(ClientCertificates.None)]
    [InlineData(ClientCertificates.Allow)]
    public async Task GivenClientThatShowsNoCertificate_WhenItIsServed_ThenTheHandlerHasNone(ClientCertificates asked)
    {
        using var plant = new TlsPlant();
        RemotingServerOptions options = plant.MutualServer;
        ServerTlsOptions tls = options.Tls! with { ClientCertificates = asked };
        if (asked == ClientCertificates.None)
            tls = tls with { ClientAuthority = null };
        await using TestServer server = await TestServer.StartAsync(options: options with { Tls = tls });
        RemotingClientOptions shown = asked == ClientCertificates.None ? plant.MutualClient : plant.Client;
        await using RemotingClient client = server.NewClient(shown);
        await client.EchoAsync([1]);
        FrameConnection connection = server.Handler.Connected.Single();
        Assert.True(connection.IsEncrypted);
        Assert.Null(connection.PeerCertificate);
    }

    public void Dispose() => _directory.Dispose();

    /// <summary>The system's time, with a wall clock that is set.</summary>
    private sealed class WallClock : TimeProvider
    {
        public TimeSpan Ahead { get; set; }

        public override DateTimeOffset GetUtcNow() => base.GetUtcNow() + Ahead;
    }

    private async Task<TestServer> StartOnPathAsync()
    {
        TestServer server = await TestServer.StartAsync(options: new() { Listen = [$"unix:{_directory["a.sock"]}"] });
        if (!OperatingSystem.IsWindows())
        {
            const UnixFileMode All = (UnixFileMode)0b111_111_111;
            File.SetUnixFileMode(_directory.FullPath, All);
            File.SetUnixFileMode(_directory["a.sock"], All);
        }

        return server;
    }

    private static async Task<FrameConnection> ConnectedAsync(TestServer server)
    {
        await Eventually.TrueAsync(() => !server.Handler.Connected.IsEmpty);
        return server.Handler.Connected.Single();
    }
}
