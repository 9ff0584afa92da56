using System.Net;
using System.Net.Sockets;
using EQueue.Remoting;

namespace EQueue.Server.Configuration;

/// <summary>Holds that no port is open beyond this machine without anybody being asked who they are, unless that was
/// said in so many words.</summary>
internal static class RemoteAccess
{
    private const string Permission = "Server:AllowUnauthenticatedRemoteAccess";

    /// <exception cref="ConfigurationException">A port would be; names it and what can be done.</exception>
    public static void Check(ServerOptions options)
    {
        if (options.AllowsUnauthenticatedRemoteAccess)
            return;
        foreach ((string setting, string address) in FindOpen(options))
        {
            string cure = setting == "Server:Listen"
                ? "set Server:Tls:ClientCertificates to require, and Server:Tls:Certificate, Server:Tls:Key and "
                    + "Server:Tls:ClientAuthority to files, or "
                : "";
            throw new ConfigurationException(
                $"{setting} is '{address}', which others than this machine reach, and nobody is asked who they are: "
                + $"allowed is an address of this machine alone (127.0.0.1, [::1], localhost); {cure}set {Permission} "
                + "to true where the network keeps strangers out.");
        }
    }

    /// <summary>The addresses that others reach without being asked who they are, by their settings.</summary>
    public static IEnumerable<(string Setting, string Address)> FindOpen(ServerOptions options)
    {
        if (options.Broker.Tls?.ClientCertificates != ClientCertificates.Require)
        {
            foreach (string address in HostPort.Split(options.Broker.Listen).Where(IsRemote))
                yield return ("Server:Listen", address);
        }

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
