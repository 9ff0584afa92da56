namespace EQueue.Remoting;

/// <summary>How a server speaks TLS (1.2 and 1.3). All values but the last name files, which are read by
/// <see cref="Validate"/>, and again when they have changed.</summary>
public sealed record ServerTlsOptions
{
    /// <summary>The server's certificate: PEM, followed by those of the authorities between it and the root, or PFX.
    /// </summary>
    public required string Certificate { get; init; }

    /// <summary>The key in PEM; null = in the file of the certificate. Default: null.</summary>
    public string? Key { get; init; }

    /// <summary>A file with the password of the PFX or of the encrypted key; null = none. Default: null.</summary>
    public string? PasswordFile { get; init; }

    /// <summary>Whether clients show certificates. Default: None.</summary>
    public ClientCertificates ClientCertificates { get; init; }

    /// <summary>PEM of the root authorities that clients' certificates must come from; required when clients may show
    /// certificates. Default: null.</summary>
    public string? ClientAuthority { get; init; }

    /// <summary>The lists of certificates that those authorities, or authorities below them, have revoked: PEM, one
    /// list or more, or DER; null = there are none. Default: null.</summary>
    public string? ClientRevocations { get; init; }

    /// <summary>How long a handshake may take, 100 ms or more. Default: 10 s.</summary>
    public TimeSpan HandshakeTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>Checks every value and reads every file.</summary>
    /// <exception cref="ArgumentException">A value or a file cannot be used; the message begins with its name,
    /// <c>Tls:Certificate</c>, and says what was found.</exception>
    public void Validate()
    {
        OptionCheck.AtLeast("Tls:HandshakeTimeout", HandshakeTimeout, OptionCheck.ShortestTimeout);
        bool asks = ClientCertificates != ClientCertificates.None;
        if (asks && ClientAuthority is null)
        {
            throw TlsFiles.Wrong(
                "Tls:ClientAuthority",
                "",
                $"with Tls:ClientCertificates '{ClientCertificates}' it must name a PEM file of authorities",
                null);
        }

        if (!asks && ClientAuthority is not null)
        {
            throw TlsFiles.Wrong(
                "Tls:ClientAuthority", ClientAuthority, "it needs Tls:ClientCertificates Allow or Require", null);
        }

        if (ClientRevocations is not null && ClientAuthority is null)
        {
            throw TlsFiles.Wrong(
                "Tls:ClientRevocations", ClientRevocations, "it needs Tls:ClientAuthority, which signs it", null);
        }

        using var read = TlsIdentity.Read(
            new TlsIdentityFiles("Tls:Certificate", Certificate, "Tls:Key", Key, "Tls:PasswordFile", PasswordFile));
        if (ClientAuthority is not null)
            ClientTrust.Read(this);
    }
}
