using System.Net;
using System.Net.Sockets;

namespace EQueue.Remoting;

/// <summary>Whom a connection counts for, where peers have shares or waits of their own.</summary>
public static class PeerHost
{
    private const int SubnetBytes = 8;

    /// <summary>The address of a peer without its port; of IPv6 the /64 subnet, all of which one host may
    /// have.</summary>
    /// <param name="peer">The other end of a connection.</param>
    /// <returns>IPv4 as such, however it is written; null for peers without an address: a Unix socket, this
    /// process.</returns>
    public static IPAddress? AddressOf(EndPoint? peer)
    {
        if (peer is not IPEndPoint { Address: { } address })
            return null;
        if (address.IsIPv4MappedToIPv6)
            return address.MapToIPv4();
        if (address.AddressFamily != AddressFamily.InterNetworkV6 || IPAddress.IsLoopback(address))
            return address;
        byte[] bytes = address.GetAddressBytes();
        bytes.AsSpan(SubnetBytes).Clear();
        return new IPAddress(bytes);
    }
}
