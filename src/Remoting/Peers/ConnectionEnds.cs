using System.Net;
using System.Net.Sockets;

namespace EQueue.Remoting;

/// <summary>The two ends of one connection within this machine, as the far end's socket has them.</summary>
/// <param name="Far">The far end's address, IPv4 as such.</param>
/// <param name="FarPort">Its port.</param>
/// <param name="Near">The address of this process's end.</param>
/// <param name="NearPort">Its port.</param>
internal readonly record struct ConnectionEnds(IPAddress Far, ushort FarPort, IPAddress Near, ushort NearPort)
{
    /// <summary>Whether it goes over IPv4, whatever its sockets are.</summary>
    public bool IsV4 => Far.AddressFamily == AddressFamily.InterNetwork;

    public static ConnectionEnds Of(IPEndPoint near, IPEndPoint far) =>
        new(Plain(far.Address), (ushort)far.Port, Plain(near.Address), (ushort)near.Port);

    /// <summary>An address; IPv4 that is written as IPv6 as IPv4.</summary>
    public static IPAddress Plain(IPAddress address) => address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
}
