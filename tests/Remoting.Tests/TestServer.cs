using System.Net;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>A real server on a loopback port, with what it was told and what it logged.</summary>
internal sealed class TestServer : IAsyncDisposable
{
    private readonly RemotingServer _server;

    private TestServer(ScriptedHandler handler, RemotingServerOptions options, TimeProvider? time)
    {
        Handler = handler;
        _server = new RemotingServer(options, handler, Log, time);
    }

    public ScriptedHandler Handler { get; }

    public CollectedLog Log { get; } = new();

    public RemotingServer Server => _server;

    public IPEndPoint EndPoint => (IPEndPoint)_server.LocalEndPoint;

    public static async Task<TestServer> StartAsync(
        ScriptedHandler? handler = null,
        RemotingServerOptions? options = null,
        int port = 0,
        TimeProvider? time = null)
    {
        options ??= new RemotingServerOptions();
        if (port != 0)
            options = options with { Listen = [$"127.0.0.1:{port}"] };
        var server = new TestServer(handler ?? new ScriptedHandler(), options, time);
        await server._server.StartAsync(CancellationToken.None);
        return server;
    }

    public RemotingClient NewClient(RemotingClientOptions? options = null) =>
        new(EndPoint, options ?? new RemotingClientOptions(), new CollectedLog());

    /// <summary>A bare socket, for bytes that no client would send.</summary>
    public async Task<Socket> ConnectRawAsync()
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await socket.ConnectAsync(EndPoint);
        return socket;
    }

    public ValueTask DisposeAsync() => _server.DisposeAsync();
}
