using System.Security.Cryptography.X509Certificates;

namespace EQueue.Remoting;

/// <summary>The certificate that a client showed, with what it takes to judge it again.</summary>
/// <param name="certificate">Its own.</param>
/// <param name="others">Those between it and the root, as bytes.</param>
/// <param name="endsAt">When the first of the chain ends.</param>
/// <param name="judgedBy">What it was found to be trusted by.</param>
internal sealed class ClientProof(
    X509Certificate2 certificate, IReadOnlyList<byte[]> others, DateTimeOffset endsAt, ClientTrust judgedBy)
{
    private volatile ClientTrust _judgedBy = judgedBy;

    public X509Certificate2 Certificate => certificate;

    public IReadOnlyList<byte[]> Others => others;

    public DateTimeOffset EndsAt => endsAt;

    public ClientTrust JudgedBy
    {
        get => _judgedBy;
        set => _judgedBy = value;
    }

    /// <summary>Takes over what a handshake found, before its chain is disposed.</summary>
    public static ClientProof Of(X509Certificate certificate, X509Chain chain, ClientTrust judgedBy)
    {
        X509Certificate2[] elements = [.. chain.ChainElements.Select(static element => element.Certificate)];
        X509Certificate2 own = X509CertificateLoader.LoadCertificate(certificate.GetRawCertData());
        return new ClientProof(
            own,
            elements.Length > 2 ? [.. elements[1..^1].Select(static one => one.RawData)] : [],
            elements.Append(own).Min(static one => new DateTimeOffset(one.NotAfter.ToUniversalTime())),
            judgedBy);
    }
}
