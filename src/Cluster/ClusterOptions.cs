namespace EQueue.Cluster;

/// <summary>Which cluster a node belongs to, and where the cluster's etcd is.</summary>
public sealed record ClusterOptions
{
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

    /// <summary>Throws unless the options can work.</summary>
    /// <exception cref="ArgumentException">What is wrong, with the option's name.</exception>
    public void Validate()
    {
        CheckName(Node, nameof(Node));
        CheckName(Name, nameof(Name));
        if (Etcd.Count == 0)
            throw new ArgumentException($"{nameof(Etcd)}: at least one member is needed.");
        foreach (Uri member in Etcd)
        {
            if (!member.IsAbsoluteUri || member.Scheme is not ("http" or "https") || member.PathAndQuery != "/")
                throw new ArgumentException($"{nameof(Etcd)}: {member} is not like http://127.0.0.1:2379.");
        }

        if (EtcdUser is null != EtcdPassword is null)
            throw new ArgumentException($"{nameof(EtcdUser)} and {nameof(EtcdPassword)} belong together.");
    }

    private static void CheckName(string name, string option)
    {
        if (name.Length is 0 or > 63 || !name.All(one => char.IsAsciiLetterOrDigit(one) || one is '.' or '_' or '-'))
            throw new ArgumentException($"{option}: '{name}' is no name; letters, digits, '.', '_', '-', at most 63.");
    }
}
