using System.Buffers.Binary;
using System.Net.Sockets;
using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting.Tests;

public sealed class ServerTests
{
    [Fact]
    public async Task GivenHandlerThatThrows_WhenAFrameComes_ThenOnlyItsConnectionIsClosedAndItIsLoggedOnce()
    {
        var handler = new ScriptedHandler { OnCustom = (_, _, _) => throw new InvalidOperationException("Boom.") };
        await AssertFailingHandlerAsync(handler);
    }

    [Fact]
    public async Task GivenHandlerThatFailsLater_WhenAFrameComes_ThenOnlyItsConnectionIsClosedAndItIsLoggedOnce()
    {
        var handler = new ScriptedHandler
        {
            OnCustom = async (_, _, _) =>
            {
                await Task.Yield();
                throw new RemotingException(RemotingError.TooLarge, "Even one of our own.");
            },
        };
        await AssertFailingHandlerAsync(handler);
    }

    [Fact]
    public async Task GivenIncompleteHandler_WhenItsConnectionIsPaused_ThenOthersGoOnAndItsFramesStayInOrder()
    {
        var gate = new TaskCompletionSource();
        var handler = new ScriptedHandler
        {
            OnCustom = async (connection, header, payload) =>
            {
                await gate.Task.WaitAsync(connection.Closed);
                ScriptedHandler.Answer(connection, header, payload.Span, inline: true);
            },
        };
        await using TestServer server = await TestServer.StartAsync(handler);
        await using RemotingClient paused = server.NewClient();
        await using RemotingClient other = server.NewClient();
        byte[] content = Calls.Content(5, 5000);
        Task<byte[]> first = paused.EchoAsync(content, ScriptedHandler.Custom);
        await Eventually.TrueAsync(() => handler.FrameCount == 1, "the first is being handled");
        Task<byte[]> second = paused.EchoAsync([2]);
        for (int i = 0; i < 50; i++)
            Assert.Equal([(byte)i], await other.EchoAsync([(byte)i]));
        Assert.False(second.IsCompleted);
        gate.SetResult();
        Assert.Equal(content, await first);
        Assert.Equal([2], await second);
    }

    [Fact]
    public async Task GivenSpansOfAllSizes_WhenTheServerAnswersWithThem_ThenTheyArriveAndTheSpanIsFreeAtOnce()
    {
        const int MaxFrameBytes = 100_000;
        RemotingException? refusal = null;
        var handler = new ScriptedHandler
        {
            OnCustom = (connection, header, payload) =>
            {
                byte[] answer = Calls.Content(1, BinaryPrimitives.ReadInt32LittleEndian(payload.Span));
                try
                {
                    Answer(connection, header, answer);
                }
                catch (RemotingException exception)
                {
                    refusal = exception;
                    Answer(connection, header, []);
                }

                answer.AsSpan().Clear();
                return ValueTask.CompletedTask;
            },
        };
        await using TestServer server = await TestServer.StartAsync(
            handler, new RemotingServerOptions { MaxFrameBytes = MaxFrameBytes });
        await using RemotingClient client = server.NewClient();
        foreach (int bytes in new[] { 0, 1, 1000, 32 * 1024, 32 * 1024 + 1, MaxFrameBytes - FrameHeader.Size })
        {
            byte[] answer = await client.EchoAsync(BitConverter.GetBytes(bytes), ScriptedHandler.Custom);
            Assert.Equal(Calls.Content(1, bytes), answer);
        }

        Assert.Null(refusal);
        Assert.Empty(await client.EchoAsync(BitConverter.GetBytes(MaxFrameBytes), ScriptedHandler.Custom));
        Assert.Equal(RemotingError.TooLarge, refusal?.Error);

        static void Answer(FrameConnection connection, FrameHeader header, ReadOnlySpan<byte> answer) =>
            connection.Send(
                answer, header.Opcode, header.Version, FrameFlags.Response, header.CorrelationId, 0, true);
    }

    [Fact]
    public async Task GivenAllConnectionsInUse_WhenOthersCome_ThenTheyAreClosedAndFewLinesAreLogged()
    {
        await using TestServer server = await TestServer.StartAsync(options: new RemotingServerOptions { MaxConnections = 2 });
        await using RemotingClient first = server.NewClient();
        await using RemotingClient second = server.NewClient();
        await first.EchoAsync([1]);
        await second.EchoAsync([1]);
        for (int i = 0; i < 30; i++)
        {
            using Socket refused = await server.ConnectRawAsync();
            Assert.Empty(await refused.ReadToEndAsync());
        }

        Assert.Equal(2, server.Server.ConnectionCount);
        Assert.InRange(server.Log.CountOf(1003), 1, 20);
        Assert.Equal([1], await first.EchoAsync([1]));
        await second.DisposeAsync();
        await Eventually.TrueAsync(() => server.Server.ConnectionCount == 1, "a place is free");
        await using RemotingClient third = server.NewClient();
        Assert.Equal([3], await third.EchoAsync([3]));
    }

    [Fact]
    public async Task GivenRequestsBeingHandled_WhenStoppedWithDrain_ThenTheyAreAnsweredAndNothingNewIsRead()
    {
        TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        for (byte i = 0; i < 10; i++)
            Assert.Equal([i], await client.EchoAsync([i]));
        byte[][] contents = [.. Enumerable.Range(0, 50).Select(i => Calls.Content(i, 100_000))];
        Task<byte[]>[] calls = [.. contents.Select(content => client.EchoAsync(content, ScriptedHandler.Hold))];
        await Eventually.TrueAsync(() => server.Handler.HeldCount == 50, "all are held");
        Task stopping = server.Server.StopAsync(TimeSpan.FromSeconds(20), CancellationToken.None);
        (Task<byte[]> tooLate, int before) = await FirstUnreadAsync(client);
        Assert.False(stopping.IsCompleted);
        server.Handler.Release();
        byte[][] answers = await Task.WhenAll(calls);
        Assert.All(answers.Zip(contents), pair => Assert.True(pair.First.AsSpan().SequenceEqual(pair.Second)));
        await stopping;
        Assert.Equal(0, server.Log.CountOf(1008));
        RemotingException exception = await Assert.ThrowsAsync<RemotingException>(() => tooLate);
        Assert.Equal(RemotingError.ConnectionLost, exception.Error);
        Assert.Equal(60 + before, server.Handler.FrameCount);
        Assert.Null(server.Handler.Disconnected.Single().Cause);
        Assert.Equal(0, server.Server.ConnectionCount);
        await Assert.ThrowsAnyAsync<SocketException>(server.ConnectRawAsync);
    }

    [Fact]
    public async Task GivenRequestThatIsNeverAnswered_WhenTheDrainIsOver_ThenItsConnectionIsCut()
    {
        TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        Task<byte[]> call = client.EchoAsync([1], ScriptedHandler.Hold);
        await Eventually.TrueAsync(() => server.Handler.HeldCount == 1, "it is held");
        await server.Server.StopAsync(TimeSpan.FromMilliseconds(200), CancellationToken.None);
        Assert.Equal(1, server.Log.CountOf(1008));
        await Assert.ThrowsAsync<RemotingException>(() => call);
        await server.DisposeAsync();
    }

    [Fact]
    public async Task GivenHandlerThatClosesBehindItsAnswer_WhenThePeerGoesOnSending_ThenItGetsTheAnswerAndNothingMore()
    {
        var handler = new ScriptedHandler
        {
            OnCustom = (connection, header, payload) =>
            {
                ScriptedHandler.Answer(connection, header, payload.Span, inline: true);
                connection.CloseAfterFlush();
                return ValueTask.CompletedTask;
            },
        };
        await using TestServer server = await TestServer.StartAsync(handler);
        using Socket peer = await server.ConnectRawAsync();
        byte[] last = Calls.Frame(ScriptedHandler.Custom, FrameFlags.None, 1, Calls.Content(1, 100_000));
        byte[] tooLate = Calls.Frame(ScriptedHandler.Echo, FrameFlags.None, 2, new byte[100]);
        await peer.SendAsync((byte[])[.. last, .. tooLate, .. tooLate]);
        byte[] answer = await peer.ReadToEndAsync();
        Assert.Equal(last.Length, answer.Length);
        peer.Dispose();
        await Eventually.TrueAsync(() => !handler.Disconnected.IsEmpty, "the connection has ended");
        Assert.Null(handler.Disconnected.Single().Cause);
        Assert.Equal(1, handler.FrameCount);
    }

    [Fact]
    public async Task GivenPeerThatReadsNothing_WhenItsAnswersPileUp_ThenTheyAreBoundedAndItIsCutWhileOthersGoOn()
    {
        var options = new RemotingServerOptions
        {
            MaxQueuedSendBytes = 256 * 1024,
            SendTimeout = TimeSpan.FromMilliseconds(500),
            SocketBufferBytes = 64 * 1024,
        };
        await using TestServer server = await TestServer.StartAsync(options: options);
        using Socket slow = await server.ConnectRawAsync();
        await Eventually.TrueAsync(() => !server.Handler.Connected.IsEmpty, "the slow one is first");
        FrameConnection connection = server.Handler.Connected.Single();
        await using RemotingClient other = server.NewClient();
        byte[] request = Calls.Frame(ScriptedHandler.Echo, FrameFlags.None, 1, new byte[64 * 1024]);
        var flooding = Task.Run(async () =>
        {
            try
            {
                while (true)
                    await slow.SendAsync(request);
            }
            catch (SocketException)
            {
                // Cut, as it should be.
            }
        });
        int mostQueued = 0;
        while (server.Handler.Disconnected.IsEmpty)
        {
            mostQueued = Math.Max(mostQueued, connection.QueuedBytes);
            Assert.Equal([1], await other.EchoAsync([1]));
        }

        await flooding.WaitAsync(Calls.Timeout);
        Assert.InRange(mostQueued, 1, 512 * 1024);
        Assert.Equal(1, server.Log.CountOf(1006));
        Assert.IsType<RemotingException>(server.Handler.Disconnected.Single().Cause);
    }

    [Fact]
    public async Task GivenClosedConnection_WhenAnAnswerIsSent_ThenItIsDropped()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        await client.EchoAsync([1]);
        FrameConnection connection = server.Handler.Connected.Single();
        var closed = new TaskCompletionSource();
        await using CancellationTokenRegistration registration = connection.Closed.Register(closed.SetResult);
        connection.Close(new InvalidOperationException("Enough."));
        await closed.Task;
        connection.Send(FrameBuffer.Rent(), 1, 1, FrameFlags.Response, 1, 0);
        await connection.WhenWritable();
        await Eventually.TrueAsync(() => !server.Handler.Disconnected.IsEmpty, "the handler is told");
        Assert.Equal("Enough.", server.Handler.Disconnected.Single().Cause?.Message);
        Assert.Equal(0, connection.QueuedBytes);
    }

    [Fact]
    public async Task GivenAnswerAboveTheMaximum_WhenSent_ThenTheHandlerIsToldByException()
    {
        await using TestServer server = await TestServer.StartAsync(options: new RemotingServerOptions { MaxFrameBytes = 100 });
        await using RemotingClient client = server.NewClient();
        await client.EchoAsync([1]);
        FrameBuffer tooLarge = Calls.Buffer(new byte[100]);
        RemotingException exception = Assert.Throws<RemotingException>(
            () => server.Handler.Connected.Single().Send(tooLarge, 1, 1, FrameFlags.Response, 1, 0));
        Assert.Equal(RemotingError.TooLarge, exception.Error);
    }

    [Fact]
    public async Task GivenSeveralAddresses_WhenStarted_ThenEachIsListenedOn()
    {
        var options = new RemotingServerOptions { Listen = ["127.0.0.1:0", "localhost:0"] };
        await using TestServer server = await TestServer.StartAsync(options: options);
        int[] ports = [.. server.Log.Lines.Where(line => line.Id == 1000)
            .Select(line => int.Parse(line.Text.TrimEnd('.')[(line.Text.LastIndexOf(':') + 1)..]))];
        Assert.InRange(ports.Length, 2, 3);
        foreach (int port in ports.Take(2))
        {
            await using var client = new RemotingClient(
                HostPort.Parse($"localhost:{port}"), new RemotingClientOptions(), new CollectedLog());
            Assert.Equal([1], await client.EchoAsync([1]));
        }
    }

    [Fact]
    public async Task GivenPortInUse_WhenStarted_ThenStartFailsWithAddressInUse()
    {
        await using TestServer server = await TestServer.StartAsync();
        SocketException exception =
            await Assert.ThrowsAsync<SocketException>(() => TestServer.StartAsync(port: server.EndPoint.Port));
        Assert.Equal(SocketError.AddressAlreadyInUse, exception.SocketErrorCode);
    }

    [Fact]
    public async Task GivenIPv6_WhenTheMachineHasIt_ThenItWorksAsWell()
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "This machine has no IPv6.");
        await using TestServer server = await TestServer.StartAsync(options: new RemotingServerOptions { Listen = ["[::1]:0"] });
        await using RemotingClient client = server.NewClient();
        Assert.Equal([1], await client.EchoAsync([1]));
        Assert.Equal(AddressFamily.InterNetworkV6, server.EndPoint.AddressFamily);
    }

    [Fact]
    public async Task GivenServer_WhenStartedTwiceOrAfterStop_ThenItIsRefused()
    {
        var server = new RemotingServer(new RemotingServerOptions(), new ScriptedHandler(), new CollectedLog());
        await server.StartAsync(CancellationToken.None);
        await Assert.ThrowsAsync<InvalidOperationException>(() => server.StartAsync(CancellationToken.None));
        await server.DisposeAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => server.StartAsync(CancellationToken.None));
    }

    /// <summary>Calls until a call is not answered; how many were before it.</summary>
    private static async Task<(Task<byte[]> Call, int Before)> FirstUnreadAsync(RemotingClient client)
    {
        for (int before = 0; ; before++)
        {
            Task<byte[]> call = client.EchoAsync([1]);
            try
            {
                await call.WaitAsync(TimeSpan.FromMilliseconds(300));
            }
            catch (TimeoutException)
            {
                return (call, before);
            }
        }
    }

    private static async Task AssertFailingHandlerAsync(ScriptedHandler handler)
    {
        await using TestServer server = await TestServer.StartAsync(handler);
        await using RemotingClient failing = server.NewClient();
        await using RemotingClient other = server.NewClient();
        await other.EchoAsync([1]);
        RemotingException exception =
            await Assert.ThrowsAsync<RemotingException>(() => failing.EchoAsync([1], ScriptedHandler.Custom));
        Assert.Equal(RemotingError.ConnectionLost, exception.Error);
        await Eventually.TrueAsync(() => handler.Disconnected.Count == 1, "the handler is told");
        Assert.Single(server.Log.Lines, line => line.Level >= LogLevel.Warning);
        Assert.Equal(1, server.Log.CountOf(1005));
        Assert.Equal([1], await other.EchoAsync([1]));
        Assert.NotNull(handler.Disconnected.Single().Cause);
    }
}
