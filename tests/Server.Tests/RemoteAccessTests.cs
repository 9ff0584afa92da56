using System.Text.RegularExpressions;
using EQueue.Server.Configuration;
using EQueue.Support;

namespace EQueue.Server.Tests;

/// <summary>No port is open beyond this machine by accident.</summary>
public sealed partial class RemoteAccessTests
{
    [Theory]
    [EffectOf("Server:AllowUnauthenticatedRemoteAccess")]
    [Follows("allowed is an address of this machine alone (127.0.0.1, [::1], localhost); {cure}set ")]
    [InlineData("Server:Listen", "0.0.0.0:9490")]
    [InlineData("Server:Listen", "[::]:9490")]
    [InlineData("Server:Listen", "10.0.0.7:9490")]
    [InlineData("Server:Listen", "127.0.0.1:9490,broker.example:9490")]
    [InlineData("Server:AdminListen", "0.0.0.0:9491")]
    [InlineData("Server:AdminListen", "broker.example:9491")]
    public void GivenAnAddressBeyondThisMachine_WhenRead_ThenItIsRefusedUnlessThatIsSaid(string key, string address)
    {
        ConfigurationException refused = Assert.Throws<ConfigurationException>(() => Given.Settings((key, address)));
        Assert.StartsWith($"{key} is '{address.Split(',')[^1]}'", refused.Message, StringComparison.Ordinal);
        Assert.Contains("Server:AllowUnauthenticatedRemoteAccess", refused.Message, StringComparison.Ordinal);
        Match advised = SetIt().Match(refused.Message);
        ServerOptions options = Given.Settings((key, address), (advised.Groups["key"].Value, advised.Groups["value"].Value));
        Assert.Single(RemoteAccess.FindOpen(options));
        string own = refused.Message.Split(" alone (")[1].Split(',')[0];
        Assert.Empty(RemoteAccess.FindOpen(Given.Settings((key, $"{own}:9490"))));
    }

    [Theory]
    [InlineData("Server:Listen", "127.0.0.1:9490,[::1]:9490,localhost:9490,127.8.8.8:0,unix:/run/equeue.sock")]
    [InlineData("Server:AdminListen", "localhost:9491")]
    [InlineData("Server:AdminListen", "none")]
    public void GivenAnAddressOfThisMachineAlone_WhenRead_ThenItIsTaken(string key, string address)
        => Assert.Empty(RemoteAccess.FindOpen(Given.Settings((key, address))));

    [Theory]
    [Follows("set Server:Tls:Certificate, so that peers can prove who they are, or ")]
    [InlineData("require")]
    [InlineData("allow")]
    [InlineData("none")]
    public void GivenTls_WhenThePortsAreBeyondThisMachine_ThenTheDataPortMayBeAndTheAdminPortNot(string asked)
    {
        using var directory = new TempDirectory();
        using var authority = TestAuthority.Create();
        using TestCertificate certificate = authority.Sign();
        File.WriteAllText(directory["s.pem"], certificate.CertificatePem);
        File.WriteAllText(directory["s.key"], certificate.KeyPem);
        File.WriteAllText(directory["ca.pem"], authority.Pem);
        (string, string)[] tls =
        [
            ("Server:Tls:Certificate", directory["s.pem"]), ("Server:Tls:Key", directory["s.key"]),
            ("Server:Tls:ClientCertificates", asked), ("Server:Listen", "0.0.0.0:9490"),
            .. asked == "none" ? [] : ((string, string)[])[("Server:Tls:ClientAuthority", directory["ca.pem"])],
        ];
        ServerOptions options = Given.Settings(tls);
        Assert.Equal("0.0.0.0:9490", options.Broker.Listen);
        Assert.Empty(RemoteAccess.FindOpen(options));
        ServerOptions open = Given.Settings([.. tls, ("Server:AllowUnauthenticatedRemoteAccess", "true")]);
        Assert.Equal(asked == "require" ? 0 : 1, RemoteAccess.FindOpen(open).Count());
        string advice = Assert.Throws<ConfigurationException>(
            () => Given.Settings(("Server:Listen", "0.0.0.0:9490"))).Message;
        Assert.Contains("set Server:Tls:Certificate, so that", advice, StringComparison.Ordinal);
        Assert.Throws<ConfigurationException>(() => Given.Settings([.. tls, ("Server:AdminListen", "0.0.0.0:9491")]));
    }

    [GeneratedRegex("set (?<key>Server:[A-Za-z]+) to (?<value>[a-z]+)")]
    private static partial Regex SetIt();
}
