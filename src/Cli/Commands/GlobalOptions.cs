using System.CommandLine;
using EQueue.Cli.Input;
using EQueue.Client;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cli.Commands;

/// <summary>The options that every command takes.</summary>
internal sealed class GlobalOptions
{
    private readonly Option<string> _server = new("--server")
    {
        Description = "The brokers' addresses, separated by commas; without it those of "
            + "the environment's EQUEUE_SERVER.",
        HelpName = "HOST:PORT[,HOST:PORT]",
        DefaultValueFactory = _ => Environment.GetEnvironmentVariable("EQUEUE_SERVER") is { Length: > 0 } server
            ? server : "127.0.0.1:9490",
        Recursive = true,
    };

    private readonly Option<TimeSpan> _timeout = new("--timeout")
    {
        Description = "How long one request may take, waiting for a connection included: 500ms, 30s, 2m.",
        HelpName = "TIME",
        DefaultValueFactory = _ => TimeSpan.FromSeconds(30),
        CustomParser = DurationText.Parse,
        Recursive = true,
    };

    private readonly Option<bool> _json = new("--json")
    {
        Description = "Results and errors as JSON, one object a line.",
        Recursive = true,
    };

    private readonly Option<bool> _tls = new("--tls")
    {
        Description = "Speaks TLS with the brokers, and trusts the system's authorities unless --tls-ca names others.",
        Recursive = true,
    };

    private readonly Option<string?> _tlsAuthority = new("--tls-ca")
    {
        Description = "PEM file of the authorities that brokers' certificates must come from. Means --tls.",
        HelpName = "FILE",
        Recursive = true,
    };

    private readonly Option<string?> _tlsCertificate = new("--tls-cert")
    {
        Description = "PEM file of the certificate to show to brokers that ask for one. Means --tls.",
        HelpName = "FILE",
        Recursive = true,
    };

    private readonly Option<string?> _tlsKey = new("--tls-key")
    {
        Description = "PEM file of its key, unless it is in the same file.",
        HelpName = "FILE",
        Recursive = true,
    };

    public void AddTo(RootCommand root)
    {
        root.Options.Add(_server);
        root.Options.Add(_tls);
        root.Options.Add(_tlsAuthority);
        root.Options.Add(_tlsCertificate);
        root.Options.Add(_tlsKey);
        root.Options.Add(_timeout);
        root.Options.Add(_json);
    }

    public bool IsJson(ParseResult parsed) => parsed.GetValue(_json);

    public TimeSpan Timeout(ParseResult parsed) => parsed.GetValue(_timeout);

    /// <summary>Whether <c>--server</c> was given.</summary>
    public bool NamesServer(ParseResult parsed) => parsed.GetResult(_server) is { Implicit: false };

    /// <summary>A client of the servers that were named.</summary>
    /// <exception cref="UsageException">An address cannot be read.</exception>
    public EQueueClient CreateClient(ParseResult parsed) =>
        CreateClient(parsed, parsed.GetValue(_server)!, NullLoggerFactory.Instance);

    /// <summary>A client of other servers.</summary>
    /// <exception cref="UsageException">An address cannot be read.</exception>
    public EQueueClient CreateClient(ParseResult parsed, string addresses, ILoggerFactory loggers)
    {
        TimeSpan timeout = Timeout(parsed);
        try
        {
            return new EQueueClient(new ClientOptions
            {
                Addresses = addresses,
                Tls = ReadTls(parsed),
                ClientName = $"equeue/{Environment.ProcessId}",
                RequestTimeout = timeout,
                ConnectTimeout = timeout < TimeSpan.FromSeconds(5) ? timeout : TimeSpan.FromSeconds(5),
                LoggerFactory = loggers,
            });
        }
        catch (ArgumentException exception)
        {
            throw new UsageException(exception.Message);
        }
    }
    private TlsOptions? ReadTls(ParseResult parsed)
    {
        (string? authority, string? certificate, string? key) =
            (parsed.GetValue(_tlsAuthority), parsed.GetValue(_tlsCertificate), parsed.GetValue(_tlsKey));
        return parsed.GetValue(_tls) || authority is not null || certificate is not null || key is not null
            ? new TlsOptions { AuthorityFile = authority, CertificateFile = certificate, KeyFile = key }
            : null;
    }
}
