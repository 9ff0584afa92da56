using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace EQueue.Remoting;

/// <summary>What the certificates of clients are judged by: authorities, and the lists of what they revoked, as the
/// files had them at one moment.</summary>
/// <remarks>Thread-safe. Connections keep the one that judged them: another object says that it has to be done
/// anew.</remarks>
internal sealed class ClientTrust
{
    private static readonly Oid ClientUse = new("1.3.6.1.5.5.7.3.2");

    private readonly X509Certificate2Collection _authorities;
    private readonly RevocationList[] _revocations;

    private ClientTrust(X509Certificate2Collection authorities, RevocationList[] revocations)
    {
        _authorities = authorities;
        _revocations = revocations;
    }

    /// <summary>Reads the files.</summary>
    /// <exception cref="ArgumentException">One cannot be used.</exception>
    public static ClientTrust Read(ServerTlsOptions options) => new(
        TlsFiles.ReadAuthorities("Tls:ClientAuthority", options.ClientAuthority!),
        options.ClientRevocations is { } path ? RevocationList.ReadFile("Tls:ClientRevocations", path) : []);

    /// <summary>How a handshake builds the chain.</summary>
    public X509ChainPolicy NewPolicy() => TlsTrust.OnlyFrom(_authorities);

    /// <summary>Whether the files said the same.</summary>
    public bool IsSame(ClientTrust other) =>
        _authorities.Count == other._authorities.Count
        && _authorities.Zip(other._authorities).All(
            static pair => pair.First.RawData.SequenceEqual(pair.Second.RawData))
        && _revocations.Length == other._revocations.Length
        && _revocations.Zip(other._revocations).All(static pair => pair.First.IsSame(pair.Second));

    /// <summary>Why a certificate of a chain that stands may not be used; null = it may.</summary>
    public string? FindRevoked(X509Chain chain)
    {
        X509ChainElementCollection elements = chain.ChainElements;
        for (int i = 0; i + 1 < elements.Count; i++)
        {
            X509Certificate2 certificate = elements[i].Certificate;
            foreach (RevocationList list in _revocations)
            {
                if (list.Names(certificate, elements[i + 1].Certificate))
                    return $"{certificate.Subject}: its authority has revoked it";
            }
        }

        return null;
    }

    /// <summary>Judges a certificate outside a handshake.</summary>
    /// <param name="proof">What the peer showed.</param>
    /// <param name="now">The time.</param>
    /// <returns>Why it is not trusted; null = it is, and is noted as judged by this.</returns>
    public string? Judge(ClientProof proof, DateTimeOffset now)
    {
        using var chain = new X509Chain { ChainPolicy = NewPolicy() };
        chain.ChainPolicy.ApplicationPolicy.Add(ClientUse);
        chain.ChainPolicy.VerificationTime = now.LocalDateTime;
        chain.ChainPolicy.VerificationTimeIgnored = false;
        X509Certificate2[] others =
            [.. proof.Others.Select(static bytes => X509CertificateLoader.LoadCertificate(bytes))];
        chain.ChainPolicy.ExtraStore.AddRange(others);
        try
        {
            string? reason = chain.Build(proof.Certificate)
                ? FindRevoked(chain)
                : TlsTrust.Explain(SslPolicyErrors.RemoteCertificateChainErrors, proof.Certificate, chain, null);
            if (reason is null)
                proof.JudgedBy = this;
            return reason;
        }
        catch (CryptographicException exception)
        {
            return $"{proof.Certificate.Subject}: it cannot be judged: {exception.Message}";
        }
        finally
        {
            foreach (X509Certificate2 other in others)
                other.Dispose();
            foreach (X509ChainElement element in chain.ChainElements)
                element.Certificate.Dispose();
        }
    }
}
