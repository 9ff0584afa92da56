using EQueue.Cluster;
using EQueue.Remoting;

namespace EQueue.Server.Configuration;

/// <summary>A node's options with what stands in files.</summary>
internal static class ClusterFiles
{
    /// <summary>Reads the files.</summary>
    /// <exception cref="ConfigurationException">One cannot be read; names the setting.</exception>
    public static ClusterOptions Read(ServerOptions options) => options.Cluster! with
    {
        EtcdPassword = ReadText("Cluster:EtcdPasswordFile", options.EtcdPasswordFile),
        Secret = ReadText("Cluster:SecretFile", options.ClusterSecretFile) ?? "",
        PeerTls = options.Broker.Tls is not { } tls ? null : new TlsOptions
        {
            AuthorityFile = options.ClusterAuthority,
            CertificateFile = tls.PasswordFile is null ? tls.Certificate : null,
            KeyFile = tls.PasswordFile is null ? tls.Key : null,
        },
    };

    private static string? ReadText(string setting, string? path)
    {
        if (path is null) return null;
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
