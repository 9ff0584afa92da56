namespace EQueue.Cli.Contexts;

/// <summary>Servers that a person gave a name, and how they are spoken to.</summary>
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
}
