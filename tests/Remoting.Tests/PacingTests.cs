using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace EQueue.Remoting.Tests;

/// <summary>
/// Connections within one machine are not paced. Where the system's own setting does not pace, these tests hold for any
/// build; where it does (<c>net.ipv4.tcp_congestion_control = bbr</c>), only for one that sees to it.
/// </summary>
public sealed class PacingTests
{
    private const int TcpLevel = 6;
    private const int CongestionControl = 13;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenLoopback_WhenConnected_ThenNeitherEndIsPaced()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Only Linux has a congestion control for each socket.");
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        await client.EchoAsync([1, 2, 3]).WaitAsync(Calls.Timeout, Token);
        Assert.Equal(["reno", "reno"], EndsOfConnectionsTo(server.EndPoint.Port).Select(ControlOf));
    }

    [Fact]
    public void GivenUnconnectedSocket_WhenAsked_ThenTheSystemsSettingStays()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Only Linux has a congestion control for each socket.");
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        string before = ControlOf(socket);
        TcpSocket.StayUnpacedWithinMachine(socket);
        Assert.Equal(before, ControlOf(socket));
    }

    /// <summary>The sockets of this process that are one end of a connection to a port, both ends being here.</summary>
    private static List<Socket> EndsOfConnectionsTo(int port)
    {
        var ends = new List<Socket>();
        foreach (string path in Directory.EnumerateFiles("/proc/self/fd"))
        {
            try
            {
                if (SocketOf(path) is
                    { LocalEndPoint: IPEndPoint local, Connected: true, RemoteEndPoint: IPEndPoint remote } socket
                    && (local.Port == port || remote.Port == port))
                {
                    ends.Add(socket);
                }
            }
            catch (Exception exception) when (exception is IOException or SocketException)
            {
                // Other tests run beside this one and close what is theirs.
            }
        }

        return ends;
    }

    private static Socket? SocketOf(string path)
    {
        if (File.ResolveLinkTarget(path, false)?.Name.StartsWith("socket:", StringComparison.Ordinal) != true)
            return null;
        int descriptor = int.Parse(Path.GetFileName(path), CultureInfo.InvariantCulture);
        return new Socket(new SafeSocketHandle(descriptor, ownsHandle: false));
    }

    private static string ControlOf(Socket socket)
    {
        byte[] name = new byte[16];
        int length = socket.GetRawSocketOption(TcpLevel, CongestionControl, name);
        return Encoding.ASCII.GetString(name, 0, length).TrimEnd('\0');
    }
}
