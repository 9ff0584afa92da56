using System.Diagnostics;
using System.Runtime.Versioning;
using EQueue.Server.Configuration;
using EQueue.Support;

namespace EQueue.Server.Tests;

/// <summary>The files that hold the key of TLS, a cluster's secret or a password are their owner's alone.</summary>
[SupportedOSPlatform("linux")]
public sealed class KeyFilesTests : IDisposable
{
    private readonly TempDirectory _directory = new();
    private (string Setting, string Path)[] _given = [];

    [Theory]
    [Follows("is a file that its owner alone can write. chmod 600 {path}")]
    [InlineData("Server:Tls:Key", "602", "everybody")]
    [InlineData("Server:Tls:Key", "620", "its group")]
    [InlineData("Server:Tls:Key", "666", "everybody")]
    [InlineData("Server:Tls:PasswordFile", "606", "everybody")]
    [InlineData("Server:Tls:Certificate", "666", "everybody")]
    [InlineData("Cluster:SecretFile", "602", "everybody")]
    [InlineData("Cluster:EtcdPasswordFile", "620", "its group")]
    public void GivenAKeyThatOthersCanWrite_WhenRead_ThenItIsRefusedByName(string setting, string mode, string who)
    {
        ConfigurationException refused = Assert.Throws<ConfigurationException>(() => Read(setting, mode));
        Assert.StartsWith($"{setting} is '{_directory.FullPath}", refused.Message, StringComparison.Ordinal);
        Assert.Contains($"which {who} can write ({mode})", refused.Message, StringComparison.Ordinal);
        Do(refused.Message[refused.Message.IndexOf("chmod 600", StringComparison.Ordinal)..]);
        Assert.NotNull(Given.Settings(_given).Broker.Tls);
    }

    [Theory]
    [Follows("allowed is a file that its owner alone can write. chmod go-w {path}")]
    [InlineData("Server:Tls:ClientAuthority", "664", "its group")]
    [InlineData("Server:Tls:ClientAuthority", "646", "everybody")]
    [InlineData("Server:Tls:ClientRevocations", "666", "everybody")]
    public void GivenTrustThatOthersCanWrite_WhenRead_ThenItIsRefusedByName(string setting, string mode, string who)
    {
        using var authority = TestAuthority.Create();
        File.WriteAllText(_directory["ca"], authority.Pem);
        File.WriteAllBytes(_directory["list"], authority.Revoke());
        Read("Server:Tls:Key", "600");
        _given =
        [
            .. _given, ("Server:Tls:ClientCertificates", "require"), ("Server:Tls:ClientAuthority", _directory["ca"]),
            ("Server:Tls:ClientRevocations", _directory["list"]),
        ];
        File.SetUnixFileMode(
            _given.Single(one => one.Setting == setting).Path, (UnixFileMode)Convert.ToInt32(mode, 8));
        ConfigurationException refused = Assert.Throws<ConfigurationException>(() => Given.Settings(_given));
        Assert.StartsWith($"{setting} is '{_directory.FullPath}", refused.Message, StringComparison.Ordinal);
        Assert.Contains($"which {who} can write ({mode})", refused.Message, StringComparison.Ordinal);
        Do(refused.Message[refused.Message.IndexOf("chmod go-w", StringComparison.Ordinal)..]);
        Assert.NotNull(Given.Settings(_given).Broker.Tls);
    }

    [Theory]
    [Follows("which {Others} can read and then pretend to be this broker. chmod {Mode} {Path} takes that away")]
    [InlineData("Server:Tls:Key", "644", "everybody on this machine")]
    [InlineData("Server:Tls:Key", "604", "everybody on this machine")]
    [InlineData("Server:Tls:Key", "640", "every member of its group")]
    [InlineData("Server:Tls:PasswordFile", "644", "everybody on this machine")]
    [InlineData("Server:Tls:Certificate", "640", "every member of its group")]
    [InlineData("Cluster:SecretFile", "640", "every member of its group")]
    [InlineData("Cluster:EtcdPasswordFile", "604", "everybody on this machine")]
    public void GivenAKeyThatOthersCanRead_WhenRead_ThenTheyAreToldOf(string setting, string mode, string who)
    {
        (string found, string path, string others, string advised) =
            Assert.Single(KeyFiles.FindReadable(Read(setting, mode)));
        Assert.Equal((setting, who), (found, others));
        Do($"chmod {advised} {path}");
        Assert.DoesNotContain(KeyFiles.FindReadable(Given.Settings(_given)), one => one.Others == who);
    }

    [Theory]
    [InlineData("600")]
    [InlineData("400")]
    public void GivenAKeyOfItsOwnerAlone_WhenReadThroughALink_ThenThereIsNothingToTell(string mode) =>
        Assert.Empty(KeyFiles.FindReadable(Read("Server:Tls:Key", mode)));

    public void Dispose() => _directory.Dispose();

    /// <summary>The options with TLS of which one file has these rights and the others are their owner's; the key is
    /// reached through a link.</summary>
    private ServerOptions Read(string setting, string mode)
    {
        using var authority = TestAuthority.Create();
        using TestCertificate certificate = authority.Sign();
        bool isPfx = setting != "Server:Tls:Key";
        if (isPfx)
            File.WriteAllBytes(_directory["s.cert"], certificate.Pfx("secret"));
        else
            File.WriteAllText(_directory["s.cert"], certificate.CertificatePem);
        File.WriteAllText(_directory["real.key"], certificate.KeyPem);
        File.WriteAllText(_directory["password"], "secret");
        File.CreateSymbolicLink(_directory["s.key"], _directory["real.key"]);
        File.WriteAllText(_directory["secret"], "of the cluster");
        File.WriteAllText(_directory["etcd"], "of etcd's user");
        (string Setting, string Path)[] files =
        [
            ("Server:Tls:Certificate", _directory["s.cert"]), ("Server:Tls:Key", _directory["s.key"]),
            ("Server:Tls:PasswordFile", _directory["password"]),
            ("Cluster:SecretFile", _directory["secret"]), ("Cluster:EtcdPasswordFile", _directory["etcd"]),
        ];
        foreach ((string one, string path) in files)
            File.SetUnixFileMode(path, (UnixFileMode)Convert.ToInt32(one == setting ? mode : "600", 8));
        string needless = isPfx ? "Server:Tls:Key" : "Server:Tls:PasswordFile";
        _given = [.. files.Where(one => one.Setting != needless)];
        return Given.Settings(_given);
    }

    /// <summary>Runs what a message says.</summary>
    private static void Do(string command)
    {
        string[] words = command.Split(' ');
        using var run = Process.Start(words[0], words[1..]);
        run.WaitForExit();
        Assert.Equal(0, run.ExitCode);
    }
}
