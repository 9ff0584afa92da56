using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting.Tests;

/// <summary>Peers that do not come to an agreement, each told once and at once on both sides.</summary>
public sealed class TlsRefusalTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    public static TheoryData<string, Func<TlsPlant, TlsOptions>, string> Distrust { get; } = new()
    {
        { "another authority", plant => new TlsOptions { AuthorityFile = plant.ClientFile }, "PartialChain" },
        { "the system's authorities", _ => new TlsOptions(), "PartialChain" },
        {
            "another host",
            plant => new TlsOptions { AuthorityFile = plant.AuthorityFile, TargetHost = "other.example" },
            "it is not for 'other.example'"
        },
    };

    [Theory]
    [MemberData(nameof(Distrust))]
    public async Task GivenCertificateThatIsNotTrusted_WhenCalled_ThenTheCallFailsAtOnceWithTheReason(
        string name, Func<TlsPlant, TlsOptions> make, string reason)
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.Server);
        await using RemotingClient client = server.NewClient(new RemotingClientOptions { Tls = make(plant) });
        TlsRefusedException refusal = await RefusalOfAsync(client);
        Assert.Contains("the certificate is not trusted", refusal.Message, StringComparison.Ordinal);
        Assert.True(refusal.Message.Contains(reason, StringComparison.Ordinal), $"{name}: {refusal.Message}");
        Assert.Equal(0, server.Handler.FrameCount);
        await Eventually.TrueAsync(() => server.Log.CountOf(1011) >= 1, "the server says so");
    }

    [Fact]
    public async Task GivenCertificateThatExpiresWhileItIsUsed_WhenCalled_ThenTheCallFailsWithTheReason()
    {
        using var plant = new TlsPlant();
        using TestCertificate expired = plant.Authority.Sign("127.0.0.1", -30, -1);
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        using var stopping = new CancellationTokenSource();
        var serving = Task.Run(async () =>
        {
            using Socket socket = await listener.AcceptSocketAsync(stopping.Token);
            await using var stream = new SslStream(new NetworkStream(socket));
            using X509Certificate2 certificate = System.Security.Cryptography.X509Certificates.X509CertificateLoader
                .LoadPkcs12(expired.Pfx(null), null);
            await Assert.ThrowsAnyAsync<Exception>(async () =>
            {
                await stream.AuthenticateAsServerAsync(certificate);
                stream.ReadExactly(new byte[1]);
            });
        });
        await using var client = new RemotingClient(listener.LocalEndpoint, plant.Client, new CollectedLog());
        TlsRefusedException refusal = await RefusalOfAsync(client);
        Assert.Contains("NotTimeValid", refusal.Message, StringComparison.Ordinal);
        listener.Stop();
        await serving;
    }

    [Fact]
    public async Task GivenAnyCertificateAccepted_WhenCalled_ThenTheUntrustedServerIsSpokenTo()
    {
        using var plant = new TlsPlant("other.example");
        await using TestServer server = await TestServer.StartAsync(options: plant.Server);
        await using RemotingClient client = server.NewClient(
            new RemotingClientOptions { Tls = new TlsOptions { AcceptsAnyCertificate = true } });
        Assert.Equal([1], await client.EchoAsync([1]));
    }

    [Fact]
    public async Task GivenTargetHost_WhenTheCertificateIsForIt_ThenTheAddressDoesNotMatter()
    {
        using var plant = new TlsPlant("broker.example");
        await using TestServer server = await TestServer.StartAsync(options: plant.Server);
        await using RemotingClient client = server.NewClient(
            plant.Client with { Tls = plant.Client.Tls! with { TargetHost = "broker.example" } });
        Assert.Equal([1], await client.EchoAsync([1]));
        await using RemotingClient byAddress = server.NewClient(plant.Client);
        Assert.Contains(
            "it is not for '127.0.0.1'", (await RefusalOfAsync(byAddress)).Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAuthoritiesInBetween_WhenTheServerShowsThem_ThenItIsTrusted()
    {
        using var plant = new TlsPlant();
        using TestAuthority between = plant.Authority.Below("Between");
        using TestCertificate leaf = between.Sign();
        string chain = plant.Write("chain.pem", leaf.CertificatePem + "\n" + between.Pem);
        string key = plant.Write("chain.key", leaf.KeyPem);
        await using TestServer server = await TestServer.StartAsync(options: new RemotingServerOptions
        {
            Tls = new ServerTlsOptions { Certificate = chain, Key = key },
        });
        await using RemotingClient client = server.NewClient(plant.Client);
        Assert.Equal([1], await client.EchoAsync([1]));
    }

    [Fact]
    public async Task GivenMutualTls_WhenTheClientIsTrusted_ThenItIsServed()
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.MutualServer);
        await using RemotingClient client = server.NewClient(plant.MutualClient);
        Assert.Equal([1], await client.EchoAsync([1]));
    }

    [Fact]
    public async Task GivenMutualTls_WhenTheClientShowsNoCertificate_ThenBothSidesSaySoAtOnce()
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.MutualServer);
        await using RemotingClient client = server.NewClient(Greeting(plant.Client));
        Assert.EndsWith(
            "refuses this client: the certificate is not trusted: the peer showed none",
            (await RefusalOfAsync(client)).Message,
            StringComparison.Ordinal);
        await AssertHandshakeLogAsync(server, "the peer showed none");
    }

    [Fact]
    public async Task GivenMutualTls_WhenTheClientsCertificateIsOfAnotherAuthority_ThenBothSidesSaySoAtOnce()
    {
        using var plant = new TlsPlant();
        using var stranger = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.MutualServer);
        TlsOptions tls = stranger.MutualClient.Tls! with { AuthorityFile = plant.AuthorityFile };
        await using RemotingClient client = server.NewClient(Greeting(new RemotingClientOptions { Tls = tls }));
        Assert.Contains(
            "refuses this client: the certificate is not trusted: CN=client",
            (await RefusalOfAsync(client)).Message,
            StringComparison.Ordinal);
        await AssertHandshakeLogAsync(server, "its certificate is not trusted: CN=client");
    }

    [Fact]
    public async Task GivenMutualTls_WhenAnUntrustedClientComesAgainAndAgain_ThenItIsRefusedEachTime()
    {
        using var plant = new TlsPlant();
        using var stranger = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.MutualServer);
        TlsOptions[] offers =
        [
            plant.Client.Tls!,
            stranger.MutualClient.Tls! with { AuthorityFile = plant.AuthorityFile },
        ];
        for (int i = 0; i < 12; i++)
        {
            await using RemotingClient client = server.NewClient(
                Greeting(new RemotingClientOptions { Tls = offers[i % offers.Length] }));
            await RefusalOfAsync(client);
        }

        Assert.Empty(server.Handler.Connected);
        await using RemotingClient trusted = server.NewClient(plant.MutualClient);
        Assert.Equal([1], await trusted.EchoAsync([1]));
    }

    [Fact]
    public async Task GivenCertificatesAllowed_WhenClientsShowATrustedOneOrNone_ThenTheyAreServedButNotWithAStrangers()
    {
        using var plant = new TlsPlant();
        using var stranger = new TlsPlant();
        RemotingServerOptions options = plant.MutualServer with
        {
            Tls = plant.MutualServer.Tls! with { ClientCertificates = ClientCertificates.Allow },
        };
        await using TestServer server = await TestServer.StartAsync(options: options);
        await using RemotingClient without = server.NewClient(plant.Client);
        await using RemotingClient with = server.NewClient(plant.MutualClient);
        Assert.Equal([1], await without.EchoAsync([1]));
        Assert.Equal([2], await with.EchoAsync([2]));
        TlsOptions tls = stranger.MutualClient.Tls! with { AuthorityFile = plant.AuthorityFile };
        await using RemotingClient other = server.NewClient(Greeting(new RemotingClientOptions { Tls = tls }));
        await RefusalOfAsync(other);
    }

    [Fact]
    public async Task GivenTlsServer_WhenAPlainClientCalls_ThenItIsToldThatThePeerSpeaksTls()
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.Server);
        await using RemotingClient client = server.NewClient(Greeting(new RemotingClientOptions()));
        TlsRefusedException refusal = await RefusalOfAsync(client);
        Assert.Equal("The peer speaks TLS, this end does not.", refusal.Message);
        await AssertHandshakeLogAsync(server, "it does not speak TLS");
    }

    [Fact]
    public async Task GivenPlainServer_WhenATlsClientCalls_ThenItIsToldThatThePeerDoesNot()
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient(plant.Client);
        TlsRefusedException refusal = await RefusalOfAsync(client);
        Assert.EndsWith("does not speak TLS.", refusal.Message, StringComparison.Ordinal);
        await Eventually.TrueAsync(() => server.Log.CountOf(1004) >= 1);
        Assert.Contains("The peer speaks TLS", server.Log.Lines.First(line => line.Id == 1004).Text, StringComparison.Ordinal);
        await using RemotingClient plain = server.NewClient();
        Assert.Equal([1], await plain.EchoAsync([1]));
    }

    [Fact]
    public async Task GivenManyCallsThatWait_WhenTheAttemptIsRefused_ThenAllOfThemFailWithIt()
    {
        using var plant = new TlsPlant();
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();

        // A second attempt comes too late for any of them.
        var never = TimeSpan.FromHours(1);
        await using var client = new RemotingClient(
            listener.LocalEndpoint,
            plant.Client with { ReconnectDelay = never, MaxReconnectDelay = never },
            new CollectedLog());
        Task<TlsRefusedException>[] refusals = [.. Enumerable.Range(0, 20).Select(_ => RefusalOfAsync(client))];
        using (Socket socket = await listener.AcceptSocketAsync(Token))
        {
            await socket.SendAsync("This is no TLS, whatever else it may be."u8.ToArray(), Token);
            await Task.WhenAll(refusals).WaitAsync(Calls.Timeout, Token);
        }

        listener.Stop();
    }

    [Fact]
    public async Task GivenARefusal_WhenItsCauseIsMended_ThenTheSameClientIsServed()
    {
        using var plant = new TlsPlant();
        using TestCertificate wrong = plant.Authority.Sign("other.example");
        string file = plant.Write("renewed.pem", wrong.Pem);
        await using TestServer server = await TestServer.StartAsync(
            options: new RemotingServerOptions { Tls = new ServerTlsOptions { Certificate = file } });
        await using RemotingClient client = server.NewClient(plant.Client);
        await RefusalOfAsync(client);
        using TestCertificate right = plant.Authority.Sign();
        plant.Write("renewed.pem", right.Pem);
        await Eventually.TrueAsync(async () =>
        {
            try
            {
                return (await client.EchoAsync([1]))[0] == 1;
            }
            catch (RemotingException exception) when (TlsRefusedException.FindIn(exception) is not null)
            {
                return false;
            }
        });
    }

    [Fact]
    public async Task GivenPeersThatSendGarbageOrStopHalfWay_WhenOthersCome_ThenTheyAreServedAndTheFormerClosed()
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.Server with
        {
            Tls = plant.Server.Tls! with { HandshakeTimeout = TimeSpan.FromMilliseconds(500) },
        });
        using Socket silent = await server.ConnectRawAsync();
        using Socket half = await server.ConnectRawAsync();
        await half.SendAsync((byte[])[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]);
        using Socket garbage = await server.ConnectRawAsync();
        await garbage.SendAsync((byte[])[22, 3, 1, 0, 8, .. Calls.Content(1, 8)]);
        await using RemotingClient client = server.NewClient(plant.Client);
        Assert.Equal([1], await client.EchoAsync([1]));
        foreach (Socket socket in (Socket[])[silent, half])
            Assert.Empty(await socket.ReadToEndAsync());
        await garbage.ReadToEndAsync();
        garbage.Dispose();
        await Eventually.TrueAsync(() => server.Server.ConnectionCount == 1);
        Assert.Equal(3, server.Log.CountOf(1011));
        Assert.Equal(2, server.Log.Lines.Count(line => line.Id == 1011
            && line.Text.Contains("it was not complete after", StringComparison.Ordinal)));
        Assert.Equal(3, server.Log.Lines.Count(line => line.Level >= LogLevel.Warning));
    }

    [Fact]
    public async Task GivenPortProbe_WhenItComesAndGoes_ThenNothingIsLogged()
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.Server);
        using (await server.ConnectRawAsync())
            await Eventually.TrueAsync(() => server.Server.ConnectionCount == 1);
        await Eventually.TrueAsync(() => server.Server.ConnectionCount == 0);
        Assert.DoesNotContain(server.Log.Lines, line => line.Level >= LogLevel.Warning);
    }

    [Fact]
    public async Task GivenHandshakesUnderWay_WhenTheServerStops_ThenItDoesNotWaitForThem()
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.Server with
        {
            Tls = plant.Server.Tls! with { HandshakeTimeout = TimeSpan.FromMinutes(10) },
        });
        using Socket silent = await server.ConnectRawAsync();
        await Eventually.TrueAsync(() => server.Server.ConnectionCount == 1);
        await server.Server.StopAsync(TimeSpan.FromMinutes(5), CancellationToken.None).WaitAsync(Calls.Timeout, Token);
        Assert.Equal(0, server.Server.ConnectionCount);
        Assert.Equal(0, server.Log.CountOf(1011));
    }

    [Fact]
    public async Task GivenServerThatNeverAnswersTheHandshake_WhenCalled_ThenTheAttemptIsGivenUpInTime()
    {
        using var plant = new TlsPlant();
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        await using var client = new RemotingClient(
            listener.LocalEndpoint,
            plant.Client with { ConnectTimeout = TimeSpan.FromMilliseconds(200) },
            new CollectedLog());
        ValueTask<ResponseFrame> call = client.InvokeAsync(
            Calls.Buffer([]), 1, 1, TimeSpan.FromSeconds(1), CancellationToken.None);
        RemotingException failure = await Assert.ThrowsAsync<RemotingException>(async () => (await call).Dispose());
        Assert.Equal(RemotingError.Unreachable, failure.Error);
        Assert.IsType<TimeoutException>(failure.InnerException);
    }

    /// <summary>With a handshake of frames, as the client of brokers has one.</summary>
    private static RemotingClientOptions Greeting(RemotingClientOptions options) => options with
    {
        HandshakeAsync = async (channel, cancellationToken) =>
        {
            using ResponseFrame answer = await channel.InvokeAsync(
                Calls.Buffer(new byte[60]), ScriptedHandler.Echo, 1, cancellationToken);
        },
    };

    private static async Task<TlsRefusedException> RefusalOfAsync(RemotingClient client)
    {
        // Long enough that a call which was not told at once would be seen.
        ValueTask<ResponseFrame> call = client.InvokeAsync(
            Calls.Buffer([1]), ScriptedHandler.Echo, 1, TimeSpan.FromMinutes(5), CancellationToken.None);
        RemotingException failure = await Assert.ThrowsAsync<RemotingException>(async () => (await call).Dispose())
            .WaitAsync(Calls.Timeout, Token);
        Assert.Equal(RemotingError.Unreachable, failure.Error);
        return Assert.IsType<TlsRefusedException>(TlsRefusedException.FindIn(failure));
    }

    private static async Task AssertHandshakeLogAsync(TestServer server, string text)
    {
        await Eventually.TrueAsync(() => server.Log.CountOf(1011) >= 1, text);
        LogLine line = server.Log.Lines.First(line => line.Id == 1011);
        Assert.Contains(text, line.Text, StringComparison.Ordinal);
        Assert.Equal(0, server.Handler.FrameCount);
    }
}
