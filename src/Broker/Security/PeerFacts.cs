using System.Net;
using System.Security.Cryptography.X509Certificates;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>What the transport knows of a peer.</summary>
/// <param name="Place">Where it is.</param>
/// <param name="UserId">Under which user it runs, if the system tells.</param>
/// <param name="CertificateName">Of the certificate that it showed and TLS checked; null = none.</param>
/// <param name="IsPrivate">Whether nobody else reads what is sent.</param>
/// <param name="Address">As it is written down.</param>
internal readonly record struct PeerFacts(
    PeerPlace Place, uint? UserId, string? CertificateName, bool IsPrivate, string Address)
{
    private const string CommonName = "2.5.4.3";

    /// <summary>Whom failures of logins count for: processes of one machine by their user, others by host.</summary>
    public string Source => UserId is { } id
        ? Principal.OfLocal(id)
        : IPEndPoint.TryParse(Address, out IPEndPoint? peer) ? $"{PeerHost.AddressOf(peer)}" : Address;

    /// <summary>Whether it is of this machine.</summary>
    public bool IsLocal => Place != PeerPlace.Remote;

    /// <summary>Whether it runs under the broker's own user, or root's; also where the system tells neither.</summary>
    public bool IsOwner => Place == PeerPlace.InProcess || (IsLocal && LoopbackPeer.IsOwner(UserId));

    public static PeerFacts Of(ServerConnection connection) => new(
        connection.Place,
        connection.FindPeerUser(),
        connection.PeerCertificate is { } certificate ? NameOf(certificate) : null,
        connection.IsPrivate,
        connection.RemoteEndPoint?.ToString() ?? "");

    /// <summary>The name of a certificate's principal: its first URI name, else DNS name, else common name; null when
    /// none of them can be one.</summary>
    private static string? NameOf(X509Certificate2 certificate)
    {
        foreach (X509NameType type in (ReadOnlySpan<X509NameType>)
            [X509NameType.UrlName, X509NameType.DnsFromAlternativeName])
        {
            string name = certificate.GetNameInfo(type, forIssuer: false);
            if (Principal.IsCertificateName(name))
                return name;
        }

        // An organisation's name, which many certificates share, is none.
        return certificate.SubjectName.EnumerateRelativeDistinguishedNames()
            .Where(part => !part.HasMultipleElements && part.GetSingleElementType().Value == CommonName)
            .Select(part => part.GetSingleElementValue())
            .FirstOrDefault(name => name is not null && Principal.IsCertificateName(name));
    }
}
