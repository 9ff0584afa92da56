namespace EQueue.Server.Configuration;

/// <summary>Who may do everything, how many log in at once, and where it is written down; docs/security.md.</summary>
internal static class SecuritySettings
{
    private const string NoNames = "none";

    /// <summary>The kinds of principals that can be superusers; the owner is bound by no rule anyhow, and a user that
    /// proves nothing must not be.</summary>
    private static readonly string[] Kinds = ["user:", "cert:", "local:"];

    public static Setting[] All { get; } =
    [
        new("Security:Superusers",
            "principals that no rule binds, beside the owner; several separated by commas",
            "none, or user:NAME, cert:NAME and local:UID",
            (options, text) => ReadNames(text) is { } names
                ? options.WithSecurity(security => security with { Superusers = names }) : null,
            options => options.Broker.Security.Superusers is { Count: > 0 } names
                ? string.Join(',', names) : NoNames),
        new("Security:CertificateMapping",
            "whom clients' certificates stand for, the first rule that fits decides; docs/security.md",
            "rules separated by semicolons: uri:PATTERN -> PRINCIPAL, also with dns, cn and subject, and default",
            (options, text) => options.WithSecurity(security => security with { CertificateMapping = text }),
            options => options.Broker.Security.CertificateMapping),
        SettingKinds.Number("Security:MaxLoginsAtOnce",
            "logins with a password that may be under way at once",
            1, 10_000,
            (options, value) => options.WithSecurity(security => security with { MaxLoginsAtOnce = (int)value }),
            options => options.Broker.Security.MaxLoginsAtOnce) with
        {
            Unit = "logins",
            AtLimit = "one more is refused",
        },
        new("Security:AuditFile",
            "gets a line for what is administered and refused; none is written with Store:Memory unless the path is "
            + "absolute",
            $"the path of a file, below Server:DataDirectory unless it is absolute, or {ServerOptions.NoAudit}",
            (options, text) => options with { AuditFile = text },
            options => options.AuditFile),
        SettingKinds.Number("Security:AuditFiles",
            "audit files of 64 MiB that are kept, the one that is written included",
            2, 1_000,
            (options, value) => options with { AuditFiles = (int)value },
            options => options.AuditFiles) with
        {
            Unit = "files",
            AtLimit = "the oldest goes",
        },
    ];

    private static string[]? ReadNames(string text)
    {
        if (text == NoNames)
            return [];
        string[] names = text.Split(',', StringSplitOptions.TrimEntries);
        return names.All(IsPrincipal) ? names : null;
    }

    /// <summary>Whether a name can be one; the broker's options are held to the whole rule.</summary>
    private static bool IsPrincipal(string name) =>
        Kinds.FirstOrDefault(kind => name.StartsWith(kind, StringComparison.Ordinal)) is { } kind
        && name.Length > kind.Length
        && (kind != "local:" || uint.TryParse(name.AsSpan(kind.Length), out _));
}
