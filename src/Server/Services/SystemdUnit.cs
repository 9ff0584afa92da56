using System.Globalization;

namespace EQueue.Server.Services;

/// <summary>The unit of the server: systemd.service(5), systemd.exec(5).</summary>
internal sealed record SystemdUnit
{
    public const string FileName = "equeue.service";

    /// <summary>The first line of a unit that is ours to replace and to remove.</summary>
    public const string Mark = "# Made by equeue-server install, which replaces it; changes belong into "
        + "systemctl edit equeue.";

    private const int LeastFiles = 65536;
    private const int FilesBesideConnections = 16384;

    /// <summary>The program and what stands before the server's options: the path, or dotnet and the path.</summary>
    public required IReadOnlyList<string> Program { get; init; }

    public required string ConfigFile { get; init; }

    public required string DataDirectory { get; init; }

    public required string LogDirectory { get; init; }

    /// <summary>Who runs it; null: a user that systemd makes.</summary>
    public string? User { get; init; }

    /// <summary>Connections that the settings allow; each takes a file.</summary>
    public required int MaxConnections { get; init; }

    /// <summary>How long the server may take to stop, by its own bounds.</summary>
    public required TimeSpan StopTime { get; init; }

    private static IEnumerable<string> Start =>
    [
        Mark,
        "[Unit]",
        "Description=EQueue message broker",
        "After=network-online.target",
        "Wants=network-online.target",
        "# Five failed starts within five minutes, and it stays down until an operator looks.",
        "StartLimitIntervalSec=300",
        "StartLimitBurst=5",
        "",
        "[Service]",
        "Type=notify",
        "NotifyAccess=main",
    ];

    private static IEnumerable<string> Hardening =>
    [
        "UMask=0007",
        "RuntimeDirectory=equeue",
        "RuntimeDirectoryMode=0750",
        "ProtectSystem=strict",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK",
        "RestrictNamespaces=yes",
        "RestrictRealtime=yes",
        "RestrictSUIDSGID=yes",
        "PrivateDevices=yes",
        "ProtectClock=yes",
        "ProtectControlGroups=yes",
        "ProtectHostname=yes",
        "ProtectKernelLogs=yes",
        "ProtectKernelModules=yes",
        "ProtectKernelTunables=yes",
        "ProtectProc=invisible",
        "LockPersonality=yes",
        "SystemCallArchitectures=native",
        "RemoveIPC=yes",
        "# Not MemoryDenyWriteExecute: .NET compiles while it runs.",
    ];

    public string Write()
    {
        string stop = ((long)Math.Ceiling(StopTime.TotalSeconds)).ToString(CultureInfo.InvariantCulture);
        int files = Math.Max(LeastFiles, MaxConnections + FilesBesideConnections);
        IEnumerable<string> lines =
        [
            .. Start,
            $"ExecStart={string.Join(' ', Command.Select(QuoteArgument))}",
            "ExecReload=/bin/kill -HUP $MAINPID",
            "WorkingDirectory=/",
            "# The server asks for more while it recovers or drains.",
            "TimeoutStartSec=120",
            $"TimeoutStopSec={stop}",
            "WatchdogSec=60",
            "Restart=on-failure",
            "RestartSec=2",
            "# A setting, the data directory, a port: another start would end the same way.",
            "RestartPreventExitStatus=2 3 4",
            $"LimitNOFILE={files.ToString(CultureInfo.InvariantCulture)}",
            "",
            .. Owner,
            .. Hardening,
            $"PrivateTmp={(Hides("/tmp", "/var/tmp") ? "no" : "yes")}",
            $"ProtectHome={(Hides("/home", "/root", "/run/user") ? "read-only" : "yes")}",
            "",
            "[Install]",
            "WantedBy=multi-user.target",
            "",
            "# For uninstall; systemd passes over it.",
            "[X-EQueue]",
            $"Config={ConfigFile}",
            $"Data={DataDirectory}",
            "",
        ];
        return string.Join('\n', lines);
    }

    private IEnumerable<string> Command => [.. Program, "--config", ConfigFile, "--data", DataDirectory];

    /// <summary>Who runs it and where it may write; the directories of a user that systemd makes are writable by
    /// being named.</summary>
    private IEnumerable<string> Owner => User is null
        ?
        [
            "DynamicUser=yes",
            $"StateDirectory={QuotePath(Path.GetRelativePath("/var/lib", DataDirectory))}",
            "StateDirectoryMode=0750",
            $"LogsDirectory={QuotePath(Path.GetRelativePath("/var/log", LogDirectory))}",
            "LogsDirectoryMode=0750",
        ]
        :
        [
            $"User={User}",
            $"ReadWritePaths={QuotePath(DataDirectory)} {QuotePath(LogDirectory)}",
        ];

    /// <summary>A word of a command line: no specifier, no variable.</summary>
    private static string QuoteArgument(string text) =>
        QuotePath(text).Replace("$", "$$", StringComparison.Ordinal);

    private static string QuotePath(string text)
    {
        string plain = text.Replace("%", "%%", StringComparison.Ordinal);
        if (plain.All(static letter => char.IsAsciiLetterOrDigit(letter) || "/._-+,@=:%$".Contains(letter)))
            return plain;
        string escaped = plain
            .Replace("\\", "\\\\", StringComparison.Ordinal)
            .Replace("\"", "\\\"", StringComparison.Ordinal);
        return $"\"{escaped}\"";
    }

    private bool Hides(params string[] directories) => directories.Any(directory =>
        Command.Append(LogDirectory).Any(path => path.StartsWith(directory + '/', StringComparison.Ordinal)));
}
