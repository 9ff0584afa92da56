using System.Globalization;
using System.Net;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>Where a broker listens, as a person wrote it.</summary>
/// <param name="Host">A name or an address, IPv6 without brackets; or <c>unix:/path</c>, or <c>memory</c>.</param>
/// <param name="Port">1 to 65,535; 0 where there is none.</param>
internal readonly record struct ServerAddress(string Host, int Port)
{
    private const int StandardPort = 9490;

    /// <summary>The broker within this process.</summary>
    public static ServerAddress InMemory { get; } = new("memory", 0);

    private bool IsPath => Host.StartsWith(HostPort.UnixPrefix, StringComparison.Ordinal);

    /// <summary>What the socket connects to.</summary>
    public EndPoint ToEndPoint() => IsPath ? HostPort.Parse(Host)
        : IPAddress.TryParse(Host, out IPAddress? address) ? new IPEndPoint(address, Port)
        : new DnsEndPoint(Host, Port);

    /// <inheritdoc/>
    public override string ToString() => Port == 0 ? Host : Host.Contains(':') ? $"[{Host}]:{Port}" : $"{Host}:{Port}";

    /// <summary>What is wrong with a port where HTTP is answered.</summary>
    public static string HttpReason { get; } =
        "the port answers HTTP, so it is a broker's admin port or another server; clients connect to the data port, "
        + $"{StandardPort} unless Server:Listen names another";

    /// <summary>Reads <c>host[:port]</c> or <c>unix:/path</c>, several separated by commas.</summary>
    /// <exception cref="ArgumentException">There is none, or one is not an address.</exception>
    public static ServerAddress[] ParseList(string addresses)
    {
        ArgumentNullException.ThrowIfNull(addresses);
        string[] parts = addresses.Split(',', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
        if (parts.Length == 0)
        {
            throw new ArgumentException(
                "Addresses is empty: it must name at least one host:port or unix:/path.", nameof(addresses));
        }

        return Array.ConvertAll(parts, Parse);
    }

    /// <summary>Reads one address, as brokers tell it.</summary>
    public static bool TryParse(string text, out ServerAddress address)
    {
        try
        {
            address = Parse(text);
            return true;
        }
        catch (ArgumentException)
        {
            address = default;
            return false;
        }
    }

    private static ServerAddress Parse(string text)
    {
        if (text.StartsWith(HostPort.UnixPrefix, StringComparison.Ordinal))
        {
            return HostPort.TryParse(text, out _)
                ? new ServerAddress(text, 0)
                : throw new ArgumentException(
                    $"'{text}' is not an address: write unix: and an absolute path of at most 107 bytes.",
                    nameof(text));
        }

        string host = text;
        int port = StandardPort;
        int colon = text.LastIndexOf(':');
        bool isBracketed = text.StartsWith('[');
        bool hasPort = colon >= 0 && (isBracketed ? colon == text.IndexOf(']') + 1 : colon == text.IndexOf(':'));
        if (hasPort)
        {
            host = text[..colon];
            if (!int.TryParse(text.AsSpan(colon + 1), NumberStyles.None, CultureInfo.InvariantCulture, out port))
                port = 0;
        }

        if (isBracketed && host.EndsWith(']'))
            host = host[1..^1];
        if (host.Length == 0 || port is < 1 or > 65535 || Uri.CheckHostName(host) == UriHostNameType.Unknown)
            throw new ArgumentException($"'{text}' is not an address: write host:port or unix:/path.", nameof(text));
        return new ServerAddress(host, port);
    }
}
