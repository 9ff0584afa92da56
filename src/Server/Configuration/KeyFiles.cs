namespace EQueue.Server.Configuration;

/// <summary>Who may read and write the files that hold the key of TLS, the secret of a cluster or a password: who reads
/// one can pretend to be this broker, who writes it already does. Who writes those that say which clients are trusted
/// lets in whom they like.</summary>
internal static class KeyFiles
{
    private const UnixFileMode OthersWrite = UnixFileMode.GroupWrite | UnixFileMode.OtherWrite;

    /// <exception cref="ConfigurationException">Others than its owner may write one; names it.</exception>
    public static void Check(ServerOptions options)
    {
        foreach ((string setting, string path, UnixFileMode mode) in Find(options))
        {
            if (FindWriters(mode) is not { } who)
                continue;
            throw new ConfigurationException($"{setting} is '{path}', which {who} can write ({Octal(mode)}): allowed "
                + $"is a file that its owner alone can write. chmod 600 {path}");
        }

        foreach ((string setting, string path, UnixFileMode mode) in FindTrust(options))
        {
            if (FindWriters(mode) is not { } who)
                continue;
            throw new ConfigurationException($"{setting} is '{path}', which {who} can write ({Octal(mode)}) and so let "
                + $"in clients of their own: allowed is a file that its owner alone can write. chmod go-w {path}");
        }
    }

    /// <summary>The files that others than their owner may read: setting, path, and who.</summary>
    public static IEnumerable<(string Setting, string Path, string Others, string Mode)> FindReadable(
        ServerOptions options)
    {
        foreach ((string setting, string path, UnixFileMode mode) in Find(options))
        {
            string narrower = mode.HasFlag(UnixFileMode.OtherRead | UnixFileMode.GroupRead) ? "640" : "600";
            if (mode.HasFlag(UnixFileMode.OtherRead))
                yield return (setting, path, "everybody on this machine", narrower);
            else if (mode.HasFlag(UnixFileMode.GroupRead))
                yield return (setting, path, "every member of its group", "600");
        }
    }

    /// <summary>Who beside its owner may write a file; null = none.</summary>
    private static string? FindWriters(UnixFileMode mode) =>
        (mode & OthersWrite) == UnixFileMode.None ? null
        : mode.HasFlag(UnixFileMode.OtherWrite) ? "everybody" : "its group";

    private static IEnumerable<(string Setting, string Path, UnixFileMode Mode)> Find(ServerOptions options) =>
    [
        .. options.Broker.Tls is not { } tls ? [] : ModesOf(
            (tls.Key is null ? "Server:Tls:Certificate" : "Server:Tls:Key", tls.Key ?? tls.Certificate),
            ("Server:Tls:PasswordFile", tls.PasswordFile)),
        .. ModesOf(
            ("Cluster:EtcdPasswordFile", options.EtcdPasswordFile), ("Cluster:SecretFile", options.ClusterSecretFile)),
    ];

    private static IEnumerable<(string Setting, string Path, UnixFileMode Mode)> FindTrust(ServerOptions options) =>
        options.Broker.Tls is not { } tls ? [] : ModesOf(
            ("Server:Tls:ClientAuthority", tls.ClientAuthority),
            ("Server:Tls:ClientRevocations", tls.ClientRevocations));

    private static IEnumerable<(string Setting, string Path, UnixFileMode Mode)> ModesOf(
        params (string Setting, string? Path)[] files)
    {
        if (OperatingSystem.IsWindows())
            yield break;
        foreach ((string setting, string? path) in files)
        {
            if (path is null || !File.Exists(path))
                continue;
            // A link has no rights of its own; what it leads to has.
            string file = File.ResolveLinkTarget(path, returnFinalTarget: true)?.FullName ?? path;
            yield return (setting, path, File.GetUnixFileMode(file));
        }
    }

    private static string Octal(UnixFileMode mode) => Convert.ToString((int)mode, 8);
}
