using System.Security.Cryptography.X509Certificates;

namespace EQueue.Remoting;

/// <content>What is known of whose the peer is. All of it holds from the first frame on.</content>
public sealed partial class ServerConnection
{
    private readonly ConnectionPeer _peer;

    /// <summary>Where the peer is.</summary>
    public PeerPlace Place => _peer.Place;

    /// <summary>Whether TLS was agreed on.</summary>
    public bool IsEncrypted => _peer.IsEncrypted;

    /// <summary>The certificate that the peer showed and TLS checked; null: none was asked for, or shown. Valid for
    /// ever.</summary>
    public X509Certificate2? PeerCertificate => _peer.Proof?.Certificate;

    /// <summary>Judges the peer's certificate again: files of trust change, and certificates end, while a connection
    /// lasts. It costs little while nothing has changed; the caller closes the connection.</summary>
    /// <returns>Why the certificate is not trusted any more, for people; null: it is, or none was shown.</returns>
    /// <remarks>Thread-safe. The files are looked at once a second at most.</remarks>
    public string? FindDistrust() => _peer.Proof is { } proof ? _tls?.FindDistrust(proof) : null;

    /// <summary>Whether nothing between the two ends can read what they send: it does not leave the machine, or is
    /// encrypted.</summary>
    public bool IsPrivate => IsEncrypted || Place != PeerPlace.Remote;

    /// <summary>Finds the number of the user whose the peer's end of the connection is (Linux).</summary>
    /// <returns>In this process its own; over a Unix socket who connected (the effective user at that moment); over
    /// loopback who made the peer's socket; null when that is not known: the peer is elsewhere, its end is closed
    /// already, or the system does not tell. A peer can bring about null.</returns>
    /// <remarks>It proves whose process made the connection, not which process uses it now: sockets can be passed on,
    /// and a proxy's connection is the proxy's. <see cref="LoopbackPeer.FindUser"/> says more. Each call asks the
    /// system; keep the answer.</remarks>
    public uint? FindPeerUser() => _peer.FindUser();
}
