using EQueue.Cluster;
using EQueue.MessageStore;
using EQueue.Remoting;

namespace EQueue.Server.Configuration;

/// <summary>A node's options with what stands in files.</summary>
internal static class ClusterFiles
{
    /// <summary>Holds a node's settings against each other.</summary>
    /// <exception cref="ConfigurationException">Two do not fit; names them and what can be done.</exception>
    public static void Check(ServerOptions options)
    {
        if (!options.IsNode)
            return;
        if (options.Broker.Store.Disk is MemoryDisk memory)
        {
            throw new ConfigurationException(
                $"Store:Memory is '{memory.LimitBytes}': allowed is false while Cluster:Node is set, since a node "
                + "keeps its copy of the log on a disk.");
        }

        if (options.Cluster!.EtcdUser is { } user && options.EtcdPasswordFile is null)
        {
            throw new ConfigurationException(
                $"Cluster:EtcdUser is '{user}', and there is no password: set Cluster:EtcdPasswordFile.");
        }

        if (options.Cluster.EtcdUser is null && options.EtcdPasswordFile is { } password)
        {
            throw new ConfigurationException(
                $"Cluster:EtcdPasswordFile is '{password}', and there is no user: set Cluster:EtcdUser.");
        }

        CheckReach(options);
    }

    /// <summary>Holds that a single broker's directory is not a node's.</summary>
    /// <exception cref="ConfigurationException">It is.</exception>
    public static void CheckDirectory(ServerOptions options)
    {
        string directory = options.Broker.DataDirectory;
        if (options.Broker.Store.Disk is MemoryDisk || !Directory.Exists(Path.Combine(directory, "shards")))
            return;
        throw new ConfigurationException(
            $"Server:DataDirectory is '{directory}', which a node of a cluster uses: set Cluster:Node to that node's "
            + "name, or choose another directory.");
    }

    /// <summary>Reads the files.</summary>
    /// <exception cref="ConfigurationException">One cannot be read; names the setting.</exception>
    public static ClusterOptions Read(ServerOptions options)
    {
        TlsOptions? tls = options.Broker.Tls is not { } own ? null : new TlsOptions
        {
            AuthorityFile = options.ClusterAuthority,
            CertificateFile = own.PasswordFile is null ? own.Certificate : null,
            KeyFile = own.PasswordFile is null ? own.Key : null,
        };
        CheckAuthorities("Cluster:CertificateAuthority", tls);
        if (options.Cluster!.EtcdCertificateAuthority is { } authority)
            CheckAuthorities("Cluster:EtcdCertificateAuthority", new TlsOptions { AuthorityFile = authority });
        return options.Cluster with
        {
            EtcdPassword = ReadText("Cluster:EtcdPasswordFile", options.EtcdPasswordFile),
            Secret = ReadText("Cluster:SecretFile", options.ClusterSecretFile) ?? "",
            PeerTls = tls,
        };
    }

    /// <summary>Who reaches a node's port can be a node, unless the nodes prove who they are.</summary>
    private static void CheckReach(ServerOptions options)
    {
        if (options.ClusterSecretFile is not null && options.Broker.Tls is not null)
            return;
        if (HostPort.Split(options.Broker.Listen).FirstOrDefault(RemoteAccess.IsRemote) is not { } address)
            return;
        string[] missing =
        [
            .. options.ClusterSecretFile is null ? ["Cluster:SecretFile"] : Array.Empty<string>(),
            .. options.Broker.Tls is null ? ["Server:Tls:Certificate"] : Array.Empty<string>(),
        ];
        throw new ConfigurationException(
            $"Server:Listen is '{address}', which others than this machine reach, and any of them could be a node of "
            + $"the cluster: set {string.Join(" and ", missing)}, or listen on 127.0.0.1 alone.");
    }

    private static void CheckAuthorities(string setting, TlsOptions? tls)
    {
        try
        {
            tls?.Validate();
        }
        catch (ArgumentException exception)
        {
            string message = exception.Message.Split(" (Parameter '")[0];
            throw new ConfigurationException(
                message.Replace("Tls.AuthorityFile", setting, StringComparison.Ordinal), exception);
        }
    }

    private static string? ReadText(string setting, string? path)
    {
        if (path is null)
            return null;
        try
        {
            string text = File.ReadAllText(path).TrimEnd('\r', '\n');
            return text.Length > 0 ? text : throw new ConfigurationException($"{setting} is '{path}', which is empty.");
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw new ConfigurationException($"{setting} is '{path}', which cannot be read: {exception.Message}");
        }
    }
}
