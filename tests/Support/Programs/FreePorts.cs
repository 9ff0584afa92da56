using System.Net;
using System.Net.Sockets;

namespace EQueue.Support;

/// <summary>Ports for programs that do not choose one themselves.</summary>
public static class FreePorts
{
    /// <summary>So many that are free now, of those that no outgoing connection takes: a client that knocks at a
    /// program that is down would get its port sometimes.</summary>
    public static int[] Take(int count)
    {
        var ports = new HashSet<int>();
        while (ports.Count < count)
        {
            int port = Random.Shared.Next(20_000, 32_000);
            try
            {
                using var listener = new TcpListener(IPAddress.Loopback, port);
                listener.Start();
                ports.Add(port);
            }
            catch (SocketException)
            {
                // Taken.
            }
        }

        return [.. ports];
    }
}
