using EQueue.Broker;
using EQueue.Cluster;
using EQueue.MessageStore;
using EQueue.Remoting;

namespace EQueue.Server.Configuration;

/// <summary>Everything that can be set: the broker's options, and where the admin port is and what it allows.</summary>
internal sealed record ServerOptions
{
    /// <summary>The word that turns the admin pages off.</summary>
    public const string NoAdmin = "none";

    /// <summary>The word that sends metrics nowhere, unless the environment says where.</summary>
    public const string NoOtlp = "none";

    /// <summary>The word that has no audit file.</summary>
    public const string NoAudit = "none";

    /// <summary>
    /// Where <c>/health</c>, <c>/stats</c> and <c>/metrics</c> are: HOST:PORT, port 0 for any free one, or
    /// <see cref="NoAdmin"/>.
    /// </summary>
    public string AdminListen { get; init; } = "127.0.0.1:9491";

    /// <summary>What the admin port allows.</summary>
    public AdminOptions Admin { get; init; } = new();

    /// <summary>Whether everybody who reaches a port is served without credentials, beyond this machine too.</summary>
    public bool AllowsUnauthenticatedRemoteAccess { get; init; }

    /// <summary>Whether all users of this machine are served without credentials.</summary>
    public bool AllowsUnauthenticatedLocalAccess { get; init; }

    /// <summary>Where it is written what was administered and refused: a path, below the data directory unless it is
    /// absolute, or <see cref="NoAudit"/>.</summary>
    public string AuditFile { get; init; } = "audit.jsonl";

    /// <summary>Audit files that are kept, the current one included; 2 to 1,000.</summary>
    public int AuditFiles { get; init; } = 10;

    /// <summary>How the broker runs.</summary>
    public BrokerOptions Broker { get; init; } = new();

    /// <summary>Which cluster this server is a node of, as the settings say; see <see cref="IsNode"/>.</summary>
    public ClusterOptions? Cluster { get; init; }

    /// <summary>Has the password of etcd's user; null = there is none.</summary>
    public string? EtcdPasswordFile { get; init; }

    /// <summary>Has the cluster's secret; null = there is none.</summary>
    public string? ClusterSecretFile { get; init; }

    /// <summary>By whom other nodes' certificates are signed; null = by those that the system trusts.</summary>
    public string? ClusterAuthority { get; init; }

    /// <summary>Whether this server is a node of a cluster.</summary>
    public bool IsNode => Cluster is { Node.Length: > 0 };

    /// <summary>Where metrics are sent over OTLP; null: where the environment says, if it does.</summary>
    public Uri? OtlpEndpoint { get; init; }

    /// <summary>Whether there are admin pages.</summary>
    public bool HasAdmin => AdminListen != NoAdmin;

    /// <summary>The audit file's whole path; null: there is none. A broker that keeps nothing on disk has none in its
    /// data directory either.</summary>
    public string? AuditPath =>
        AuditFile == NoAudit || (Broker.Store.Disk is MemoryDisk && !Path.IsPathRooted(AuditFile))
            ? null
            : Path.GetFullPath(AuditFile, Broker.DataDirectory);

    /// <summary>Who is served without credentials, as the settings say.</summary>
    public UnauthenticatedAccess Unauthenticated =>
        AllowsUnauthenticatedRemoteAccess ? UnauthenticatedAccess.Anywhere
        : AllowsUnauthenticatedLocalAccess ? UnauthenticatedAccess.Local
        : UnauthenticatedAccess.Owner;

    public ServerOptions WithStore(Func<StoreOptions, StoreOptions> change)
        => this with { Broker = Broker with { Store = change(Broker.Store) } };

    /// <summary>Changes how TLS is spoken; the first setting of it turns it on.</summary>
    public ServerOptions WithTls(Func<ServerTlsOptions, ServerTlsOptions> change)
        => this with { Broker = Broker with { Tls = change(Broker.Tls ?? new() { Certificate = "" }) } };

    public ServerOptions WithLimits(Func<LimitOptions, LimitOptions> change)
        => this with { Broker = Broker with { Limits = change(Broker.Limits) } };

    public ServerOptions WithGroups(Func<GroupOptions, GroupOptions> change)
        => this with { Broker = Broker with { Groups = change(Broker.Groups) } };

    public ServerOptions WithTelemetry(Func<TelemetryOptions, TelemetryOptions> change)
        => this with { Broker = Broker with { Telemetry = change(Broker.Telemetry) } };

    public ServerOptions WithAdmin(Func<AdminOptions, AdminOptions> change) => this with { Admin = change(Admin) };

    public ServerOptions WithSecurity(Func<SecurityOptions, SecurityOptions> change)
        => this with { Broker = Broker with { Security = change(Broker.Security) } };

    public ServerOptions WithTopics(Func<TopicOptions, TopicOptions> change)
        => this with { Broker = Broker with { Topics = change(Broker.Topics) } };

    /// <summary>How long a stop may take.</summary>
    /// <remarks>The broker bounds its own drain; the host must not cut the snapshot that follows it.</remarks>
    public TimeSpan StopTime => Broker.DrainTimeout + TimeSpan.FromMinutes(2);
}
