using System.Net;
using System.Net.Sockets;

namespace EQueue.Remoting;

/// <summary>How remoting sets its sockets.</summary>
internal static class TcpSocket
{
    private const int TcpLevel = 6;

    /// <summary>TCP_CONGESTION of Linux's tcp(7).</summary>
    private const int CongestionControl = 13;

    /// <summary>Sets the system's buffers, of a Unix socket too.</summary>
    /// <param name="socket">Any.</param>
    /// <param name="bytes">Each way; 0 leaves them to the system.</param>
    public static void SizeBuffers(Socket socket, int bytes)
    {
        if (bytes <= 0)
            return;
        socket.SendBufferSize = bytes;
        socket.ReceiveBufferSize = bytes;
    }

    /// <summary>
    /// Has a connection within one machine send without a pace. Where the system's congestion control paces (BBR),
    /// every few segments wait for a timer, on loopback for nothing: a tenth of what broker and clients there cost.
    /// Linux alone; other connections keep to the system's setting.
    /// </summary>
    /// <param name="socket">A TCP socket that is connected.</param>
    public static void StayUnpacedWithinMachine(Socket socket)
    {
        if (!OperatingSystem.IsLinux() || !IsWithinMachine(socket))
            return;
        try
        {
            // The one that every Linux has and lets everybody use.
            socket.SetRawSocketOption(TcpLevel, CongestionControl, "reno"u8);
        }
        catch (SocketException)
        {
            // A sandbox without such an option: slower, not wrong.
        }
    }

    private static bool IsWithinMachine(Socket socket) =>
        socket is { RemoteEndPoint: IPEndPoint remote, LocalEndPoint: IPEndPoint local }
        && (IPAddress.IsLoopback(remote.Address) || remote.Address.Equals(local.Address));
}
