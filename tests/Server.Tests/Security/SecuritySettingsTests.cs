using EQueue.Broker;
using EQueue.Server.Configuration;
using EQueue.Server.Security;
using EQueue.Support;

namespace EQueue.Server.Tests.Security;

/// <summary>Who is served without credentials, and where it is written what was done.</summary>
public sealed class SecuritySettingsTests
{
    [Theory]
    [EffectOf("Server:AllowUnauthenticatedLocalAccess")]
    [InlineData("false", "false", UnauthenticatedAccess.Owner)]
    [InlineData("true", "false", UnauthenticatedAccess.Local)]
    [InlineData("false", "true", UnauthenticatedAccess.Anywhere)]
    [InlineData("true", "true", UnauthenticatedAccess.Anywhere)]
    public void GivenWhoMayComeWithoutCredentials_WhenRead_ThenTheBrokerIsTold(
        string local, string remote, UnauthenticatedAccess served)
    {
        ServerOptions options = Given.Settings(
            ("Server:AllowUnauthenticatedLocalAccess", local), ("Server:AllowUnauthenticatedRemoteAccess", remote));
        Assert.Equal(served, options.Broker.Security.Unauthenticated);
        string told = IdentityNotice.Describe(served, owner: 1000);
        Assert.Equal(served == UnauthenticatedAccess.Local, told.Contains("AllowUnauthenticatedLocal", Ordinal));
        Assert.Equal(served == UnauthenticatedAccess.Anywhere, told.Contains("AllowUnauthenticatedRemote", Ordinal));
        if (served == UnauthenticatedAccess.Owner && OperatingSystem.IsLinux())
            Assert.Contains("1000", told, Ordinal);
    }

    [Fact]
    [EffectOf("Security:Superusers", "Security:MaxLoginsAtOnce")]
    public void GivenSuperusersAndABoundOfLogins_WhenRead_ThenTheBrokerHasThem()
    {
        SecurityOptions security = Given.Settings(
            ("Security:Superusers", "user:alice, cert:ops.example,local:1000"), ("Security:MaxLoginsAtOnce", "3"))
            .Broker.Security;
        Assert.Equal(["user:alice", "cert:ops.example", "local:1000"], security.Superusers);
        Assert.Equal(3, security.MaxLoginsAtOnce);
    }

    [Theory]
    [InlineData("anonymous")]
    [InlineData("owner")]
    [InlineData("*")]
    [InlineData("user:")]
    [InlineData("user:*")]
    [InlineData("local:me")]
    [InlineData("alice")]
    [InlineData("user:alice,,user:bob")]
    [InlineData("group:admins")]
    public void GivenSuperuserThatIsNoSinglePrincipal_WhenRead_ThenItIsRefused(string text)
    {
        string message = Assert.Throws<ConfigurationException>(
            () => Given.Settings(("Security:Superusers", text))).Message;
        Assert.StartsWith("Security:Superusers ", message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("cn:* -> owner", "leads to 'owner'")]
    [InlineData("cn:*", "is no rule")]
    public void GivenCertificateMappingThatCannotBeUsed_WhenRead_ThenItIsRefusedAndSaysWhichRuleAndWhy(
        string text, string reason)
    {
        string message = Assert.Throws<ConfigurationException>(
            () => Given.Settings(("Security:CertificateMapping", $"default; {text}"))).Message;
        Assert.StartsWith($"Security:CertificateMapping is 'default; {text}': '{text}' ", message, Ordinal);
        Assert.Contains(reason, message, Ordinal);
    }

    [Theory]
    [EffectOf("Security:AuditFile")]
    [InlineData("audit.jsonl", "false", "/d/audit.jsonl")]
    [InlineData("a/b.jsonl", "false", "/d/a/b.jsonl")]
    [InlineData("/var/log/e.jsonl", "false", "/var/log/e.jsonl")]
    [InlineData("/var/log/e.jsonl", "128MiB", "/var/log/e.jsonl")]
    [InlineData("audit.jsonl", "128MiB", null)]
    [InlineData("none", "false", null)]
    public void GivenAuditFile_WhenRead_ThenItIsBelowTheDataDirectoryUnlessThePathIsWhole(
        string file, string memory, string? path)
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "The paths are those of other systems.");
        Assert.Equal(
            path,
            Given.Settings(("Security:AuditFile", file), ("Server:DataDirectory", "/d"), ("Store:Memory", memory))
                .AuditPath);
    }

    private const StringComparison Ordinal = StringComparison.Ordinal;
}
