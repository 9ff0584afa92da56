using System.Net;
using System.Net.Sockets;

namespace EQueue.Remoting;

/// <summary>What one address holds of a server: its connections, its receive memory, its places in line.</summary>
/// <remarks>The connections are the <see cref="ConnectionPlaces"/>'s and under its lock, all else is the
/// <see cref="ReceiveBudget"/>'s and under that one's.</remarks>
/// <param name="address">As <see cref="AddressOf"/> gives it; null = a Unix socket or this process.</param>
internal sealed class PeerShare(IPAddress? address)
{
    private const int SubnetBytes = 8;

    /// <summary>Null: peers without an address.</summary>
    public IPAddress? Address { get; } = address;

    /// <summary>Whether its peers are on this machine: they have no bound of their own.</summary>
    public bool IsLocal { get; } = address is null || IPAddress.IsLoopback(address);

    /// <summary>Connections that have a place.</summary>
    public int Connections { get; set; }

    /// <summary>Receive memory of its connections.</summary>
    public long ReceiveBytes { get; set; }

    /// <summary>Frames of its connections that wait for memory, small ones and large ones.</summary>
    public ReceiveLine.Queue SmallLine { get; } = new();

    /// <inheritdoc cref="SmallLine"/>
    public ReceiveLine.Queue LargeLine { get; } = new();

    /// <summary>Whom a connection counts for: its address, of IPv6 the /64 subnet that one host may have all
    /// of.</summary>
    public static IPAddress? AddressOf(EndPoint peer)
    {
        if (peer is not IPEndPoint { Address: { } address }) return null;
        if (address.IsIPv4MappedToIPv6) return address.MapToIPv4();
        if (address.AddressFamily != AddressFamily.InterNetworkV6 || IPAddress.IsLoopback(address)) return address;
        byte[] bytes = address.GetAddressBytes();
        bytes.AsSpan(SubnetBytes).Clear();
        return new IPAddress(bytes);
    }
}
