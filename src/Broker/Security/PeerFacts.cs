using System.Net;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>What the transport knows of a peer.</summary>
/// <param name="Place">Where it is.</param>
/// <param name="UserId">Under which user it runs, if the system tells.</param>
/// <param name="Certificate">That it showed and TLS checked; null = none.</param>
/// <param name="IsPrivate">Whether no third party reads what is sent.</param>
/// <param name="Address">As it is written down.</param>
internal readonly record struct PeerFacts(
    PeerPlace Place, uint? UserId, CertificateFacts? Certificate, bool IsPrivate, string Address)
{
    /// <summary>Whom failures of logins count for: processes of one machine by their user, others by host.</summary>
    public string Source => UserId is { } id
        ? Principal.OfLocal(id)
        : IPEndPoint.TryParse(Address, out IPEndPoint? peer) ? $"{PeerHost.AddressOf(peer)}" : Address;

    /// <summary>Whether it is of this machine.</summary>
    public bool IsLocal => Place != PeerPlace.Remote;

    /// <summary>Whether it runs under the broker's own user, or root's; also where the system tells neither.</summary>
    public bool IsOwner => LoopbackPeer.IsOwner(Place, UserId);

    /// <param name="connection">Of the peer.</param>
    /// <param name="mapping">Says whom certificates stand for.</param>
    public static PeerFacts Of(FrameConnection connection, CertificateMapping mapping) => new(
        connection.Place,
        connection.FindPeerUser(),
        connection.PeerCertificate is { } certificate ? new CertificateFacts(mapping.PrincipalOf(certificate)) : null,
        connection.IsPrivate,
        connection.RemoteEndPoint?.ToString() ?? "");
}

/// <summary>A certificate that a peer showed and TLS checked.</summary>
/// <param name="Principal">Whom it stands for; null = no user, by the rules.</param>
internal sealed record CertificateFacts(string? Principal);
