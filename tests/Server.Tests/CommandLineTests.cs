using EQueue.Server.Configuration;
using EQueue.Support;

namespace EQueue.Server.Tests;

public sealed class CommandLineTests
{
    [Fact]
    public void GivenShortAndLongFlags_WhenParsed_ThenEachSetsItsKey()
    {
        var parsed = CommandLine.Parse(
            ["--data", "/d", "--listen=h:1", "--admin", "none", "--flush", "async", "--topics:queuecount", "8"]);
        Assert.Equal(CommandMode.Serve, parsed.Mode);
        Assert.Equal("/d", parsed.Values["EQueue:Server:DataDirectory"]);
        Assert.Equal("h:1", parsed.Values["EQueue:Server:Listen"]);
        Assert.Equal("none", parsed.Values["EQueue:Server:AdminListen"]);
        Assert.Equal("async", parsed.Values["EQueue:Store:FlushPolicy"]);
        Assert.Equal("8", parsed.Values["EQueue:Topics:QueueCount"]);
    }

    [Theory]
    [InlineData("--check-config", CommandMode.CheckConfiguration)]
    [InlineData("--version", CommandMode.Version)]
    [InlineData("--help", CommandMode.Help)]
    [InlineData("-h", CommandMode.Help)]
    public void GivenAFlagThatOnlyAsks_WhenParsed_ThenNothingIsServed(string flag, object mode)
        => Assert.Equal(mode, CommandLine.Parse(["--data", "/d", flag]).Mode);

    [Theory]
    [InlineData("--nope", "1")]
    [InlineData("data", "/d")]
    [InlineData("--Store:Nope", "1")]
    [InlineData("-x", "1")]
    public void GivenAnUnknownFlag_WhenParsed_ThenItIsRefusedByName(string flag, string value)
    {
        ConfigurationException refused = Assert.Throws<ConfigurationException>(() => CommandLine.Parse([flag, value]));
        Assert.Contains(flag, refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void GivenAFlagWithoutItsValue_WhenParsed_ThenItIsRefused()
    {
        Assert.Throws<ConfigurationException>(() => CommandLine.Parse(["--data"]));
        Assert.Throws<ConfigurationException>(() => CommandLine.Parse(["--data="]));
    }

    [Fact]
    public void GivenAFlagTwice_WhenParsed_ThenItIsRefused()
        => Assert.Throws<ConfigurationException>(() => CommandLine.Parse(["--data", "/a", "--Server:DataDirectory", "/b"]));

    [Fact]
    public void GivenASerilogSetting_WhenParsed_ThenItGoesToItsOwnSection()
        => Assert.Equal("Debug", CommandLine.Parse(["--Serilog:MinimumLevel:Default", "Debug"])
            .Values["Serilog:MinimumLevel:Default"]);

    [Fact]
    public void GivenAFile_WhenParsed_ThenItTakesThePlaceOfTheCurrentDirectorysAndMustBeThere()
    {
        using var directory = new TempDirectory();
        var parsed = CommandLine.Parse(["--config", directory["mine.json"]]);
        Assert.Equal(directory["mine.json"], SettingsSource.FilesOf(parsed)[1]);
        Assert.Equal(2, SettingsSource.FilesOf(parsed).Count);
        ConfigurationException missing = Assert.Throws<ConfigurationException>(() => SettingsSource.Load(parsed));
        Assert.Contains($"--config is '{directory["mine.json"]}'", missing.Message, StringComparison.Ordinal);

        File.WriteAllText(directory["mine.json"], "{ \"EQueue\": { \"Limits\": { \"MaxTopics\": \"9\" } } }");
        Assert.Equal("9", SettingsSource.Load(parsed)["EQueue:Limits:MaxTopics"]);
        Assert.Throws<ConfigurationException>(() => CommandLine.Parse(["--config", "/a", "--config=/b"]));
    }
}
