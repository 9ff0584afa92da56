using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace EQueue.Remoting;

/// <summary>Addresses as people write them: <c>127.0.0.1:9490</c>, <c>[::1]:9490</c>, <c>broker.example:9490</c>,
/// <c>unix:/run/equeue.sock</c>.</summary>
public static class HostPort
{
    /// <summary>What stands before the path of a Unix socket.</summary>
    public const string UnixPrefix = "unix:";

    /// <summary>What the system's structure holds, with a zero at the end.</summary>
    private const int LongestUnixPathBytes = 107;

    /// <summary>Reads HOST:PORT or unix:/path.</summary>
    /// <returns>An <see cref="IPEndPoint"/> for an address, a <see cref="DnsEndPoint"/> for a name, a
    /// <see cref="UnixDomainSocketEndPoint"/> for a path.</returns>
    /// <exception cref="FormatException">The text is not HOST:PORT with a port of 0..65535, nor an absolute path of at
    /// most 107 bytes.</exception>
    public static EndPoint Parse(string text) => TryParse(text, out EndPoint? endPoint)
        ? endPoint
        : throw new FormatException(
            $"'{text}' is not HOST:PORT (127.0.0.1:9490, [::1]:9490, name:9490) nor unix:/path.");

    /// <summary>Addresses that are separated by commas, each by itself.</summary>
    public static string[] Split(string text) =>
        text.Split(',', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);

    /// <summary>An end point as <see cref="Parse"/> reads it.</summary>
    public static string Format(EndPoint endPoint) => endPoint switch
    {
        UnixDomainSocketEndPoint => UnixPrefix + endPoint,
        DnsEndPoint name => $"{name.Host}:{name.Port}",
        _ => endPoint.ToString() ?? "",
    };

    /// <summary>Reads HOST:PORT or unix:/path.</summary>
    public static bool TryParse(string? text, [NotNullWhen(true)] out EndPoint? endPoint)
    {
        endPoint = null;
        if (text is not null && text.StartsWith(UnixPrefix, StringComparison.Ordinal))
        {
            string path = text[UnixPrefix.Length..];
            bool isPath = Path.IsPathFullyQualified(path) && Encoding.UTF8.GetByteCount(path) <= LongestUnixPathBytes
                && !Path.EndsInDirectorySeparator(path) && !path.Contains('\0');
            endPoint = isPath && Socket.OSSupportsUnixDomainSockets ? new UnixDomainSocketEndPoint(path) : null;
            return endPoint is not null;
        }

        int colon = text?.LastIndexOf(':') ?? -1;
        if (colon <= 0 || !ushort.TryParse(text.AsSpan(colon + 1), out ushort port))
            return false;

        string host = text![..colon];
        if (host[0] == '[' && host[^1] == ']' && IPAddress.TryParse(host, out IPAddress? bracketed))
            endPoint = new IPEndPoint(bracketed, port);
        else if (!host.Contains(':') && IPAddress.TryParse(host, out IPAddress? address))
            endPoint = new IPEndPoint(address, port);
        else if (Uri.CheckHostName(host) == UriHostNameType.Dns)
            endPoint = new DnsEndPoint(host, port, AddressFamily.Unspecified);
        return endPoint is not null;
    }

    /// <summary>The addresses behind an end point, in the resolver's order; an address stands for itself.</summary>
    internal static async ValueTask<IReadOnlyList<EndPoint>> ResolveAsync(
        EndPoint endPoint, CancellationToken cancellationToken)
    {
        if (endPoint is not DnsEndPoint name)
            return [endPoint];
        IPAddress[] addresses = await Dns.GetHostAddressesAsync(name.Host, cancellationToken).ConfigureAwait(false);
        return [.. addresses.Distinct().Select(address => new IPEndPoint(address, name.Port))];
    }
}
