using System.Net;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>Names with several addresses, and both versions of IP.</summary>
public sealed class AddressTests
{
    private static readonly RemotingClientOptions Quick = new() { ConnectTimeout = TimeSpan.FromSeconds(2) };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenNameWhoseFirstAddressRefuses_WhenDialled_ThenTheNextOneIsTried()
    {
        await using TestServer server = await TestServer.StartAsync();
        var refusing = new IPEndPoint(IPAddress.Parse("127.0.0.2"), server.EndPoint.Port);
        (Wire wire, EndPoint address) = await DialAsync(Quick, refusing, server.EndPoint);
        wire.Dispose();
        Assert.Equal(server.EndPoint, address);
    }

    [Fact]
    public async Task GivenNameWhoseFirstAddressSwallowsEverything_WhenDialled_ThenTheNextOneHasItsShareOfTheTime()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Only Linux is known to drop what exceeds the backlog.");
        await using TestServer server = await TestServer.StartAsync();
        using var silent = new Swallowing();
        (Wire wire, EndPoint address) = await DialAsync(Quick, silent.EndPoint, server.EndPoint);
        wire.Dispose();
        Assert.Equal(server.EndPoint, address);
    }

    [Fact]
    public async Task GivenNameOfWhichNoAddressAnswers_WhenDialled_ThenTheAttemptEndsInItsTime()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Only Linux is known to drop what exceeds the backlog.");
        using var silent = new Swallowing();
        RemotingClientOptions options = Quick with { ConnectTimeout = TimeSpan.FromMilliseconds(200) };
        await Assert.ThrowsAsync<TimeoutException>(() => DialAsync(options, silent.EndPoint, silent.EndPoint))
            .WaitAsync(Calls.Timeout, Token);
    }

    [Fact]
    public async Task GivenNameWithoutAnAddress_WhenDialled_ThenThatIsTheFailure()
    {
        SocketException failure = await Assert.ThrowsAsync<SocketException>(() => DialAsync(Quick));
        Assert.Equal(SocketError.HostNotFound, failure.SocketErrorCode);
    }

    [Fact]
    public async Task GivenClientThatIsDisposed_WhenItDials_ThenTheAttemptEndsAtOnce()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Only Linux is known to drop what exceeds the backlog.");
        using var silent = new Swallowing();
        var client = new RemotingClient(
            silent.EndPoint, Quick with { ConnectTimeout = TimeSpan.FromMinutes(10) }, new CollectedLog());
        Task<RemotingError> call = client.InvokeAsync(
            Calls.Buffer([]), 1, 1, TimeSpan.FromMinutes(10), CancellationToken.None).ErrorOfAsync();
        await client.DisposeAsync().AsTask().WaitAsync(Calls.Timeout, Token);
        Assert.Equal(RemotingError.Disposed, await call);
    }

    [Fact]
    public async Task GivenAnyAddressOfIPv6_WhenClientsComeOverBothVersions_ThenBothAreServed()
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "This machine has no IPv6.");
        await using TestServer server = await TestServer.StartAsync(
            options: new RemotingServerOptions { Listen = ["[::]:0"] });
        foreach (string host in (string[])["127.0.0.1", "[::1]", "localhost"])
        {
            await using var client = new RemotingClient(
                HostPort.Parse($"{host}:{server.EndPoint.Port}"), new RemotingClientOptions(), new CollectedLog());
            Assert.Equal([1], await client.EchoAsync([1]));
        }

        Assert.Equal(3, server.Handler.Connected.Count);
    }

    [Fact]
    public async Task GivenCertificateForAnIPv6Address_WhenThatIsCalled_ThenItIsTrusted()
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "This machine has no IPv6.");
        using var plant = new TlsPlant("::1");
        await using TestServer server = await TestServer.StartAsync(options: plant.Server with { Listen = ["[::1]:0"] });
        await using RemotingClient client = server.NewClient(plant.Client);
        Assert.Equal([1], await client.EchoAsync([1]));
    }

    [Fact]
    public async Task GivenCertificateForAName_WhenTheNameIsCalled_ThenItIsTrustedWhateverItsAddress()
    {
        using var plant = new TlsPlant("localhost");
        await using TestServer server = await TestServer.StartAsync(options: plant.Server);
        await using var client = new RemotingClient(
            HostPort.Parse($"localhost:{server.EndPoint.Port}"), plant.Client, new CollectedLog());
        Assert.Equal([1], await client.EchoAsync([1]));
    }

    private static Task<(Wire Wire, EndPoint Address)> DialAsync(
        RemotingClientOptions options, params IReadOnlyList<EndPoint> addresses)
    {
        var dialer = new Dialer(options, TimeProvider.System, (_, _) => new(addresses));
        return dialer.DialAsync(new DnsEndPoint("several.example", 1), Token);
    }

    /// <summary>A listener whose backlog is full, so that the system drops who comes.</summary>
    private sealed class Swallowing : IDisposable
    {
        private readonly Socket _listener = New();
        private readonly List<Socket> _waiting = [];

        public Swallowing()
        {
            _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            _listener.Listen(0);
            while (TryFill())
            {
                // One more waits to be accepted.
            }
        }

        public EndPoint EndPoint => _listener.LocalEndPoint!;

        public void Dispose()
        {
            foreach (Socket socket in _waiting)
                socket.Dispose();
            _listener.Dispose();
        }

        private static Socket New() => new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

        private bool TryFill()
        {
            Socket socket = New();
            _waiting.Add(socket);
            return socket.ConnectAsync(EndPoint).Wait(TimeSpan.FromMilliseconds(100));
        }
    }
}
