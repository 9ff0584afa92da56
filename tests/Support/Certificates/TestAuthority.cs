using System.Net;
using System.Numerics;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace EQueue.Support;

/// <summary>An authority of a test's own, and the certificates that it signs.</summary>
public sealed class TestAuthority : IDisposable
{
    private static readonly Oid ServerUse = new("1.3.6.1.5.5.7.3.1");
    private static readonly Oid ClientUse = new("1.3.6.1.5.5.7.3.2");
    private readonly X509Certificate2 _certificate;

    private TestAuthority(X509Certificate2 certificate) => _certificate = certificate;

    /// <summary>The authority's own certificate in PEM.</summary>
    public string Pem => _certificate.ExportCertificatePem();

    /// <summary>A root.</summary>
    public static TestAuthority Create(string name = "Test root")
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        CertificateRequest request = RequestOfAuthority(name, key);
        return new TestAuthority(request.CreateSelfSigned(Now.AddDays(-400), Now.AddDays(400)));
    }

    /// <summary>An authority below this one.</summary>
    public TestAuthority Below(string name)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using X509Certificate2 signed = RequestOfAuthority(name, key)
            .Create(_certificate, Now.AddDays(-399), Now.AddDays(399), RandomNumberGenerator.GetBytes(8));
        return new TestAuthority(signed.CopyWithPrivateKey(key));
    }

    /// <summary>A certificate for a host or an address, or for a client; as files when it is written.</summary>
    public TestCertificate Sign(string host = "127.0.0.1", int fromDays = -30, int toDays = 30)
    {
        var names = new SubjectAlternativeNameBuilder();
        if (IPAddress.TryParse(host, out IPAddress? address))
            names.AddIpAddress(address);
        else
            names.AddDnsName(host);
        return Sign($"CN={host}", names, fromDays, toDays);
    }

    /// <summary>A client's certificate with a subject and alternative names.</summary>
    public TestCertificate SignClient(string subject, string[] uris, string[] dnsNames)
    {
        var names = new SubjectAlternativeNameBuilder();
        names.AddEmailAddress("someone@example.org");
        foreach (string uri in uris)
            names.AddUri(new Uri(uri));
        foreach (string name in dnsNames)
            names.AddDnsName(name);
        return Sign(subject, names, -30, 30);
    }

    /// <summary>A list of what this authority has revoked, in DER.</summary>
    public byte[] Revoke(params TestCertificate[] revoked)
    {
        var list = new CertificateRevocationListBuilder();
        foreach (TestCertificate one in revoked)
            list.AddEntry(one.SerialNumber);
        return list.Build(_certificate, BigInteger.One, Now.AddDays(10), HashAlgorithmName.SHA256);
    }

    public void Dispose() => _certificate.Dispose();

    private TestCertificate Sign(string subject, SubjectAlternativeNameBuilder names, int fromDays, int toDays)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest(subject, key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(false, false, 0, true));
        request.CertificateExtensions.Add(new X509EnhancedKeyUsageExtension([ServerUse, ClientUse], false));
        using X509Certificate2 signed = request.Create(
            _certificate, Now.AddDays(fromDays), Now.AddDays(toDays), RandomNumberGenerator.GetBytes(8));
        return new TestCertificate(signed.CopyWithPrivateKey(key));
    }

    private static DateTimeOffset Now => TimeProvider.System.GetUtcNow();

    private static CertificateRequest RequestOfAuthority(string name, ECDsa key)
    {
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        request.CertificateExtensions.Add(
            new X509KeyUsageExtension(X509KeyUsageFlags.KeyCertSign | X509KeyUsageFlags.CrlSign, true));
        return request;
    }
}
