using System.Net;
using EQueue.Cluster;
using EQueue.Remoting;

namespace EQueue.Server.Configuration;

/// <summary>Which cluster this server is a node of; docs/cluster.md.</summary>
internal static class ClusterSettings
{
    private const string None = "none";

    private static readonly ClusterOptions Nowhere = new() { Node = "", Etcd = [new Uri("http://127.0.0.1:2379")] };

    public static Setting[] All { get; } =
    [
        Text("Cluster:Node",
            "this node's name, one of those that the cluster was created with; none: a single broker",
            "none, or 1 to 63 letters, digits, '.', '_' and '-'",
            (cluster, text) => ClusterOptions.IsName(text) ? cluster with { Node = text } : null,
            cluster => cluster.Node),
        Text("Cluster:Name",
            "the cluster's name: its keys in etcd begin with /equeue/NAME/",
            "1 to 63 letters, digits, '.', '_' and '-'",
            (cluster, text) => ClusterOptions.IsName(text) ? cluster with { Name = text } : null,
            cluster => cluster.Name),
        new("Cluster:Etcd",
            "the members of the etcd that decides who leads",
            "addresses such as http://127.0.0.1:2379, several separated by commas",
            (options, text) => ClusterOptions.ReadMembers(text, out string? wrong) is var members && wrong is null
                ? With(options, cluster => cluster with { Etcd = members }) : null,
            options => string.Join(',', Of(options).Etcd.Select(static member => member.OriginalString))),
        Text("Cluster:EtcdUser",
            "the user of etcd",
            "none, or a name",
            (cluster, text) => cluster with { EtcdUser = text },
            cluster => cluster.EtcdUser),
        FileOf("Cluster:EtcdPasswordFile",
            "has that user's password",
            options => options.EtcdPasswordFile,
            (options, path) => options with { EtcdPasswordFile = path }),
        Text("Cluster:EtcdCertificateAuthority",
            "certificates (PEM) by which those of etcd are checked",
            "the path of a file, or none: those of the system",
            (cluster, text) => cluster with { EtcdCertificateAuthority = Path.GetFullPath(text) },
            cluster => cluster.EtcdCertificateAuthority),
        Text("Cluster:AdvertisedAddress",
            "where clients and other nodes reach this node",
            "HOST:PORT, or none: the address that it listens on",
            (cluster, text) => IsReachable(text) ? cluster with { AdvertisedAddress = text } : null,
            cluster => cluster.AdvertisedAddress),
        FileOf("Cluster:SecretFile",
            "has what the nodes of the cluster know and others do not; needed, with TLS, beyond one machine",
            options => options.ClusterSecretFile,
            (options, path) => options with { ClusterSecretFile = path }),
        FileOf("Cluster:CertificateAuthority",
            "certificates (PEM) by which those of the other nodes are checked; those of the system without it",
            options => options.ClusterAuthority,
            (options, path) => options with { ClusterAuthority = path }),
    ];

    private static Setting Text(
        string key,
        string meaning,
        string allowed,
        Func<ClusterOptions, string, ClusterOptions?> set,
        Func<ClusterOptions, string?> get)
        => new(
            key,
            meaning,
            allowed,
            (options, text) => text == None ? options
                : text.Length > 0 && set(Of(options), text) is { } changed ? options with { Cluster = changed } : null,
            options => get(Of(options)) is { Length: > 0 } value ? value : None);

    private static Setting FileOf(
        string key,
        string meaning,
        Func<ServerOptions, string?> get,
        Func<ServerOptions, string, ServerOptions> set)
        => new(
            key,
            meaning,
            "the path of a file, or none",
            (options, text) => text == None ? options : set(options, Path.GetFullPath(text)),
            options => get(options) ?? None);

    private static ClusterOptions Of(ServerOptions options) => options.Cluster ?? Nowhere;

    private static ServerOptions With(ServerOptions options, Func<ClusterOptions, ClusterOptions> change) =>
        options with { Cluster = change(Of(options)) };

    private static bool IsReachable(string text) => HostPort.TryParse(text, out EndPoint? address)
        && address is IPEndPoint { Port: > 0 } or DnsEndPoint { Port: > 0 };
}
