using System.Net;
using System.Net.Sockets;

namespace EQueue.Remoting.Tests;

/// <summary>Both ends of one TCP connection.</summary>
internal static class SocketPair
{
    public static async Task<(Socket Near, Socket Far)> ConnectAsync()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(1);
        var near = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await near.ConnectAsync(listener.LocalEndPoint!);
        return (near, await listener.AcceptAsync());
    }

    /// <summary>The same for the poller.</summary>
    public static async Task<(PolledSocket Near, PolledSocket Far)> ConnectPolledAsync(int bufferBytes = 0)
    {
        (Socket near, Socket far) = await ConnectAsync();
        TcpSocket.SizeBuffers(near, bufferBytes);
        TcpSocket.SizeBuffers(far, bufferBytes);
        return (new PolledSocket(near, SocketPoller.Shared!), new PolledSocket(far, SocketPoller.Shared!));
    }
}
