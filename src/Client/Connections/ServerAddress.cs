using System.Globalization;
using System.Net;

namespace EQueue.Client;

/// <summary>Where a broker listens, as a person wrote it.</summary>
/// <param name="Host">A name or an address; IPv6 without brackets.</param>
/// <param name="Port">1 to 65,535.</param>
internal readonly record struct ServerAddress(string Host, int Port)
{
    private const int StandardPort = 9490;

    /// <summary>What the socket connects to.</summary>
    public EndPoint ToEndPoint() =>
        IPAddress.TryParse(Host, out var address) ? new IPEndPoint(address, Port) : new DnsEndPoint(Host, Port);

    /// <inheritdoc/>
    public override string ToString() => Host.Contains(':') ? $"[{Host}]:{Port}" : $"{Host}:{Port}";

    /// <summary>Reads <c>host[:port]</c>, several separated by commas.</summary>
    /// <exception cref="ArgumentException">There is none, or one is not an address.</exception>
    public static ServerAddress[] ParseList(string addresses)
    {
        ArgumentNullException.ThrowIfNull(addresses);
        var parts = addresses.Split(',', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
        if (parts.Length == 0)
            throw new ArgumentException("Addresses is empty: it must name at least one host:port.", nameof(addresses));
        return Array.ConvertAll(parts, Parse);
    }

    private static ServerAddress Parse(string text)
    {
        var host = text;
        var port = StandardPort;
        var colon = text.LastIndexOf(':');
        var isBracketed = text.StartsWith('[');
        var hasPort = colon >= 0 && (isBracketed ? colon == text.IndexOf(']') + 1 : colon == text.IndexOf(':'));
        if (hasPort)
        {
            host = text[..colon];
            if (!int.TryParse(text.AsSpan(colon + 1), NumberStyles.None, CultureInfo.InvariantCulture, out port))
                port = 0;
        }

        if (isBracketed && host.EndsWith(']'))
            host = host[1..^1];
        if (host.Length == 0 || port is < 1 or > 65535 || Uri.CheckHostName(host) == UriHostNameType.Unknown)
            throw new ArgumentException($"'{text}' is not an address: write host:port.", nameof(text));
        return new ServerAddress(host, port);
    }
}
