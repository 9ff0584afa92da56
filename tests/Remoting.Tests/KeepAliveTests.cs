using System.Net;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

public sealed class KeepAliveTests
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(200);
    private static readonly byte[] Ping = Calls.Frame(FrameHeader.PingOpcode, FrameFlags.None, 77, []);

    [Fact]
    public async Task GivenPing_WhenTheServerReadsIt_ThenRemotingAnswersAndTheHandlerSeesNothing()
    {
        await using TestServer server = await TestServer.StartAsync();
        using Socket peer = await server.ConnectRawAsync();
        await peer.SendAsync(Ping);
        byte[] answer = new byte[FrameHeader.Size];
        await peer.ReceiveAsync(answer);
        Assert.True(FrameHeader.TryRead(answer, 100, out FrameHeader header, out _));
        Assert.Equal((FrameHeader.PingOpcode, true, 77u), (header.Opcode, header.IsResponse, header.CorrelationId));
        Assert.Equal(0, server.Handler.FrameCount);
    }

    [Fact]
    public async Task GivenPeerThatStopsAnswering_WhenTheKeepAliveIsOver_ThenTheClientReconnects()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(10);
        await using var client = new RemotingClient(
            listener.LocalEndPoint!,
            new RemotingClientOptions { KeepAliveInterval = Short, KeepAliveTimeout = Short },
            new CollectedLog());
        Task<RemotingError> call = client.InvokeAsync(
            Calls.Buffer([]), 1, 1, Timeout.InfiniteTimeSpan, CancellationToken.None).ErrorOfAsync();
        using Socket dead = await listener.AcceptAsync();
        Assert.Equal(RemotingError.ConnectionLost, await call.WaitAsync(Calls.Timeout));
        byte[] sent = await dead.ReadToEndAsync();
        Assert.Equal(2 * FrameHeader.Size, sent.Length);
        Assert.Equal(FrameHeader.PingOpcode, sent[FrameHeader.Size + 4]);
        using Socket again = await listener.AcceptAsync();
    }

    [Fact]
    public async Task GivenQuietConnection_WhenBothSidesPing_ThenItStaysOpen()
    {
        var options = new RemotingServerOptions { IdleTimeout = TimeSpan.FromSeconds(2) };
        await using TestServer server = await TestServer.StartAsync(options: options);
        await using RemotingClient quiet = server.NewClient();
        await quiet.WaitConnectedAsync(CancellationToken.None);
        using Socket silent = await server.ConnectRawAsync();
        byte[] pings = await silent.ReadToEndAsync();
        Assert.InRange(pings.Length, 1, 100);
        Assert.Equal(1, server.Log.CountOf(1007));
        Assert.Equal([1], await quiet.EchoAsync([1]));
        Assert.Equal(1, quiet.ConnectionGeneration);
    }

    [Fact]
    public async Task GivenQuietClient_WhenThePeerAnswersItsPings_ThenItStaysConnected()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient(
            new RemotingClientOptions { KeepAliveInterval = Short, KeepAliveTimeout = Short });
        await client.WaitConnectedAsync(CancellationToken.None);
        long began = Environment.TickCount64;
        await Eventually.TrueAsync(() => Environment.TickCount64 - began > 8 * Short.TotalMilliseconds);
        Assert.Equal([1], await client.EchoAsync([1]));
        Assert.Equal(1, client.ConnectionGeneration);
    }

    [Fact]
    public async Task GivenHandlerThatPausesTheLoop_WhenTheIdleTimeoutPasses_ThenThePeerIsNotBlamed()
    {
        var gate = new TaskCompletionSource();
        var handler = new ScriptedHandler
        {
            OnCustom = async (connection, header, payload) =>
            {
                await gate.Task.WaitAsync(connection.Closed);
                ScriptedHandler.Answer(connection, header, payload.Span, inline: false);
            },
        };
        await using TestServer server =
            await TestServer.StartAsync(handler, new RemotingServerOptions { IdleTimeout = 5 * Short });
        await using RemotingClient client = server.NewClient();
        Task<byte[]> paused = client.EchoAsync([1], ScriptedHandler.Custom);
        using Socket silent = await server.ConnectRawAsync();
        await silent.ReadToEndAsync();
        using Socket second = await server.ConnectRawAsync();
        await second.ReadToEndAsync();
        gate.SetResult();
        Assert.Equal([1], await paused);
    }
}
