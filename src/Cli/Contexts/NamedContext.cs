namespace EQueue.Cli.Contexts;

/// <summary>Servers that a person gave a name, how they are spoken to and as whom. It names files of
/// secrets, and holds none.</summary>
internal sealed record NamedContext
{
    /// <summary>The brokers' addresses, separated by commas.</summary>
    public required string Server { get; init; }

    /// <summary>Whether TLS is spoken; the files mean it too.</summary>
    public bool Tls { get; init; }

    /// <summary>Full path of the authorities' PEM file.</summary>
    public string? TlsCa { get; init; }

    /// <summary>Full path of the certificate to show.</summary>
    public string? TlsCert { get; init; }

    /// <summary>Full path of its key.</summary>
    public string? TlsKey { get; init; }

    /// <summary>Who logs in.</summary>
    public string? User { get; init; }

    /// <summary>Full path of the file with the user's password; null = it is asked for.</summary>
    public string? PasswordFile { get; init; }

    /// <summary>Full path of the file with a token.</summary>
    public string? TokenFile { get; init; }
}
