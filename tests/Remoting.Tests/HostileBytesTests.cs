using System.Net;
using System.Net.Sockets;
using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting.Tests;

public sealed class HostileBytesTests
{
    public static TheoryData<string, byte[]> Hostile { get; } = new()
    {
        { "length 0", new byte[16] },
        { "length 15", [15, 0, 0, 0] },
        { "one above the maximum", [1, 0, 0, 1, 1, 1, 0, 0] },
        { "negative", [0xFF, 0xFF, 0xFF, 0xFF] },
        { "2 GB", [0, 0, 0, 0x80] },
        { "text", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"u8.ToArray() },
        { "unknown flags", [16, 0, 0, 0, 1, 1, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0] },
        { "zeros", new byte[100_000] },
    };

    [Theory]
    [MemberData(nameof(Hostile))]
    public async Task GivenHostileBytes_WhenTheServerReadsThem_ThenTheConnectionIsClosedWithOneWarningAndOthersGoOn(
        string name, byte[] bytes)
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient other = server.NewClient();
        await other.EchoAsync([1]);
        using Socket hostile = await server.ConnectRawAsync();
        await hostile.SendAsync(bytes);
        Assert.Empty(await hostile.ReadToEndAsync());
        await Eventually.TrueAsync(() => server.Handler.Disconnected.Count == 1, $"{name}: the connection is closed");
        LogLine warning = Assert.Single(server.Log.Lines, line => line.Level >= LogLevel.Warning);
        Assert.Equal(1004, warning.Id);
        Assert.Equal([2], await other.EchoAsync([2]));
        Assert.Equal(2, server.Handler.FrameCount);
    }

    [Theory]
    [MemberData(nameof(Hostile))]
    public async Task GivenServerOfHostileBytes_WhenTheClientReadsThem_ThenTheCallFailsAndTheClientLives(
        string name, byte[] bytes)
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(10);
        await using var client = new RemotingClient(
            listener.LocalEndPoint!, new RemotingClientOptions(), new CollectedLog());
        Task<RemotingError> call =
            client.InvokeAsync(Calls.Buffer([1]), 1, 1, Calls.Timeout, CancellationToken.None).ErrorOfAsync();
        using Socket accepted = await listener.AcceptAsync();
        await accepted.ReceiveAsync(new byte[100]);
        await accepted.SendAsync(bytes);
        Assert.Equal(RemotingError.ConnectionLost, await call);
        using Socket again = await listener.AcceptAsync();
        Assert.True(again.Connected, name);
    }

    [Theory]
    [InlineData(3)]
    [InlineData(16)]
    [InlineData(70)]
    public async Task GivenFrameThatIsCutShort_WhenThePeerEndsTheStream_ThenItIsNotHandled(int bytes)
    {
        await using TestServer server = await TestServer.StartAsync();
        using Socket peer = await server.ConnectRawAsync();
        byte[] frame = Calls.Frame(ScriptedHandler.Echo, FrameFlags.None, 1, new byte[84]);
        await peer.SendAsync(frame);
        await peer.SendAsync(frame.AsMemory(0, bytes));
        peer.Shutdown(SocketShutdown.Send);
        byte[] answer = await peer.ReadToEndAsync();
        Assert.Equal(frame.Length, answer.Length);
        await Eventually.TrueAsync(() => server.Handler.Disconnected.Count == 1, "the connection is closed");
        Assert.Equal(1, server.Handler.FrameCount);
        Assert.Equal(1, server.Log.CountOf(1004));
    }

    [Fact]
    public async Task GivenRandomBytes_WhenManyPeersSendThem_ThenTheServerStillServes()
    {
        await using TestServer server = await TestServer.StartAsync(
            options: new RemotingServerOptions { IdleTimeout = TimeSpan.FromSeconds(1) });
        await using RemotingClient client = server.NewClient();
        var random = new Random(20260728);
        for (int i = 0; i < 200; i++)
        {
            using Socket peer = await server.ConnectRawAsync();
            byte[] bytes = new byte[random.Next(1, 500)];
            random.NextBytes(bytes);
            if (i % 2 == 0 && bytes.Length > 4)
                (bytes[2], bytes[3]) = (0, 0);
            await peer.SendAsync(bytes);
            if (i % 3 == 0)
                peer.Shutdown(SocketShutdown.Send);
            Assert.Equal([(byte)i], await client.EchoAsync([(byte)i]));
        }

        await Eventually.TrueAsync(() => server.Server.ConnectionCount == 1, "all of them are gone");
    }

    [Fact]
    public async Task GivenAnswersThatNobodyAskedFor_WhenTheClientReadsThem_ThenTheyAreDropped()
    {
        var handler = new ScriptedHandler
        {
            OnCustom = (connection, header, payload) =>
            {
                foreach (uint id in new uint[] { 0, 1, 0xFFFF_FFFF, header.CorrelationId ^ 0x4000 })
                    connection.Send(Calls.Buffer([9]), header.Opcode, 1, FrameFlags.Response, id, 0);
                connection.Send(Calls.Buffer([8]), header.Opcode, 1, FrameFlags.Oneway, 0, 0);
                ScriptedHandler.Answer(connection, header, payload.Span, inline: false);
                ScriptedHandler.Answer(connection, header, payload.Span, inline: false);
                return ValueTask.CompletedTask;
            },
        };
        await using TestServer server = await TestServer.StartAsync(handler);
        await using RemotingClient client = server.NewClient();
        for (int i = 0; i < 20; i++)
            Assert.Equal([(byte)i], await client.EchoAsync([(byte)i], ScriptedHandler.Custom));
        Assert.Equal(1, client.ConnectionGeneration);
    }
}
