using System.Net;
using EQueue.Remoting;
using Microsoft.AspNetCore.Connections;

namespace EQueue.Server.Http;

/// <summary>What the transport knows of the peer of an admin port's connection.</summary>
/// <param name="Place">Where it is.</param>
/// <param name="User">Who made its socket, if it is on this machine and the system tells.</param>
/// <param name="Address">As it is written down.</param>
internal sealed record HttpPeer(PeerPlace Place, uint? User, string Address)
{
    /// <summary>Whether it is the process of the user who runs the server, or root's; where the system tells no users,
    /// any of this machine.</summary>
    public bool IsOwner => Place == PeerPlace.Loopback && LoopbackPeer.IsOwner(User);

    /// <summary>Asks the system, which costs some microseconds.</summary>
    public static HttpPeer Of(ConnectionContext connection)
    {
        string address = connection.RemoteEndPoint?.ToString() ?? "";
        return connection is { LocalEndPoint: IPEndPoint local, RemoteEndPoint: IPEndPoint remote }
            && LoopbackPeer.IsWithin(local, remote)
                ? new HttpPeer(PeerPlace.Loopback, LoopbackPeer.FindUser(local, remote), address)
                : new HttpPeer(PeerPlace.Remote, null, address);
    }
}
