using System.Net;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

public sealed class ReconnectTests
{
    private static readonly RemotingClientOptions Quick = new() { MaxReconnectDelay = TimeSpan.FromMilliseconds(100) };

    [Fact]
    public async Task GivenCallsInFlight_WhenTheConnectionDrops_ThenAllFailAtOnceWithConnectionLost()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        await client.WaitConnectedAsync(CancellationToken.None);
        Task<RemotingError>[] calls = [.. Enumerable.Range(0, 100).Select(_ => client.InvokeAsync(
            Calls.Buffer([1]), ScriptedHandler.Hold, 1, Timeout.InfiniteTimeSpan, CancellationToken.None).ErrorOfAsync())];
        await Eventually.TrueAsync(() => server.Handler.HeldCount == 100, "all are held");
        server.Handler.Connected.Single().Close(null);
        Assert.All(await Task.WhenAll(calls), error => Assert.Equal(RemotingError.ConnectionLost, error));
        Assert.Equal(0, client.InFlight);
        Assert.Equal([1], await client.EchoAsync([1]));
        Assert.Equal(2, client.ConnectionGeneration);
    }

    [Fact]
    public async Task GivenACallThatFailedWithItsConnection_WhenItsCallerCallsAgainAtOnce_ThenTheNextConnectionAnswers()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        var sink = new CallingAgain(client);
        client.Invoke(
            Calls.Buffer([1]), ScriptedHandler.Hold, 1, Timeout.InfiniteTimeSpan, sink, 0, inlineAllowed: false);
        await Eventually.TrueAsync(() => server.Handler.HeldCount == 1, "it is held");
        server.Handler.Connected.Single().Close(null);
        Assert.Equal([7], await (await sink.Again).WaitAsync(Calls.Timeout));
        Assert.Equal(2, client.ConnectionGeneration);
    }

    [Fact]
    public async Task GivenNoServer_WhenItComesUp_ThenTheWaitingCallIsAnswered()
    {
        int port = await FreePortAsync();
        var log = new CollectedLog();
        await using var client = new RemotingClient(new IPEndPoint(IPAddress.Loopback, port), Quick, log);
        Task<byte[]> waiting = client.EchoAsync([1, 2]);
        await Eventually.TrueAsync(() => log.CountOf(1023) >= 2, "it is tried again and again");
        Assert.False(client.IsConnected);
        await using TestServer server = await Eventually.StartedAsync(() => TestServer.StartAsync(port: port));
        Assert.Equal([1, 2], await waiting);
        Assert.Equal(1, log.CountOf(1022));
    }

    [Fact]
    public async Task GivenCallsInEveryModeWhileThereIsNoServer_WhenItComesUp_ThenTheyArriveInTheOrderOfTheCalls()
    {
        int port = await FreePortAsync();
        await using var client = new RemotingClient(
            new IPEndPoint(IPAddress.Loopback, port), Quick with { MaxInFlight = 4 }, new CollectedLog());
        var sink = new CallTests.CountingSink();
        var arrived = new List<byte>();
        var handler = new ScriptedHandler
        {
            OnCustom = (connection, header, payload) =>
            {
                arrived.Add(payload.Span[0]);
                ScriptedHandler.Answer(connection, header, payload.Span, inline: true);
                return ValueTask.CompletedTask;
            },
        };
        var calls = new List<Task<byte[]>>();
        for (byte i = 0; i < 100; i += 2)
        {
            client.Invoke(Calls.Buffer([i]), ScriptedHandler.Custom, 1, Calls.Timeout, sink, i, inlineAllowed: false);
            calls.Add(client.EchoAsync([(byte)(i + 1)], ScriptedHandler.Custom));
        }

        await using TestServer server = await Eventually.StartedAsync(
            () => TestServer.StartAsync(handler, port: port));
        await Task.WhenAll(calls);
        await Eventually.TrueAsync(() => sink.Outcomes.Count == 50, "all callbacks came");
        Assert.Equal(Enumerable.Range(0, 100).Select(i => (byte)i), arrived);
    }

    [Fact]
    public async Task GivenNoServer_WhenTheTimeoutIsOver_ThenUnreachableTellsTheConnectError()
    {
        int port = await FreePortAsync();
        await using var client = new RemotingClient(new IPEndPoint(IPAddress.Loopback, port), Quick, new CollectedLog());
        RemotingException exception = await Assert.ThrowsAsync<RemotingException>(async () => await client.InvokeAsync(
            Calls.Buffer([1]), 1, 1, TimeSpan.FromMilliseconds(500), CancellationToken.None));
        Assert.Equal(RemotingError.Unreachable, exception.Error);
        Assert.Equal(SocketError.ConnectionRefused, Assert.IsType<SocketException>(exception.InnerException).SocketErrorCode);
    }

    [Fact]
    public async Task GivenServerThatRestarts_WhenCalled_ThenTheClientIsConnectedAgain()
    {
        TestServer server = await TestServer.StartAsync();
        int port = server.EndPoint.Port;
        var log = new CollectedLog();
        await using var client = new RemotingClient(server.EndPoint, Quick, log);
        for (int i = 1; i <= 3; i++)
        {
            Assert.Equal([(byte)i], await client.EchoAsync([(byte)i]));
            Assert.Equal(i, client.ConnectionGeneration);
            await server.DisposeAsync();
            await Eventually.TrueAsync(() => !client.IsConnected, "the end is noticed");
            server = await Eventually.StartedAsync(() => TestServer.StartAsync(port: port));
        }

        await client.WaitConnectedAsync(CancellationToken.None);
        await server.DisposeAsync();
        Assert.Equal(4, log.CountOf(1020));
    }

    [Fact]
    public async Task GivenHandshake_WhenConnected_ThenItRunsFirstOnEachConnection()
    {
        await using TestServer server = await TestServer.StartAsync();
        var greetings = new List<byte>();
        await using RemotingClient client = server.NewClient(Quick with
        {
            HandshakeAsync = async (channel, cancellationToken) =>
            {
                using ResponseFrame answer =
                    await channel.InvokeAsync(Calls.Buffer([42]), ScriptedHandler.Echo, 1, cancellationToken);
                greetings.Add(answer.Payload.Span[0]);
            },
        });
        Assert.Equal([1], await client.EchoAsync([1]));
        Assert.Equal([42], greetings);
        server.Handler.Connected.Last().Close(null);
        await Eventually.TrueAsync(() => client.ConnectionGeneration == 2, "it is connected again");
        Assert.Equal([42, 42], greetings);
        Assert.Equal(3, server.Handler.FrameCount);
    }

    [Fact]
    public async Task GivenHandshakeThatFailsTwice_WhenCalled_ThenTheThirdAttemptServes()
    {
        await using TestServer server = await TestServer.StartAsync();
        int attempts = 0;
        await using RemotingClient client = server.NewClient(Quick with
        {
            HandshakeAsync = (_, _) => ++attempts < 3
                ? throw new InvalidOperationException("Not yet.")
                : ValueTask.CompletedTask,
        });
        Assert.Equal([1], await client.EchoAsync([1]));
        Assert.Equal(3, attempts);
        Assert.Equal(1, client.ConnectionGeneration);
    }

    [Fact]
    public async Task GivenHandshakeThatIsNotAnswered_WhenTheConnectTimeoutIsOver_ThenTheAttemptFails()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient(Quick with
        {
            ConnectTimeout = TimeSpan.FromMilliseconds(200),
            HandshakeAsync = async (channel, cancellationToken) =>
                (await channel.InvokeAsync(Calls.Buffer([1]), ScriptedHandler.Hold, 1, cancellationToken)).Dispose(),
        });
        RemotingException exception = await Assert.ThrowsAsync<RemotingException>(async () => await client.InvokeAsync(
            Calls.Buffer([1]), 1, 1, TimeSpan.FromSeconds(2), CancellationToken.None));
        Assert.Equal(RemotingError.Unreachable, exception.Error);
        Assert.IsType<TimeoutException>(exception.InnerException);
    }

    [Fact]
    public async Task GivenHandshakeRefusedForGood_WhenCalled_ThenTheClientStopsTrying()
    {
        await using TestServer server = await TestServer.StartAsync();
        int attempts = 0;
        await using RemotingClient client = server.NewClient(Quick with
        {
            HandshakeAsync = (_, _) =>
            {
                attempts++;
                throw new PermanentFailureException("Wrong password.");
            },
        });
        for (int i = 0; i < 3; i++)
        {
            RemotingException exception = await Assert.ThrowsAsync<RemotingException>(() => client.EchoAsync([1]));
            Assert.Equal(RemotingError.Unreachable, exception.Error);
            Assert.IsType<PermanentFailureException>(exception.InnerException);
        }

        Assert.Equal(1, attempts);
    }

    [Fact]
    public async Task GivenCallsInEveryState_WhenTheClientIsDisposed_ThenAllFailWithDisposed()
    {
        await using TestServer server = await TestServer.StartAsync();
        RemotingClient client = server.NewClient(new RemotingClientOptions { MaxInFlight = 2 });
        RemotingClient idle = server.NewClient();
        Task<RemotingError>[] calls = [.. Enumerable.Range(0, 5).Select(_ => client.InvokeAsync(
            Calls.Buffer([1]), ScriptedHandler.Hold, 1, Calls.Timeout, CancellationToken.None).ErrorOfAsync())];
        await Eventually.TrueAsync(() => server.Handler.HeldCount == 2, "two are sent, three wait");
        await client.DisposeAsync();
        await client.DisposeAsync();
        await idle.DisposeAsync();
        Assert.All(await Task.WhenAll(calls), error => Assert.Equal(RemotingError.Disposed, error));
        RemotingException after = await Assert.ThrowsAsync<RemotingException>(() => client.EchoAsync([1]));
        Assert.Equal(RemotingError.Disposed, after.Error);
    }

    [Fact]
    public async Task GivenNameWithSeveralAddresses_WhenOnlyOneListens_ThenItIsFound()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using var client = new RemotingClient(
            HostPort.Parse($"localhost:{server.EndPoint.Port}"), Quick, new CollectedLog());
        Assert.Equal([1], await client.EchoAsync([1]));
    }

    private static async Task<int> FreePortAsync()
    {
        await using TestServer server = await TestServer.StartAsync();
        return server.EndPoint.Port;
    }

    /// <summary>Calls again from within the failure of its first call.</summary>
    private sealed class CallingAgain(RemotingClient client) : IResponseSink
    {
        private readonly TaskCompletionSource<Task<byte[]>> _again = new();

        public Task<Task<byte[]>> Again => _again.Task;

        public void OnResponse(long token, ResponseFrame response) => response.Dispose();

        public void OnFailure(long token, RemotingException exception) => _again.SetResult(client.EchoAsync([7]));
    }
}
