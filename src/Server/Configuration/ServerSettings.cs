using System.Net;
using System.Net.Sockets;
using EQueue.Remoting;

namespace EQueue.Server.Configuration;

/// <summary>Where the server listens and keeps things, and what its admin port allows.</summary>
internal static class ServerSettings
{
    private const string Address = "HOST:PORT with a port of 0 to 65535";

    public static Setting[] All { get; } =
    [
        new("Server:Listen",
            "where clients connect",
            $"{Address}, or unix:/path, several separated by commas",
            (options, text) => AreListeners(text)
                ? options with { Broker = options.Broker with { Listen = text } } : null,
            options => options.Broker.Listen),
        new("Server:AdminListen",
            "where the admin pages are",
            $"{Address}, or {ServerOptions.NoAdmin}",
            (options, text) => text == ServerOptions.NoAdmin || IsAddress(text)
                ? options with { AdminListen = text } : null,
            options => options.AdminListen),
        SettingKinds.Flag("Server:AllowUnauthenticatedRemoteAccess",
            "whether everybody who reaches a port is served without credentials, beyond this machine too",
            (options, on) => options with { AllowsUnauthenticatedRemoteAccess = on },
            options => options.AllowsUnauthenticatedRemoteAccess),
        SettingKinds.Flag("Server:AllowUnauthenticatedLocalAccess",
            "whether all users of this machine are served without credentials; if not, the one who runs the server, "
            + "and root",
            (options, on) => options with { AllowsUnauthenticatedLocalAccess = on },
            options => options.AllowsUnauthenticatedLocalAccess),
        new("Server:DataDirectory",
            "everything the broker keeps",
            "the path of a directory",
            (options, text) => options with { Broker = options.Broker with { DataDirectory = Path.GetFullPath(text) } },
            options => options.Broker.DataDirectory),
        SettingKinds.PathOf("Server:Tls:Certificate",
            "with it clients speak TLS: PEM (the certificate, then those up to the root) or PFX",
            (tls, path) => tls with { Certificate = path }, tls => tls.Certificate),
        SettingKinds.PathOf("Server:Tls:Key",
            "its key in PEM, when it is not in the same file",
            (tls, path) => tls with { Key = path }, tls => tls.Key),
        SettingKinds.PathOf("Server:Tls:PasswordFile",
            "holds the password of the PFX or of the encrypted key",
            (tls, path) => tls with { PasswordFile = path }, tls => tls.PasswordFile),
        new("Server:Tls:ClientCertificates",
            "whether clients show certificates",
            "none, allow or require",
            (options, text) => ReadClientCertificates(text) is { } asked
                ? asked == ClientCertificates.None && options.Broker.Tls is null
                    ? options : options.WithTls(tls => tls with { ClientCertificates = asked })
                : null,
            options => Spell(options.Broker.Tls?.ClientCertificates)),
        SettingKinds.PathOf("Server:Tls:ClientAuthority",
            "PEM of the root authorities that clients' certificates must come from; needed with allow and "
            + "require",
            (tls, path) => tls with { ClientAuthority = path }, tls => tls.ClientAuthority),
        SettingKinds.PathOf("Server:Tls:ClientRevocations",
            "lists of the certificates that those authorities have revoked, PEM or DER; looked at again when it "
            + "changes",
            (tls, path) => tls with { ClientRevocations = path }, tls => tls.ClientRevocations),

        SettingKinds.Size("Admin:MaxBodyBytes",
            "body of a request to the admin port",
            1 << 10, 1 << 30,
            (options, value) => options.WithAdmin(admin => admin with { MaxBodyBytes = value }),
            options => options.Admin.MaxBodyBytes) with
        {
            Unit = "bytes",
            AtLimit = "413",
        },
        SettingKinds.Number("Admin:MaxRequests",
            "requests of its API at once",
            1, 10_000,
            (options, value) => options.WithAdmin(admin => admin with { MaxRequests = (int)value }),
            options => options.Admin.MaxRequests) with
        {
            Unit = "requests",
            AtLimit = "503 with Retry-After",
        },
        SettingKinds.Number("Admin:MaxStreams",
            "streams of live figures at once",
            0, 1_000,
            (options, value) => options.WithAdmin(admin => admin with { MaxStreams = (int)value }),
            options => options.Admin.MaxStreams) with
        {
            Unit = "streams",
            AtLimit = "503 with Retry-After",
        },
        SettingKinds.Duration("Admin:RequestTimeout",
            "the longest that one of its requests may wait",
            TimeSpan.FromSeconds(1), TimeSpan.FromMinutes(10),
            (options, value) => options.WithAdmin(admin => admin with { RequestTimeout = value }),
            options => options.Admin.RequestTimeout) with
        {
            Unit = "time",
            AtLimit = "504: what was asked may be done all the same",
        },
    ];

    private static ClientCertificates? ReadClientCertificates(string text) => text.ToUpperInvariant() switch
    {
        "NONE" => ClientCertificates.None,
        "ALLOW" => ClientCertificates.Allow,
        "REQUIRE" => ClientCertificates.Require,
        _ => null,
    };

    private static string Spell(ClientCertificates? asked) => asked switch
    {
        ClientCertificates.Allow => "allow",
        ClientCertificates.Require => "require",
        _ => "none",
    };

    private static bool AreListeners(string text) =>
        HostPort.Split(text) is { Length: > 0 } addresses
        && addresses.All(address => HostPort.TryParse(address, out _));

    private static bool IsAddress(string text) =>
        HostPort.TryParse(text, out EndPoint? endPoint) && endPoint is not UnixDomainSocketEndPoint;
}
