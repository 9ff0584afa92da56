using System.CommandLine;
using EQueue.Cli.Input;
using EQueue.Client;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cli.Commands;

/// <summary>The options that every command takes.</summary>
/// <param name="variable">Looks a variable of the environment up.</param>
internal sealed partial class GlobalOptions(Func<string, string?> variable)
{
    private readonly Option<string?> _server = new("--server")
    {
        Description = "The brokers' addresses, separated by commas; without it those of --context, of the "
            + $"environment's EQUEUE_SERVER or EQUEUE_CONTEXT, of the context in use, else {UsualServer}.",
        HelpName = "HOST:PORT[,HOST:PORT]",
        Recursive = true,
    };

    private readonly Option<string?> _context = new("--context")
    {
        Description = "The servers of this context (see equeue context --help).",
        HelpName = "NAME",
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
        root.Options.Add(_context);
        root.Options.Add(_tls);
        root.Options.Add(_tlsAuthority);
        root.Options.Add(_tlsCertificate);
        root.Options.Add(_tlsKey);
        root.Options.Add(_timeout);
        root.Options.Add(_json);
    }

    public bool IsJson(ParseResult parsed) => parsed.GetValue(_json);

    public TimeSpan Timeout(ParseResult parsed) => parsed.GetValue(_timeout);

    /// <summary>A client of the servers that were named.</summary>
    /// <exception cref="UsageException">An address cannot be read.</exception>
    public EQueueClient CreateClient(ParseResult parsed) =>
        CreateClient(parsed, Servers(parsed), ReadTls(parsed), NullLoggerFactory.Instance);

    /// <summary>A client of the servers that were named, with its log.</summary>
    /// <exception cref="UsageException">An address cannot be read.</exception>
    public EQueueClient CreateClient(ParseResult parsed, ILoggerFactory loggers) =>
        CreateClient(parsed, Servers(parsed), ReadTls(parsed), loggers);

    /// <summary>A client of one of the servers that were named.</summary>
    public EQueueClient CreateClient(ParseResult parsed, string address) =>
        CreateClient(parsed, address, ReadTls(parsed), NullLoggerFactory.Instance);

    /// <summary>A client of other servers.</summary>
    /// <exception cref="UsageException">An address cannot be read.</exception>
    public EQueueClient CreateClient(ParseResult parsed, string addresses, ILoggerFactory loggers) =>
        CreateClient(parsed, addresses, GivenTls(parsed), loggers);

    private EQueueClient CreateClient(
        ParseResult parsed, string addresses, TlsOptions? tls, ILoggerFactory loggers)
    {
        TimeSpan timeout = Timeout(parsed);
        try
        {
            return new EQueueClient(new ClientOptions
            {
                Addresses = addresses,
                Tls = tls,
                ClientName = $"equeue/{Environment.ProcessId}",
                RequestTimeout = timeout,
                ConnectTimeout = timeout < TimeSpan.FromSeconds(5) ? timeout : TimeSpan.FromSeconds(5),
                LoggerFactory = loggers,
            });
        }
        catch (ArgumentException exception)
        {
            throw new UsageException(Words.Of(exception));
        }
    }
}
