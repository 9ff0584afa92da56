using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>How a client speaks TLS (1.2 and 1.3). Files are read by <see cref="Validate"/> and at each
/// connection.</summary>
public sealed record TlsOptions
{
    /// <summary>PEM of the root authorities that are trusted; null = those of the system. Default: null.</summary>
    public string? AuthorityFile { get; init; }

    /// <summary>The client's own certificate for brokers that ask for one: PEM, followed by those of the authorities
    /// between it and the root, or PFX without a password; null = none. Default: null.</summary>
    public string? CertificateFile { get; init; }

    /// <summary>Its key in PEM; null = in the same file. Default: null.</summary>
    public string? KeyFile { get; init; }

    /// <summary>The name, or the IP address, that the broker's certificate must be for; null = the host of the
    /// address. Default: null.</summary>
    public string? TargetHost { get; init; }

    /// <summary>Whether every certificate will do. What is sent is then encrypted, but the peer is not proven.
    /// Default: false.</summary>
    public bool AcceptsAnyCertificate { get; init; }

    /// <summary>Checks every value and reads every file.</summary>
    /// <exception cref="ArgumentException">A value or a file cannot be used; the message begins with its name,
    /// <c>Tls.AuthorityFile</c>, and says what was found.</exception>
    public void Validate()
    {
        if (KeyFile is not null && CertificateFile is null)
            throw TlsFiles.Wrong("Tls.KeyFile", KeyFile, "it needs Tls.CertificateFile", null);
        if (AcceptsAnyCertificate && AuthorityFile is not null)
        {
            throw TlsFiles.Wrong(
                "Tls.AuthorityFile", AuthorityFile, "with Tls.AcceptsAnyCertificate it would not be used", null);
        }

        if (TargetHost is "")
            throw TlsFiles.Wrong("Tls.TargetHost", "", "it must be a name or null", null);
        if (AuthorityFile is not null)
            TlsFiles.ReadAuthorities("Tls.AuthorityFile", AuthorityFile);
        ReadIdentity()?.Dispose();
    }

    /// <summary>The client's own certificate as the files have it now.</summary>
    internal TlsIdentity? ReadIdentity() => CertificateFile is null
        ? null
        : TlsIdentity.Read(
            new TlsIdentityFiles("Tls.CertificateFile", CertificateFile, "Tls.KeyFile", KeyFile, "", null));
}
