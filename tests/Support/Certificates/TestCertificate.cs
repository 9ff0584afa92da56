using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace EQueue.Support;

/// <summary>A certificate with its key, as PEM and PFX.</summary>
public sealed class TestCertificate(X509Certificate2 certificate) : IDisposable
{
    public byte[] SerialNumber => certificate.SerialNumberBytes.ToArray();

    public X509Certificate2 Certificate => certificate;

    public string CertificatePem => certificate.ExportCertificatePem();

    public string KeyPem
    {
        get
        {
            using ECDsa key = certificate.GetECDsaPrivateKey()!;
            return key.ExportPkcs8PrivateKeyPem();
        }
    }

    /// <summary>Certificate and key in one file's text.</summary>
    public string Pem => $"{CertificatePem}\n{KeyPem}\n";

    public byte[] Pfx(string? password) => certificate.Export(X509ContentType.Pfx, password);

    public void Dispose() => certificate.Dispose();
}
