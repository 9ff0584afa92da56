using EQueue.Server.Configuration;
using EQueue.Server.Services;

namespace EQueue.Server.Tests.Services;

public sealed class ServiceRequestTests
{
    [Fact]
    public void GivenEveryOption_WhenParsed_ThenEachSetsItsPart()
    {
        var request = ServiceRequest.Parse(
        [
            "install", "--user", "mq", "--data=/srv/mq/", "--logs", "/srv/log", "--config", "/etc/mq.json",
            "--unit-dir", "/run/systemd/system", "--dry-run",
        ]);
        Assert.Equal(
            new ServiceRequest
            {
                IsInstall = true,
                IsDryRun = true,
                User = "mq",
                DataDirectory = "/srv/mq",
                LogDirectory = "/srv/log",
                ConfigFile = "/etc/mq.json",
                UnitDirectory = "/run/systemd/system",
            },
            request);
        Assert.False(ServiceRequest.Parse(["uninstall"]).IsInstall);
        Assert.True(ServiceRequest.Parse(["uninstall", "--help"]).IsHelp);
    }

    [Theory]
    [InlineData("--nope", "install", "--nope", "1")]
    [InlineData("--listen", "install", "--listen", "1")]
    [InlineData("--data", "uninstall", "--data", "/srv/mq")]
    [InlineData("--dry-run", "install", "--dry-run=1")]
    [InlineData("--data needs a value", "install", "--data")]
    [InlineData("--user needs a value", "install", "--user=")]
    [InlineData("--dry-run is given twice", "install", "--dry-run", "--dry-run")]
    [InlineData("--user is '9lives'", "install", "--user", "9lives")]
    [InlineData("--user is 'a b'", "install", "--user", "a b")]
    [InlineData("--data is '/a\nUser=root'", "install", "--data", "/a\nUser=root")]
    public void GivenAnOptionThatIsNotUnderstood_WhenParsed_ThenItIsRefusedByName(
        string named, params string[] arguments)
    {
        ConfigurationException refused = Assert.Throws<ConfigurationException>(() => ServiceRequest.Parse(arguments));
        Assert.Contains(named, refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void GivenOtherArguments_WhenAskedWhetherAServiceIsMeant_ThenItIsNot()
    {
        Assert.True(ServiceRequest.IsMeantBy(["install"]));
        Assert.True(ServiceRequest.IsMeantBy(["uninstall", "--dry-run"]));
        Assert.False(ServiceRequest.IsMeantBy([]));
        Assert.False(ServiceRequest.IsMeantBy(["--data", "install"]));
    }
}
