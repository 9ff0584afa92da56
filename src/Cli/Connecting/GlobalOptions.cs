using System.CommandLine;
using EQueue.Cli.Access;
using EQueue.Cli.Contexts;
using EQueue.Cli.Input;
using EQueue.Cli.Output;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cli.Connecting;

/// <summary>The options that every command takes.</summary>
/// <param name="streams">Where it is said that a broker is not there, and the environment.</param>
internal sealed partial class GlobalOptions(CliStreams streams)
{
    private readonly LoginOptions _login = new(streams.Variable);
    private readonly Dictionary<LoginSource, Credentials> _opened = [];
    private readonly ConnectRemarks _remarks = new(streams.Error, TimeProvider.System);

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
        _login.AddTo(root);
        root.Options.Add(_timeout);
        root.Options.Add(_json);
    }

    public bool IsJson(ParseResult parsed) => parsed.GetValue(_json);

    public TimeSpan Timeout(ParseResult parsed) => parsed.GetValue(_timeout);

    /// <summary>As whom the last client came, for people; null = there was none yet.</summary>
    public string? Identity { get; private set; }

    /// <summary>A client of the servers that were named.</summary>
    /// <exception cref="UsageException">An address or the credentials cannot be used.</exception>
    public EQueueClient CreateClient(ParseResult parsed) => CreateClient(parsed, Servers(parsed));

    /// <summary>The same for who waits at a prompt: why a broker is not there is not said, and no password is asked
    /// for.</summary>
    /// <returns>Null when the password would have to be asked for.</returns>
    public EQueueClient? TryCreateSilentClient(ParseResult parsed)
    {
        LoginSource? login = FindLogin(parsed);
        return login is { NeedsPerson: true } ? null : CreateClient(
            parsed, Servers(parsed), ReadTls(parsed), login?.Open(streams), NullLoggerFactory.Instance,
            connectFailed: null);
    }

    /// <summary>A client that is not to connect: addresses and the files of TLS are looked at.</summary>
    /// <exception cref="UsageException">One cannot be used.</exception>
    public EQueueClient CreateIdleClient(ParseResult parsed) => CreateClient(
        parsed, Servers(parsed), ReadTls(parsed), null, NullLoggerFactory.Instance, connectFailed: null);

    /// <summary>A client of the servers that were named, with its log.</summary>
    /// <exception cref="UsageException">An address or the credentials cannot be used.</exception>
    public EQueueClient CreateClient(ParseResult parsed, ILoggerFactory loggers) => CreateClient(
        parsed, Servers(parsed), ReadTls(parsed), Open(parsed, FindLogin(parsed)), loggers, Remarks(parsed));

    /// <summary>A client of one of the servers that were named.</summary>
    public EQueueClient CreateClient(ParseResult parsed, string address) => CreateClient(
        parsed, address, ReadTls(parsed), Open(parsed, FindLogin(parsed)), NullLoggerFactory.Instance,
        Remarks(parsed));

    /// <summary>A client of other servers, with what the command line and the environment say of credentials, and
    /// with a name of its own.</summary>
    /// <exception cref="UsageException">An address or the credentials cannot be used.</exception>
    public EQueueClient CreateClient(ParseResult parsed, string addresses, ILoggerFactory loggers, string name) =>
        CreateClient(
            parsed, addresses, GivenTls(parsed), Open(parsed, _login.Find(parsed, null, null)), loggers,
            Remarks(parsed), name);

    private LoginSource? FindLogin(ParseResult parsed)
    {
        NamedContext? context = ContextOf(parsed);
        return _login.Find(parsed, context, context is null ? null : ContextName(parsed, Contexts.Read()));
    }

    /// <summary>Opens the credentials of a command once, however many clients it makes.</summary>
    private Credentials? Open(ParseResult parsed, LoginSource? login)
    {
        string certificate = ReadTls(parsed)?.CertificateFile is { } file ? $"the certificate in {file}" : "";
        Identity = login?.Text ?? certificate;
        if (login is null)
            return null;
        if (!_opened.TryGetValue(login, out Credentials? opened))
        {
            opened = OpenOrRefuse(login);
            _opened.Add(login, opened);
        }

        return opened;
    }

    private Credentials OpenOrRefuse(LoginSource login)
    {
        try
        {
            return login.Open(streams);
        }
        catch (ArgumentException exception)
        {
            throw new UsageException(Words.Of(exception));
        }
    }

    /// <summary>With <c>--json</c> standard error is JSON: the error at the end gives the reason.</summary>
    private Action<ConnectFailure>? Remarks(ParseResult parsed) => IsJson(parsed) ? null : _remarks.Tell;

    private EQueueClient CreateClient(
        ParseResult parsed,
        string addresses,
        TlsOptions? tls,
        Credentials? credentials,
        ILoggerFactory loggers,
        Action<ConnectFailure>? connectFailed,
        string name = "equeue")
    {
        TimeSpan timeout = Timeout(parsed);
        try
        {
            return new EQueueClient(new ClientOptions
            {
                Addresses = addresses,
                Tls = tls,
                Credentials = credentials,
                ClientName = $"{name}/{Environment.ProcessId}",
                RequestTimeout = timeout,
                ConnectTimeout = timeout < TimeSpan.FromSeconds(5) ? timeout : TimeSpan.FromSeconds(5),
                LoggerFactory = loggers,
                ConnectFailed = connectFailed,
            });
        }
        catch (ArgumentException exception)
        {
            throw new UsageException(Words.Of(exception));
        }
    }
}
