using System.CommandLine;
using EQueue.Cli.Contexts;

namespace EQueue.Cli.Connecting;

/// <content>Which servers a command goes to, and whether it speaks TLS with them.</content>
internal sealed partial class GlobalOptions
{
    private const string UsualServer = "127.0.0.1:9490";

    /// <summary>The contexts of the person who runs the command.</summary>
    public ContextFile Contexts { get; } = new(streams.Variable);

    /// <summary>The brokers' addresses, separated by commas: those of <c>--server</c>, else of <c>--context</c>,
    /// EQUEUE_SERVER, EQUEUE_CONTEXT, the context in use, else the usual one.</summary>
    /// <exception cref="UsageException">The context is not there, or contexts cannot be read.</exception>
    public string Servers(ParseResult parsed) => parsed.GetValue(_server)
        ?? ContextOf(parsed)?.Server
        ?? (streams.Variable("EQUEUE_SERVER") is { Length: > 0 } server ? server : UsualServer);

    /// <summary>Whether <c>--server</c> was given.</summary>
    public bool NamesServer(ParseResult parsed) => parsed.GetValue(_server) is not null;

    /// <summary>The name of the context that holds unless servers are named; null = none.</summary>
    public string? ContextName(ParseResult parsed, ContextBook book) => parsed.GetValue(_context)
        ?? (streams.Variable("EQUEUE_CONTEXT") is { Length: > 0 } name ? name : book.Current);

    /// <summary>What the command line names, as a context; files are named in it, never copied.</summary>
    /// <exception cref="UsageException">The options of credentials contradict each other.</exception>
    public NamedContext ReadContext(ParseResult parsed) => _login.AddTo(
        new NamedContext
        {
            Server = Servers(parsed),
            Tls = GivenTls(parsed) is not null,
            TlsCa = FullPath(parsed.GetValue(_tlsAuthority)),
            TlsCert = FullPath(parsed.GetValue(_tlsCertificate)),
            TlsKey = FullPath(parsed.GetValue(_tlsKey)),
        },
        parsed);

    private static string? FullPath(string? path) => path is null ? null : Path.GetFullPath(path);

    /// <summary>The context whose servers the command goes to; null when others are named.</summary>
    private NamedContext? ContextOf(ParseResult parsed)
    {
        if (NamesServer(parsed))
            return null;
        if (parsed.GetValue(_context) is null && streams.Variable("EQUEUE_SERVER") is { Length: > 0 })
            return null;
        ContextBook book = Contexts.Read();
        return ContextName(parsed, book) is { } name ? book.Demand(name) : null;
    }

    /// <summary>How TLS is spoken with the servers; null without it.</summary>
    /// <remarks>Options of the command line stand in place of all that the context says.</remarks>
    public TlsOptions? ReadTls(ParseResult parsed) => GivenTls(parsed) ?? (ContextOf(parsed) is { Tls: true } context
        ? new TlsOptions
        {
            AuthorityFile = context.TlsCa,
            CertificateFile = context.TlsCert,
            KeyFile = context.TlsKey,
        }
        : null);

    private TlsOptions? GivenTls(ParseResult parsed)
    {
        (string? authority, string? certificate, string? key) =
            (parsed.GetValue(_tlsAuthority), parsed.GetValue(_tlsCertificate), parsed.GetValue(_tlsKey));
        return parsed.GetValue(_tls) || authority is not null || certificate is not null || key is not null
            ? new TlsOptions { AuthorityFile = authority, CertificateFile = certificate, KeyFile = key }
            : null;
    }
}
