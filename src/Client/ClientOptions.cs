using EQueue.Protocol;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Client;

/// <summary>How an <see cref="EQueueClient"/> reaches its brokers.</summary>
public sealed record ClientOptions
{
    /// <summary>
    /// One or more of <c>host:port</c>, separated by commas; the port may be left out (9490). IPv6 in brackets. Or
    /// <c>unix:/path</c>. Several are several brokers, each with its own share of every topic: name them in the same
    /// order everywhere, for it decides the queues of keys (docs/client.md, Several brokers). Default: 127.0.0.1:9490.
    /// </summary>
    public string Addresses { get; init; } = "127.0.0.1:9490";

    /// <summary>The place in this process where a broker listens (<c>BrokerOptions.InMemory</c>); null = brokers are
    /// reached by <see cref="Addresses"/>, which are not looked at otherwise. Default: null.</summary>
    public InMemoryEndPoint? InMemory { get; init; }

    /// <summary>How connections to <c>host:port</c> speak TLS; null = they do not, and brokers that do refuse
    /// them. Default: null.</summary>
    public TlsOptions? Tls { get; init; }

    /// <summary>How the client proves who it is; null = it does not, and brokers serve it as their settings say. Not
    /// used over plain TCP to another machine. Default: null.</summary>
    public Credentials? Credentials { get; init; }

    /// <summary>What people read in the broker's log and lists; at most 249 characters, which is what brokers
    /// take. Default: the machine's name and the process id.</summary>
    public string ClientName { get; init; } = Environment.MachineName + "/" + Environment.ProcessId;

    /// <summary>How long one attempt to connect may take; 1 ms or more. Default: 5 s.</summary>
    public TimeSpan ConnectTimeout { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// How long an administrative request may take in all, waiting for a connection included; 1 ms or more.
    /// Default: 30 s.
    /// </summary>
    public TimeSpan RequestTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>A connection on which nothing arrived for this long is asked whether it lives; 10 ms or more.
    /// Default: 10 s.</summary>
    public TimeSpan KeepAliveInterval { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// A connection that gives no sign of life for this long after the question is dropped; 10 ms or more.
    /// Default: 10 s.
    /// </summary>
    public TimeSpan KeepAliveTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>The shortest pause before connecting again; 1 ms or more. Default: 50 ms.</summary>
    public TimeSpan ReconnectBackoffMin { get; init; } = TimeSpan.FromMilliseconds(50);

    /// <summary>The longest pause before connecting again; not below <see cref="ReconnectBackoffMin"/>.
    /// Default: 2 s.</summary>
    public TimeSpan ReconnectBackoffMax { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>
    /// How long disposing what the client made may take: producers deliver what they accepted, consumers commit and
    /// leave, and what is not done by then is given up and told. Zero or more; hosts allow 30 s for all they stop.
    /// Default: 10 s.
    /// </summary>
    public TimeSpan CloseTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// The longest frame taken from a broker, in bytes; 64 KiB or more, and above what one fetch asks for.
    /// Default: 64 MiB.
    /// </summary>
    public int MaxFrameBytes { get; init; } = 64 * 1024 * 1024;

    /// <summary>
    /// Told why a broker cannot be reached while the client keeps trying: at the first failed attempt, when the reason
    /// changes, and every 10 s; null = only the log tells. Called by the thread that connects: it must not block.
    /// Default: null.
    /// </summary>
    public Action<ConnectFailure>? ConnectFailed { get; init; }

    /// <summary>Where the library logs; nowhere unless set. Default: one that logs nowhere.</summary>
    public ILoggerFactory LoggerFactory { get; init; } = NullLoggerFactory.Instance;

    /// <summary>The clock and the timers. Default: the system's clock.</summary>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>Checks every value.</summary>
    /// <exception cref="ArgumentException">A setting is outside its range; the message names it.</exception>
    public void Validate()
    {
        ServerAddress.ParseList(Addresses);
        Tls?.Validate();
        Option.Require(
            Credentials is not { IsInProcess: true } || InMemory is not null,
            nameof(Credentials),
            Credentials?.ToString() ?? "null",
            "a password or a token: only InMemory connections take the process's own word");
        Option.Require(
            ClientName is { Length: <= NameRules.MaxLength } && NameRules.IsText(ClientName),
            nameof(ClientName),
            ClientName ?? "null",
            $"a text of at most {NameRules.MaxLength} characters, none of them a control character");
        Option.RequireAtLeast(ConnectTimeout, TimeSpan.FromMilliseconds(1), nameof(ConnectTimeout));
        Option.RequireAtLeast(RequestTimeout, TimeSpan.FromMilliseconds(1), nameof(RequestTimeout));
        Option.RequireAtLeast(KeepAliveInterval, TimeSpan.FromMilliseconds(10), nameof(KeepAliveInterval));
        Option.RequireAtLeast(KeepAliveTimeout, TimeSpan.FromMilliseconds(10), nameof(KeepAliveTimeout));
        Option.RequireAtLeast(ReconnectBackoffMin, TimeSpan.FromMilliseconds(1), nameof(ReconnectBackoffMin));
        Option.RequireAtLeast(ReconnectBackoffMax, ReconnectBackoffMin, nameof(ReconnectBackoffMax));
        Option.RequireAtLeast(CloseTimeout, TimeSpan.Zero, nameof(CloseTimeout));
        Option.Require(MaxFrameBytes >= 64 * 1024, nameof(MaxFrameBytes), MaxFrameBytes, "64 KiB or more");
        Option.Require(LoggerFactory is not null, nameof(LoggerFactory), "null", "a factory");
        Option.Require(TimeProvider is not null, nameof(TimeProvider), "null", "a clock");
    }

    /// <summary>Waits before another attempt at a broker: longer after each failure, but no more than 20 times
    /// <see cref="ReconnectBackoffMin"/>.</summary>
    /// <param name="failures">In a row.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <param name="asked">What the broker asked for; no more than <see cref="ReconnectBackoffMax"/> of it.</param>
    internal Task PauseAsync(int failures, CancellationToken cancellationToken, TimeSpan asked = default)
    {
        TimeSpan pause = ReconnectBackoffMin * Math.Min(failures, 20);
        TimeSpan least = asked < ReconnectBackoffMax ? asked : ReconnectBackoffMax;
        return Task.Delay(pause > least ? pause : least, TimeProvider, cancellationToken);
    }
}
