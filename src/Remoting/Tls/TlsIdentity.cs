using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace EQueue.Remoting;

/// <summary>A certificate with its key and the authorities between it and the root, as a peer is shown it.</summary>
internal sealed class TlsIdentity : IDisposable
{
    private readonly X509Certificate2 _certificate;

    private TlsIdentity(X509Certificate2 certificate, X509Certificate2Collection others)
    {
        _certificate = certificate;
        Context = SslStreamCertificateContext.Create(certificate, others, offline: true);
    }

    /// <summary>What TLS takes.</summary>
    public SslStreamCertificateContext Context { get; }

    /// <summary>Whom it is for, for people.</summary>
    public string Subject => _certificate.Subject;

    /// <summary>Until when it is good, in UTC.</summary>
    public DateTime ExpiresAt => _certificate.NotAfter.ToUniversalTime();

    /// <summary>Reads and checks the files.</summary>
    /// <exception cref="ArgumentException">One cannot be used; the message names its setting.</exception>
    public static TlsIdentity Read(TlsIdentityFiles files, TimeProvider? time = null)
    {
        byte[] bytes = TlsFiles.ReadBytes(files.CertificateSetting, files.Certificate);
        string? password = files.PasswordFile is null
            ? null
            : Encoding.UTF8.GetString(TlsFiles.ReadBytes(files.PasswordSetting, files.PasswordFile))
                .TrimEnd('\r', '\n');
        bool isPem = bytes.AsSpan().IndexOf("-----BEGIN "u8) >= 0;
        (X509Certificate2 certificate, X509Certificate2Collection others) = isPem
            ? ReadPem(files, Encoding.UTF8.GetString(bytes), password)
            : ReadPfx(files, bytes, password);
        try
        {
            CheckTime(files, certificate, time ?? TimeProvider.System);
            return new TlsIdentity(certificate, others);
        }
        catch
        {
            certificate.Dispose();
            throw;
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _certificate.Dispose();

    private static (X509Certificate2 Certificate, X509Certificate2Collection Others) ReadPem(
        TlsIdentityFiles files, string text, string? password)
    {
        X509Certificate2Collection others = TlsFiles.ReadAuthorities(files.CertificateSetting, files.Certificate);
        string key = files.Key is null
            ? text
            : Encoding.UTF8.GetString(TlsFiles.ReadBytes(files.KeySetting, files.Key));
        (string setting, string path) =
            files.Key is null ? (files.CertificateSetting, files.Certificate) : (files.KeySetting, files.Key);
        if (!key.Contains("PRIVATE KEY-----", StringComparison.Ordinal))
            throw TlsFiles.Wrong(setting, path, "it holds no private key in PEM", null);
        try
        {
            using X509Certificate2 read = password is null
                ? X509Certificate2.CreateFromPem(text, key)
                : X509Certificate2.CreateFromEncryptedPem(text, key, password);
            others.RemoveAt(0);
            return (Keep(read), others);
        }
        catch (Exception exception) when (exception is CryptographicException or ArgumentException)
        {
            throw TlsFiles.Wrong(setting, path, $"its key cannot be used: {exception.Message}", exception);
        }
    }

    private static (X509Certificate2 Certificate, X509Certificate2Collection Others) ReadPfx(
        TlsIdentityFiles files, byte[] bytes, string? password)
    {
        if (files.Key is not null)
        {
            throw TlsFiles.Wrong(
                files.KeySetting, files.Key, $"{files.Certificate} is no PEM file; a PFX holds its own key", null);
        }

        try
        {
            X509Certificate2Collection all = X509CertificateLoader.LoadPkcs12Collection(bytes, password);
            X509Certificate2? own = all.FirstOrDefault(static one => one.HasPrivateKey);
            if (own is null)
            {
                throw TlsFiles.Wrong(
                    files.CertificateSetting, files.Certificate, "it holds no certificate with a private key", null);
            }

            all.Remove(own);
            return (own, all);
        }
        catch (CryptographicException exception)
        {
            string reason = password is null
                ? "it is neither PEM nor a PFX that can be read without a password"
                : $"it is no PFX that the password of {files.PasswordSetting} opens";
            throw TlsFiles.Wrong(
                files.CertificateSetting, files.Certificate, $"{reason}: {exception.Message}", exception);
        }
    }

    /// <summary>Windows takes only keys that were imported.</summary>
    private static X509Certificate2 Keep(X509Certificate2 read) =>
        X509CertificateLoader.LoadPkcs12(read.Export(X509ContentType.Pfx), null);

    private static void CheckTime(TlsIdentityFiles files, X509Certificate2 certificate, TimeProvider time)
    {
        DateTime now = time.GetUtcNow().UtcDateTime;
        (DateTime from, DateTime to) =
            (certificate.NotBefore.ToUniversalTime(), certificate.NotAfter.ToUniversalTime());
        if (now > to)
            throw TlsFiles.Wrong(files.CertificateSetting, files.Certificate, $"it expired on {to:u}", null);
        if (now < from)
            throw TlsFiles.Wrong(files.CertificateSetting, files.Certificate, $"it is not valid before {from:u}", null);
    }
}
