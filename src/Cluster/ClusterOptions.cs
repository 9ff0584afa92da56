using System.Net;
using System.Net.Sockets;
using EQueue.Remoting;

namespace EQueue.Cluster;

/// <summary>Which cluster a node belongs to, and where the cluster's etcd is.</summary>
public sealed record ClusterOptions
{
    /// <summary>A cluster has at most so many nodes.</summary>
    public const int MostNodes = 100;

    private const string NameRule = "1 to 63 letters, digits, '.', '_' or '-'";

    /// <summary>This node's name: one of those that the cluster was created with. Letters, digits, '.', '_' and '-', at
    /// most 63.</summary>
    public required string Node { get; init; }

    /// <summary>The cluster's name: its keys in etcd begin with "/equeue/NAME/". Default "equeue".</summary>
    public string Name { get; init; } = "equeue";

    /// <summary>The members of etcd, such as http://127.0.0.1:2379; at least one.</summary>
    public required IReadOnlyList<Uri> Etcd { get; init; }

    /// <summary>The user of etcd; null when etcd asks for none.</summary>
    public string? EtcdUser { get; init; }

    /// <summary>That user's password.</summary>
    public string? EtcdPassword { get; init; }

    /// <summary>A file with the certificates (PEM) by which etcd's are checked; null for those of the system.</summary>
    public string? EtcdCertificateAuthority { get; init; }

    /// <summary>Where other nodes and clients reach this node, such as broker-a:9490; null for the address that it
    /// listens on.</summary>
    public string? AdvertisedAddress { get; init; }

    /// <summary>What the nodes of the cluster know and others do not; "" for nodes on one machine alone.</summary>
    public string Secret { get; init; } = "";

    /// <summary>How this node trusts the others' certificates and shows its own; null without TLS.</summary>
    public TlsOptions? PeerTls { get; init; }

    /// <summary>How often the node puts its key.</summary>
    internal TimeSpan NodeKeyInterval { get; init; } = TimeSpan.FromMinutes(1);

    /// <summary>Throws unless the options can work.</summary>
    /// <exception cref="ArgumentException">What is wrong; its parameter is the option.</exception>
    public void Validate()
    {
        Require(IsName(Node), nameof(Node), NameRule, Node);
        Require(IsName(Name), nameof(Name), NameRule, Name);
        Require(Etcd.Count > 0, nameof(Etcd), "the address of one member at least", null);
        foreach (Uri member in Etcd)
            Require(IsMember(member), nameof(Etcd), "addresses such as http://127.0.0.1:2379", member);
        Require(EtcdUser is null == EtcdPassword is null, nameof(EtcdUser), "given with a password", EtcdUser);
    }

    /// <summary>Whether this can be a node's or a cluster's name.</summary>
    public static bool IsName(string? name) => name is { Length: > 0 and <= 63 }
        && name.All(one => char.IsAsciiLetterOrDigit(one) || one is '.' or '_' or '-');

    /// <summary>Reads the members of etcd as people write them.</summary>
    /// <param name="text">Addresses such as http://127.0.0.1:2379, separated by commas.</param>
    /// <param name="wrong">The first that is none, or null.</param>
    public static IReadOnlyList<Uri> ReadMembers(string text, out string? wrong)
    {
        ArgumentNullException.ThrowIfNull(text);
        wrong = null;
        var members = new List<Uri>();
        foreach (string part in text.Split(',', StringSplitOptions.TrimEntries))
        {
            if (Uri.TryCreate(part, UriKind.Absolute, out Uri? member) && IsMember(member))
                members.Add(member);
            else
                wrong ??= part;
        }

        return members;
    }

    private static bool IsMember(Uri address) =>
        address.IsAbsoluteUri && address.Scheme is "http" or "https" && address.PathAndQuery == "/";

    /// <summary>Throws when others than this machine reach the node, and nothing keeps strangers from being
    /// one.</summary>
    internal void CheckReach(RemotingServerOptions listener)
    {
        bool isPrivate = listener.Listen.All(static address => HostPort.Parse(address) switch
        {
            IPEndPoint { Address: var host } => IPAddress.IsLoopback(host),
            DnsEndPoint { Host: var host } => host == "localhost",
            UnixDomainSocketEndPoint => true,
            _ => false,
        });
        Require(
            isPrivate || (Secret.Length > 0 && listener.Tls is not null && PeerTls is not null),
            nameof(Secret),
            "given, with Server:Tls, when the node listens beyond this machine",
            Secret.Length == 0 ? null : "a secret without TLS");
    }

    private static void Require(bool holds, string option, string range, object? found)
    {
        if (!holds)
            throw new ArgumentException($"{option} must be {range}; found {found ?? "nothing"}.", option);
    }
}
