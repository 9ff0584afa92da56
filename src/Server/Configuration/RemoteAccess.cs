using System.Net;
using System.Net.Sockets;
using EQueue.Remoting;

namespace EQueue.Server.Configuration;

/// <summary>Holds that no port is open beyond this machine over which peers cannot prove who they are without others
/// seeing how, unless that was said in so many words.</summary>
internal static class RemoteAccess
{
    private const string Data = "Server:Listen";

    /// <exception cref="ConfigurationException">A port would be; names it and what can be done.</exception>
    public static void Check(ServerOptions options)
    {
        if (options.AllowsUnauthenticatedRemoteAccess)
            return;
        foreach ((string setting, string address) in FindBare(options))
        {
            string cure = setting == Data
                ? "set Server:Tls:Certificate, so that peers can prove who they are, or "
                : "have a proxy with TLS before it, or ";
            throw new ConfigurationException(
                $"{setting} is '{address}', which others than this machine reach, without TLS: allowed is an address "
                + $"of this machine alone (127.0.0.1, [::1], localhost); {cure}set "
                + "Server:AllowUnauthenticatedRemoteAccess to true where the network keeps strangers out.");
        }
    }

    /// <summary>The addresses, by their settings, that serve others than this machine without credentials.</summary>
    public static IEnumerable<(string Setting, string Address)> FindOpen(ServerOptions options) =>
        options.AllowsUnauthenticatedRemoteAccess
            ? FindRemote(options).Where(one => one.Setting != Data
                || options.Broker.Tls?.ClientCertificates != ClientCertificates.Require)
            : [];

    /// <summary>The addresses beyond this machine that have no TLS, by their settings.</summary>
    private static IEnumerable<(string Setting, string Address)> FindBare(ServerOptions options) =>
        FindRemote(options).Where(one => one.Setting != Data || options.Broker.Tls is null);

    private static IEnumerable<(string Setting, string Address)> FindRemote(ServerOptions options)
    {
        foreach (string address in HostPort.Split(options.Broker.Listen).Where(IsRemote))
            yield return (Data, address);
        if (options.HasAdmin && IsRemote(options.AdminListen))
            yield return ("Server:AdminListen", options.AdminListen);
    }

    /// <summary>Whether others than this machine may reach an address. A name, whatever it leads to, counts as
    /// one.</summary>
    public static bool IsRemote(string address) => HostPort.Parse(address) switch
    {
        UnixDomainSocketEndPoint => false,
        IPEndPoint known => !IPAddress.IsLoopback(known.Address),
        DnsEndPoint name => !name.Host.Equals("localhost", StringComparison.OrdinalIgnoreCase),
        _ => true,
    };
}
