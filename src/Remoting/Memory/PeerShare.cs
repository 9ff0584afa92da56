using System.Net;

namespace EQueue.Remoting;

/// <summary>What one address holds of a server: its connections, its receive memory, its places in line.</summary>
/// <remarks>The connections are the <see cref="ConnectionPlaces"/>'s and under its lock, all else is the
/// <see cref="ReceiveBudget"/>'s and under that one's.</remarks>
/// <param name="address">As <see cref="PeerHost.AddressOf"/> gives it; null = a Unix socket or this process.</param>
internal sealed class PeerShare(IPAddress? address)
{
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
}
