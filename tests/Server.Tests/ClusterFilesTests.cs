using EQueue.Cluster;
using EQueue.Server.Configuration;
using EQueue.Support;

namespace EQueue.Server.Tests;

/// <summary>The settings of a node of a cluster that depend on each other, and the files that they name.</summary>
public sealed class ClusterFilesTests : IDisposable
{
    private const string Text = "text of a file";

    private readonly TempDirectory _directory = new();

    [Theory]
    [Follows("and there is no password: set Cluster:EtcdPasswordFile", "and there is no user: set Cluster:EtcdUser")]
    [InlineData("Cluster:EtcdUser", "Cluster:EtcdPasswordFile")]
    [InlineData("Cluster:EtcdPasswordFile", "Cluster:EtcdUser")]
    public void GivenAUserOfEtcdOrAPasswordAlone_WhenRead_ThenItIsRefused_UntilTheOtherIsSet(string given, string missing)
    {
        (string, string)[] settings = [Node, (given, ValueOf(given))];
        ConfigurationException refused = Assert.Throws<ConfigurationException>(() => Given.Settings(settings));
        Assert.StartsWith($"{given} is '{ValueOf(given)}'", refused.Message, StringComparison.Ordinal);
        Assert.EndsWith($": set {missing}.", refused.Message, StringComparison.Ordinal);
        Assert.True(Given.Settings([.. settings, (missing, ValueOf(missing))]).IsNode);
    }

    [Theory]
    [Follows("and any of them could be a node of the cluster: set ")]
    [InlineData("Server:Tls:Certificate")]
    [InlineData("Cluster:SecretFile")]
    [InlineData("Cluster:SecretFile and Server:Tls:Certificate")]
    public void GivenANodeThatOthersReach_WhenItHasNoSecretOrNoTls_ThenItIsRefused_UntilWhatIsNamedIsSet(string missing)
    {
        string[] needed = ["Cluster:SecretFile", "Server:Tls:Certificate"];
        (string, string)[] settings =
        [
            Node,
            ("Server:Listen", "127.0.0.1:0,0.0.0.0:9490"),
            // What opens a broker's port to strangers opens no cluster to them.
            ("Server:AllowUnauthenticatedRemoteAccess", "true"),
            .. needed.Where(one => !missing.Contains(one, StringComparison.Ordinal)).Select(one => (one, ValueOf(one))),
        ];
        ConfigurationException refused = Assert.Throws<ConfigurationException>(() => Given.Settings(settings));
        Assert.StartsWith("Server:Listen is '0.0.0.0:9490'", refused.Message, StringComparison.Ordinal);
        Assert.EndsWith($": set {missing}, or listen on 127.0.0.1 alone.", refused.Message, StringComparison.Ordinal);
        ServerOptions cured = Given.Settings(
            [.. settings, .. missing.Split(" and ").Select(one => (one, ValueOf(one)))]);
        ClusterFiles.Read(cured).Validate();
        Assert.True(Given.Settings([.. settings, ("Server:Listen", "127.0.0.1:9490")]).IsNode);
    }

    [Fact]
    public void GivenANodeThatKeepsNothingOnDisk_WhenRead_ThenItIsRefused()
    {
        ConfigurationException refused =
            Assert.Throws<ConfigurationException>(() => Given.Settings(Node, ("Store:Memory", "134217728")));
        Assert.StartsWith("Store:Memory is '134217728'", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void GivenNoNode_WhenTheOtherSettingsOfAClusterAreThere_ThenTheyDoNothing()
    {
        ServerOptions options = Given.Settings(("Cluster:EtcdUser", "equeue"), ("Store:Memory", "134217728"));
        Assert.False(options.IsNode);
    }

    [Theory]
    [InlineData("Cluster:SecretFile", null, "cannot be read")]
    [InlineData("Cluster:SecretFile", "\n", "is empty")]
    [InlineData("Cluster:EtcdPasswordFile", null, "cannot be read")]
    [InlineData("Cluster:EtcdPasswordFile", "", "is empty")]
    [InlineData("Cluster:CertificateAuthority", null, "there is no such file")]
    [InlineData("Cluster:CertificateAuthority", "no certificate", "it holds no certificate in PEM")]
    [InlineData("Cluster:EtcdCertificateAuthority", null, "there is no such file")]
    [InlineData("Cluster:EtcdCertificateAuthority", "no certificate", "it holds no certificate in PEM")]
    public void GivenAFileThatIsNotThereOrWrong_WhenItIsReadAtTheStart_ThenTheMessageNamesItsSetting(
        string setting, string? content, string why)
    {
        string path = _directory["file"];
        if (content is not null)
            File.WriteAllText(path, content);
        ConfigurationException refused = Assert.Throws<ConfigurationException>(() => ClusterFiles.Read(Given.Settings(
            Node, ("Server:Tls:Certificate", ValueOf("Server:Tls:Certificate")), ("Cluster:EtcdUser", "equeue"),
            ("Cluster:EtcdPasswordFile", ValueOf("Cluster:EtcdPasswordFile")), (setting, path))));
        Assert.StartsWith($"{setting} is '{path}'", refused.Message, StringComparison.Ordinal);
        Assert.Contains(why, refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    [Follows("which a node of a cluster uses: set Cluster:Node to that node's name, or choose another directory.")]
    public void GivenANodesDirectory_WhenASingleBrokerWantsIt_ThenItIsRefused_AndNotTheNodeNorAnotherDirectory()
    {
        Directory.CreateDirectory(Path.Combine(_directory["data"], "shards", "0"));
        (string, string) data = ("Server:DataDirectory", _directory["data"]);
        ConfigurationException refused =
            Assert.Throws<ConfigurationException>(() => ClusterFiles.CheckDirectory(Given.Settings(data)));
        Assert.StartsWith($"Server:DataDirectory is '{_directory["data"]}'", refused.Message, StringComparison.Ordinal);
        ServerOptions node = Given.Settings(data, Node);
        Assert.True(node.IsNode);
        ClusterFiles.CheckDirectory(Given.Settings(("Server:DataDirectory", _directory["other"])));
    }

    [Fact]
    public void GivenFilesThatEndWithALineBreak_WhenRead_ThenItIsNoPartOfSecretOrPassword()
    {
        ClusterOptions options = ClusterFiles.Read(Given.Settings(
            Node, ("Cluster:SecretFile", ValueOf("Cluster:SecretFile")), ("Cluster:EtcdUser", "equeue"),
            ("Cluster:EtcdPasswordFile", ValueOf("Cluster:EtcdPasswordFile"))));
        Assert.Equal((Text, Text, "equeue"), (options.Secret, options.EtcdPassword, options.EtcdUser));
        Assert.Null(options.PeerTls);
    }

    public void Dispose() => _directory.Dispose();

    private static (string, string) Node => ("Cluster:Node", "a");

    private string ValueOf(string setting)
    {
        if (setting == "Cluster:EtcdUser")
            return "equeue";
        string path = _directory[setting.Split(':')[^1]];
        if (File.Exists(path))
            return path;
        using var authority = TestAuthority.Create();
        using TestCertificate certificate = authority.Sign();
        File.WriteAllText(path, setting.EndsWith("File", StringComparison.Ordinal) ? $"{Text}\r\n" : certificate.Pem);
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(path, UnixFileMode.UserRead);
        return path;
    }
}
