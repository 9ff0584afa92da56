using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace EQueue.Remoting;

/// <summary>The other end of an accepted connection: where it is and what is known of whose it is.</summary>
/// <remarks>Made when the connection is accepted; the receive loop notes what TLS found before the first
/// frame.</remarks>
internal sealed class ConnectionPeer
{
    private const int SocketLevel = 1;

    /// <summary>SO_PEERCRED of unix(7), answered with struct ucred: pid, uid, gid, 4 bytes each.</summary>
    private const int PeerCredentials = 17;
    private const int CredentialsBytes = 12;

    private readonly Socket? _socket;
    private readonly IPEndPoint? _local;

    private ConnectionPeer(EndPoint endPoint, PeerPlace place, Socket? socket, IPEndPoint? local)
    {
        EndPoint = endPoint;
        Place = place;
        _socket = socket;
        _local = local;
    }

    /// <summary>Its address; of a Unix socket the path.</summary>
    public EndPoint EndPoint { get; }

    public PeerPlace Place { get; }

    public bool IsEncrypted { get; private set; }

    /// <summary>What it showed over TLS; null = no certificate.</summary>
    public ClientProof? Proof { get; private set; }

    /// <summary>One within this process.</summary>
    public static ConnectionPeer Within(InMemoryEndPoint endPoint) => new(endPoint, PeerPlace.InProcess, null, null);

    /// <summary>One behind a socket.</summary>
    /// <param name="accepted">The connection.</param>
    /// <param name="endPoint">The peer's address; the peers of a Unix socket have none of their own.</param>
    /// <exception cref="SocketException">The connection has ended.</exception>
    public static ConnectionPeer Behind(Socket accepted, EndPoint endPoint)
    {
        if (accepted.AddressFamily == AddressFamily.Unix)
            return new ConnectionPeer(endPoint, PeerPlace.UnixSocket, accepted, null);
        var local = accepted.LocalEndPoint as IPEndPoint;
        bool isLoopback = local is not null && endPoint is IPEndPoint remote && LoopbackPeer.IsWithin(local, remote);
        return new ConnectionPeer(endPoint, isLoopback ? PeerPlace.Loopback : PeerPlace.Remote, accepted, local);
    }

    /// <summary>TLS has been agreed on.</summary>
    /// <param name="proof">The certificate that TLS checked, if any.</param>
    public void Secure(ClientProof? proof) => (IsEncrypted, Proof) = (true, proof);

    /// <inheritdoc cref="Connection.FindPeerUser"/>
    public uint? FindUser() => Place switch
    {
        PeerPlace.InProcess => LoopbackPeer.OwnUser,
        PeerPlace.UnixSocket => FindUnixUser(),
        PeerPlace.Loopback => LoopbackPeer.FindUser(_local!, (IPEndPoint)EndPoint),
        _ => null,
    };

    private uint? FindUnixUser()
    {
        if (!OperatingSystem.IsLinux())
            return null;
        Span<byte> credentials = stackalloc byte[CredentialsBytes];
        try
        {
            return _socket!.GetRawSocketOption(SocketLevel, PeerCredentials, credentials) == CredentialsBytes
                ? UserIds.Know(MemoryMarshal.Read<uint>(credentials[4..]))
                : null;
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // The connection has ended.
            return null;
        }
    }
}
