using System.Diagnostics.CodeAnalysis;
using System.Net;
using System.Net.Sockets;

namespace EQueue.Remoting;

/// <summary>Addresses as people write them: <c>127.0.0.1:9490</c>, <c>[::1]:9490</c>,
/// <c>broker.example:9490</c>.</summary>
public static class HostPort
{
    /// <summary>Reads HOST:PORT.</summary>
    /// <returns>An <see cref="IPEndPoint"/> for an address, a <see cref="DnsEndPoint"/> for a name.</returns>
    /// <exception cref="FormatException">The text is not HOST:PORT with a port of 0..65535.</exception>
    public static EndPoint Parse(string text) => TryParse(text, out EndPoint? endPoint)
        ? endPoint
        : throw new FormatException($"'{text}' is not HOST:PORT (127.0.0.1:9490, [::1]:9490, name:9490).");

    /// <summary>Reads HOST:PORT.</summary>
    public static bool TryParse(string? text, [NotNullWhen(true)] out EndPoint? endPoint)
    {
        endPoint = null;
        int colon = text?.LastIndexOf(':') ?? -1;
        if (colon <= 0 || !ushort.TryParse(text.AsSpan(colon + 1), out ushort port)) return false;

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
        if (endPoint is not DnsEndPoint name) return [endPoint];
        IPAddress[] addresses = await Dns.GetHostAddressesAsync(name.Host, cancellationToken).ConfigureAwait(false);
        return [.. addresses.Distinct().Select(address => new IPEndPoint(address, name.Port))];
    }
}
