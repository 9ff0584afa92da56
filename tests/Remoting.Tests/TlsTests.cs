using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting.Tests;

public sealed class TlsTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenTls_WhenFramesOfAllSizesAreEchoed_ThenTheyComeBackAsTheyWere()
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.Server);
        await using RemotingClient client = server.NewClient(plant.Client);
        foreach (int bytes in (int[])[0, 1, 100, 4096, 16_384, 16_385, 300_000, (16 << 20) - FrameHeader.Size])
        {
            byte[] content = Calls.Content(bytes, bytes);
            byte[] answer = await client.EchoAsync(content);
            Assert.True(content.AsSpan().SequenceEqual(answer), $"{bytes} bytes");
        }

        Task<byte[]>[] many = [.. Enumerable.Range(0, 5_000).Select(i => client.EchoAsync(Calls.Content(i, i % 700)))];
        byte[][] answers = await Task.WhenAll(many);
        for (int i = 0; i < answers.Length; i++)
            Assert.Equal(Calls.Content(i, i % 700), answers[i]);
        Assert.Equal(1, client.ConnectionGeneration);
        Assert.DoesNotContain(server.Log.Lines, line => line.Level >= LogLevel.Warning);
    }

    [Fact]
    public async Task GivenTls_WhenWhatTravelsIsLookedAt_ThenNothingOfItCanBeRead()
    {
        using var plant = new TlsPlant();
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        await using TestServer server = await TestServer.StartAsync(options: plant.Server);
        await using var client = new RemotingClient(listener.LocalEndpoint, plant.Client, new CollectedLog());
        byte[] secret = "a secret that nobody else shall read"u8.ToArray();
        Task<byte[]> call = client.EchoAsync(secret);
        using Socket near = await listener.AcceptSocketAsync(Token);
        using Socket far = await server.ConnectRawAsync();
        using var seen = new MemoryStream();
        Task there = RelayAsync(near, far, seen);
        Task back = RelayAsync(far, near, null);
        Assert.Equal(secret, await call);
        await client.DisposeAsync();
        await Task.WhenAll(there, back);
        Assert.True(seen.Length > secret.Length);
        Assert.Equal(-1, seen.ToArray().AsSpan().IndexOf(secret));
    }

    [Fact]
    public async Task GivenManyClients_WhenAllCallAtOnce_ThenEachIsAnswered()
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.Server);
        RemotingClient[] clients = [.. Enumerable.Range(0, 200).Select(_ => server.NewClient(plant.Client))];
        try
        {
            byte[][] answers = await Task.WhenAll(clients.Select((client, i) => client.EchoAsync([(byte)i])));
            for (int i = 0; i < answers.Length; i++)
                Assert.Equal([(byte)i], answers[i]);
            Assert.Equal(clients.Length, server.Server.ConnectionCount);
        }
        finally
        {
            foreach (RemotingClient client in clients)
                await client.DisposeAsync();
        }

        await Eventually.TrueAsync(() => server.Server.ConnectionCount == 0);
    }

    [Theory]
    [InlineData(SslProtocols.Tls12)]
    [InlineData(SslProtocols.Tls13)]
    public async Task GivenOneVersion_WhenAPeerSpeaksItAlone_ThenItIsServed(SslProtocols version)
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.Server);
        using Socket socket = await server.ConnectRawAsync();
        await using SslStream stream = await SecureAsync(socket, version);
        await stream.WriteAsync(Calls.Frame(ScriptedHandler.Echo, FrameFlags.None, 7, [1, 2, 3]), Token);
        byte[] answer = new byte[FrameHeader.Size + 3];
        await stream.ReadExactlyAsync(answer, Token);
        Assert.Equal([1, 2, 3], answer[FrameHeader.Size..]);
        Assert.Equal(version, stream.SslProtocol);
    }

    [Fact]
    public async Task GivenRequestsBeingHandled_WhenStoppedWithDrain_ThenTheyAreAnsweredAndTheStreamEndsInOrder()
    {
        using var plant = new TlsPlant();
        TestServer server = await TestServer.StartAsync(options: plant.Server);
        await using RemotingClient client = server.NewClient(plant.Client);
        byte[][] contents = [.. Enumerable.Range(0, 20).Select(i => Calls.Content(i, 200_000))];
        Task<byte[]>[] calls = [.. contents.Select(content => client.EchoAsync(content, ScriptedHandler.Hold))];
        await Eventually.TrueAsync(() => server.Handler.HeldCount == 20, "all are held");
        Task stopping = server.Server.StopAsync(TimeSpan.FromSeconds(20), CancellationToken.None);
        server.Handler.Release();
        byte[][] answers = await Task.WhenAll(calls);
        Assert.All(answers.Zip(contents), pair => Assert.True(pair.First.AsSpan().SequenceEqual(pair.Second)));
        await stopping;
        Assert.Null(server.Handler.Disconnected.Single().Cause);
        Assert.DoesNotContain(server.Log.Lines, line => line.Level >= LogLevel.Warning);
    }

    [Fact]
    public async Task GivenHandlerThatClosesBehindItsAnswer_WhenThePeerGoesOnSending_ThenItGetsTheAnswerAndTheEnd()
    {
        using var plant = new TlsPlant();
        var handler = new ScriptedHandler
        {
            OnCustom = (connection, header, payload) =>
            {
                ScriptedHandler.Answer(connection, header, payload.Span, inline: true);
                connection.CloseAfterFlush();
                return ValueTask.CompletedTask;
            },
        };
        await using TestServer server = await TestServer.StartAsync(handler, plant.Server);
        using Socket socket = await server.ConnectRawAsync();
        await using SslStream stream = await SecureAsync(socket, SslProtocols.None);
        byte[] last = Calls.Frame(ScriptedHandler.Custom, FrameFlags.None, 1, Calls.Content(1, 100_000));
        byte[] tooLate = Calls.Frame(ScriptedHandler.Echo, FrameFlags.None, 2, new byte[100]);
        await stream.WriteAsync((byte[])[.. last, .. tooLate, .. tooLate], Token);
        using var answer = new MemoryStream();
        await stream.CopyToAsync(answer, Token);
        Assert.Equal(last.Length, answer.Length);
        await stream.DisposeAsync();
        socket.Dispose();
        await Eventually.TrueAsync(() => !handler.Disconnected.IsEmpty, "the connection has ended");
        Assert.Null(handler.Disconnected.Single().Cause);
        Assert.Equal(1, handler.FrameCount);
    }

    [Fact]
    public async Task GivenPeerThatReadsNothing_WhenItsAnswersPileUp_ThenItIsCutWhileOthersGoOn()
    {
        using var plant = new TlsPlant();
        RemotingServerOptions options = plant.Server with
        {
            MaxQueuedSendBytes = 256 * 1024,
            SendTimeout = TimeSpan.FromMilliseconds(500),
            SocketBufferBytes = 64 * 1024,
        };
        await using TestServer server = await TestServer.StartAsync(options: options);
        using Socket socket = await server.ConnectRawAsync();
        await using SslStream slow = await SecureAsync(socket, SslProtocols.None);
        await using RemotingClient other = server.NewClient(plant.Client);
        byte[] request = Calls.Frame(ScriptedHandler.Echo, FrameFlags.None, 1, new byte[64 * 1024]);
        var flooding = Task.Run(async () =>
        {
            try
            {
                while (true)
                    await slow.WriteAsync(request);
            }
            catch (IOException)
            {
                // Cut, as it should be.
            }
        });
        while (server.Handler.Disconnected.IsEmpty)
            Assert.Equal([1], await other.EchoAsync([1]));
        await flooding.WaitAsync(Calls.Timeout, Token);
        Assert.Equal(1, server.Log.CountOf(1006));
    }

    [Fact]
    public async Task GivenQuietConnectionsThatWereBusy_WhenTheyWait_ThenNoReceiveMemoryIsHeldForThem()
    {
        using var plant = new TlsPlant();
        await using TestServer server = await TestServer.StartAsync(options: plant.Server);
        RemotingClient[] clients = [.. Enumerable.Range(0, 10).Select(_ => server.NewClient(plant.Client))];
        foreach (RemotingClient client in clients)
            await client.EchoAsync(new byte[1 << 20]);
        await Eventually.TrueAsync(() => server.Server.ReceiveBytes == 0);
        foreach (RemotingClient client in clients)
            await client.EchoAsync([1]);
        foreach (RemotingClient client in clients)
            await client.DisposeAsync();
    }

    [Fact]
    public async Task GivenManyLargeFramesInPart_WhenTheyWouldTakeMoreThanThereIs_ThenTheBoundHoldsAndAllAreHandled()
    {
        using var plant = new TlsPlant();
        const int peers = 20, frameBytes = 512 * 1024, bound = 1 << 20;
        await using TestServer server = await TestServer.StartAsync(
            options: plant.Server with { MaxFrameBytes = bound, ReceiveMemoryBytes = bound });
        byte[] frame = Calls.Frame(ScriptedHandler.Echo, FrameFlags.Oneway, 1, new byte[frameBytes - FrameHeader.Size]);
        var streams = new List<SslStream>();
        for (int i = 0; i < peers; i++)
        {
            streams.Add(await SecureAsync(await server.ConnectRawAsync(), SslProtocols.None));
            await streams[i].WriteAsync(frame.AsMemory(0, 20_000), Token);
        }

        await Task.WhenAll(streams.Select(stream => stream.WriteAsync(frame.AsMemory(20_000), Token).AsTask()))
            .WaitAsync(Calls.Timeout, Token);
        while (server.Handler.FrameCount < peers)
        {
            Assert.InRange(server.Server.ReceiveBytes, 0, bound + frameBytes);
            await Task.Yield();
        }

        await Eventually.TrueAsync(() => server.Server.ReceiveBytes == 0);
        foreach (SslStream stream in streams)
            await stream.DisposeAsync();
    }

    [Fact]
    public async Task GivenServerThatGoesAndComesBack_WhenTheClientCallsOn_ThenItReconnectsOverTls()
    {
        using var plant = new TlsPlant();
        TestServer server = await TestServer.StartAsync(options: plant.Server);
        int port = server.EndPoint.Port;
        await using RemotingClient client = server.NewClient(plant.Client);
        Assert.Equal([1], await client.EchoAsync([1]));
        await server.DisposeAsync();
        Task<byte[]> waiting = Retried();
        server = await TestServer.StartAsync(options: plant.Server, port: port);
        Assert.Equal([2], await waiting);
        await server.DisposeAsync();

        async Task<byte[]> Retried()
        {
            while (true)
            {
                try
                {
                    return await client.EchoAsync([2]);
                }
                catch (RemotingException exception) when (exception.Error == RemotingError.ConnectionLost)
                {
                    // Called before the loss was seen.
                }
            }
        }
    }

    private static async Task<SslStream> SecureAsync(Socket socket, SslProtocols versions)
    {
        var stream = new SslStream(new NetworkStream(socket, ownsSocket: true));
        await stream.AuthenticateAsClientAsync(
            new SslClientAuthenticationOptions
            {
                TargetHost = "127.0.0.1",
                EnabledSslProtocols = versions,
                RemoteCertificateValidationCallback = (_, certificate, _, _) => certificate is not null,
            },
            Token);
        return stream;
    }

    private static async Task RelayAsync(Socket from, Socket to, Stream? copy)
    {
        byte[] buffer = new byte[64 * 1024];
        try
        {
            while (await from.ReceiveAsync(buffer.AsMemory(), Token) is > 0 and int count)
            {
                copy?.Write(buffer, 0, count);
                await to.SendAsync(buffer.AsMemory(0, count), Token);
            }

            to.Shutdown(SocketShutdown.Send);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // One of the two has gone.
            to.Dispose();
        }
    }
}
