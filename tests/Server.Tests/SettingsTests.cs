using System.Globalization;
using EQueue.MessageStore;
using EQueue.Remoting;
using EQueue.Server.Configuration;
using EQueue.Support;

namespace EQueue.Server.Tests;

public sealed class SettingsTests
{
    [Fact]
    public void GivenNoSettings_WhenRead_ThenTheContractsDefaultsHold()
    {
        ServerOptions options = Given.Settings();
        Assert.Equal("127.0.0.1:9490", options.Broker.Listen);
        Assert.Equal("127.0.0.1:9491", options.AdminListen);
        Assert.Equal(Path.GetFullPath("data"), options.Broker.DataDirectory);
        Assert.Equal(FlushPolicy.Sync, options.Broker.Store.FlushPolicy);
        Assert.Equal(TimeSpan.FromMilliseconds(100), options.Broker.Store.FlushInterval);
        Assert.Equal(4 << 20, options.Broker.Limits.MaxMessageBytes);
        Assert.True(options.Broker.Topics.AutoCreate);
        Assert.Equal(4, options.Broker.Topics.QueueCount);
        Assert.Equal(TimeSpan.FromDays(7), options.Broker.Topics.RetentionAge);
    }

    [Fact]
    public void GivenEverySetting_WhenRead_ThenEachReachesItsOption()
    {
        ServerOptions options = Given.Settings(
            ("Server:Listen", "[::1]:0"), ("Server:AdminListen", "none"), ("Server:DataDirectory", "/tmp/x"),
            ("Store:FlushPolicy", "ASYNC"), ("Store:FlushInterval", "50ms"), ("Store:SegmentSizeBytes", "134217728"),
            ("Store:TailMemoryBytes", "67108864"), ("Store:PageCacheBytes", "0"),
            ("Store:ScrubBytesPerSecond", "1000000"), ("Store:ScrubInterval", "7d"),
            ("Store:Memory", "67108864"), ("Store:MemoryFull", "Block"), ("Store:Logs", "1"),
            ("Store:AcceptClock", "true"), ("Store:AcceptLostState", "true"),
            ("Limits:MaxMessageBytes", "8000000"), ("Limits:MaxConnections", "7"), ("Limits:MemoryBytes", "33554432"),
            ("Limits:MaxDecompressedBytes", "1000000"),
            ("Limits:ReceiveBytes", "33554433"), ("Limits:ParkedBytes", "33554434"), ("Limits:MaxBacklogWait", "90s"),
            ("Topics:AutoCreate", "false"), ("Topics:QueueCount", "9"), ("Topics:RetentionAge", "2d"),
            ("Topics:RetentionBytes", "123"), ("Groups:ReconnectGrace", "2s"), ("Groups:SettleWindow", "0ms"),
            ("Groups:OffsetRetention", "3d"), ("Groups:ExpiryInterval", "5s"),
            ("Telemetry:MaxSeries", "7"), ("Telemetry:GroupInterval", "1s"),
            ("Telemetry:OtlpEndpoint", "http://collector:4317"));
        Assert.Equal("[::1]:0", options.Broker.Listen);
        Assert.Equal(1000000, options.Broker.Limits.MaxDecompressedBytes);
        Assert.Equal(33554433, options.Broker.Limits.ReceiveBytes);
        Assert.Equal(33554434, options.Broker.Limits.ParkedBytes);
        Assert.Equal(TimeSpan.FromSeconds(90), options.Broker.Limits.MaxBacklogWait);
        Assert.False(options.HasAdmin);
        Assert.Equal("/tmp/x", options.Broker.DataDirectory);
        Assert.Equal(FlushPolicy.Async, options.Broker.Store.FlushPolicy);
        Assert.Equal(TimeSpan.FromMilliseconds(50), options.Broker.Store.FlushInterval);
        Assert.Equal(134217728, options.Broker.Store.SegmentSizeBytes);
        Assert.Equal(67108864, options.Broker.Store.TailMemoryBytes);
        Assert.Equal(0, options.Broker.Store.PageCacheBytes);
        Assert.Equal(1000000, options.Broker.Store.ScrubBytesPerSecond);
        Assert.Equal(TimeSpan.FromDays(7), options.Broker.Store.ScrubInterval);
        Assert.Equal(67108864, Assert.IsType<MemoryDisk>(options.Broker.Store.Disk).LimitBytes);
        Assert.Equal(MemoryFull.Block, options.Broker.Store.MemoryFull);
        Assert.True(options.Broker.Store.AcceptClock);
        Assert.True(options.Broker.Store.AcceptLostState);
        Assert.Equal(8000000, options.Broker.Limits.MaxMessageBytes);
        Assert.InRange(options.Broker.Store.MaxBatchBytes, 8000000 + (64 << 10), int.MaxValue);
        Assert.Equal(7, options.Broker.Limits.MaxConnections);
        Assert.Equal(33554432, options.Broker.Limits.MemoryBytes);
        Assert.False(options.Broker.Topics.AutoCreate);
        Assert.Equal(9, options.Broker.Topics.QueueCount);
        Assert.Equal(TimeSpan.FromDays(2), options.Broker.Topics.RetentionAge);
        Assert.Equal(123, options.Broker.Topics.RetentionBytes);
        Assert.Equal(
            (TimeSpan.FromSeconds(2), TimeSpan.Zero),
            (options.Broker.Groups.ReconnectGrace, options.Broker.Groups.SettleWindow));
        Assert.Equal(
            (TimeSpan.FromDays(3), TimeSpan.FromSeconds(5)),
            (options.Broker.Groups.OffsetRetention, options.Broker.Groups.ExpiryInterval));
        Assert.Equal(
            (7, TimeSpan.FromSeconds(1)),
            (options.Broker.Telemetry.MaxSeries, options.Broker.Telemetry.GroupInterval));
        Assert.Equal(new Uri("http://collector:4317"), options.OtlpEndpoint);
    }

    [Theory]
    [EffectOf("Store:Logs")]
    [InlineData("Server:Listen", "9490")]
    [InlineData("Server:Listen", "localhost:65536")]
    [InlineData("Server:Listen", "::1:9490")]
    [InlineData("Server:Listen", "127.0.0.1:9490,9491")]
    [InlineData("Server:Listen", ",")]
    [InlineData("Server:Listen", "unix:equeue.sock")]
    [InlineData("Server:AdminListen", "unix:/run/equeue.sock")]
    [InlineData("Server:AdminListen", "off")]
    [InlineData("Store:FlushPolicy", "sometimes")]
    [InlineData("Store:FlushInterval", "0ms")]
    [InlineData("Store:FlushInterval", "100")]
    [InlineData("Store:FlushInterval", "-5s")]
    [InlineData("Store:SegmentSizeBytes", "1024")]
    [InlineData("Store:TailMemoryBytes", "2147483648")]
    [InlineData("Store:ScrubBytesPerSecond", "1000")]
    [InlineData("Store:ScrubBytesPerSecond", "off")]
    [InlineData("Store:ScrubInterval", "31d")]
    [InlineData("Store:Memory", "true")]
    [InlineData("Store:Memory", "1000")]
    [InlineData("Store:Memory", "64MB")]
    [InlineData("Store:MemoryFull", "drop")]
    [InlineData("Store:Logs", "2")]
    [InlineData("Limits:MaxMessageBytes", "12")]
    [InlineData("Limits:MaxMessageBytes", "1e6")]
    [InlineData("Limits:MaxConnections", "0")]
    [InlineData("Topics:AutoCreate", "yes")]
    [InlineData("Topics:QueueCount", "0")]
    [InlineData("Topics:RetentionAge", "long")]
    [InlineData("Topics:RetentionBytes", "-1")]
    [InlineData("Groups:ReconnectGrace", "61s")]
    [InlineData("Groups:SettleWindow", "2m")]
    [InlineData("Groups:OffsetRetention", "10001d")]
    [InlineData("Groups:ExpiryInterval", "99ms")]
    [InlineData("Telemetry:MaxSeries", "10001")]
    [InlineData("Telemetry:OtlpEndpoint", "collector:4317")]
    [InlineData("Telemetry:OtlpEndpoint", "ftp://collector")]
    [InlineData("Telemetry:GroupInterval", "99ms")]
    public void GivenAValueThatIsNotAllowed_WhenRead_ThenTheMessageNamesSettingValueAndRange(string key, string value)
    {
        ConfigurationException refused = Assert.Throws<ConfigurationException>(() => Given.Settings((key, value)));
        Assert.Contains(key, refused.Message, StringComparison.Ordinal);
        Assert.Contains($"'{value}'", refused.Message, StringComparison.Ordinal);
        Assert.Contains($"allowed is {Settings.Find(key)!.Allowed}", refused.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Store:FlushPolicie")]
    [InlineData("Listen")]
    [InlineData("Limits:MaxMessageBytes:Extra")]
    public void GivenAKeyThatDoesNotExist_WhenRead_ThenItIsRefusedByName(string key)
    {
        ConfigurationException refused = Assert.Throws<ConfigurationException>(() => Given.Settings((key, "1")));
        Assert.Contains($"EQueue:{key}", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    [Follows("allowed is at most {largest - Overhead} while")]
    public void GivenAMessageLimitBeyondTheTailMemory_WhenRead_ThenTheMessageNamesBothSettings()
    {
        ConfigurationException refused =
            Assert.Throws<ConfigurationException>(() => Given.Settings(("Store:TailMemoryBytes", "1048576")));
        Assert.Contains("Limits:MaxMessageBytes is '4194304'", refused.Message, StringComparison.Ordinal);
        Assert.Contains("Store:TailMemoryBytes is 1048576", refused.Message, StringComparison.Ordinal);
        ServerOptions smaller = Given.Settings(
            ("Store:TailMemoryBytes", "1048576"), ("Limits:MaxMessageBytes", "65536"));
        smaller.Broker.Validate();

        long most = long.Parse(
            refused.Message.Split("allowed is at most ")[1].Split(' ')[0], CultureInfo.InvariantCulture);
        Given.Settings(("Store:TailMemoryBytes", "1048576"), ("Limits:MaxMessageBytes", $"{most}")).Broker.Validate();
        Assert.Throws<ConfigurationException>(() => Given.Settings(
            ("Store:TailMemoryBytes", "1048576"), ("Limits:MaxMessageBytes", $"{most + 1}")));
    }

    [Fact]
    public void GivenTlsSettings_WhenRead_ThenEachReachesItsOption()
    {
        using var directory = new TempDirectory();
        using var authority = TestAuthority.Create();
        using TestCertificate certificate = authority.Sign();
        File.WriteAllText(directory["s.pem"], certificate.CertificatePem);
        File.WriteAllText(directory["s.key"], certificate.KeyPem);
        File.WriteAllText(directory["ca.pem"], authority.Pem);
        ServerTlsOptions tls = Given.Settings(
            ("Server:Tls:Certificate", directory["s.pem"]), ("Server:Tls:Key", directory["s.key"]),
            ("Server:Tls:ClientCertificates", "Require"), ("Server:Tls:ClientAuthority", directory["ca.pem"])).Broker.Tls!;
        Assert.Equal((directory["s.pem"], directory["s.key"]), (tls.Certificate, tls.Key));
        Assert.Equal(ClientCertificates.Require, tls.ClientCertificates);
        Assert.Equal(directory["ca.pem"], tls.ClientAuthority);
        File.WriteAllBytes(directory["s.pfx"], certificate.Pfx("secret"));
        File.WriteAllText(directory["password"], "secret");
        tls = Given.Settings(
            ("Server:Tls:Certificate", directory["s.pfx"]),
            ("Server:Tls:PasswordFile", directory["password"])).Broker.Tls!;
        Assert.Equal((directory["s.pfx"], directory["password"]), (tls.Certificate, tls.PasswordFile));
        Assert.Null(Given.Settings(
            ("Server:Tls:ClientCertificates", "none"), ("Server:Tls:Certificate", "none")).Broker.Tls);
    }

    [Theory]
    [InlineData("unix:/run/equeue.sock")]
    [InlineData("127.0.0.1:9490,unix:/run/equeue.sock")]
    [InlineData("[::]:9490, broker.example:0, unix:/run/a.sock, unix:/run/b.sock")]
    public void GivenSeveralAddressesToListenOn_WhenRead_ThenTheyReachTheBrokersOptions(string text)
    {
        ServerOptions options = Given.Settings(
            ("Server:Listen", text), ("Server:AllowUnauthenticatedRemoteAccess", "true"));
        Assert.Equal(text, options.Broker.Listen);
        options.Broker.Validate();
    }

    [Theory]
    [InlineData("Server:Tls:Certificate", "/nowhere/s.pem", "Server:Tls:Certificate is '/nowhere/s.pem': there is no")]
    [InlineData("Server:Tls:Key", "/nowhere/s.key", "Server:Tls:Certificate is not set")]
    [InlineData("Server:Tls:ClientCertificates", "require", "Server:Tls:Certificate is not set")]
    [InlineData("Server:Tls:ClientCertificates", "always", "is 'always': allowed is none, allow or require")]
    public void GivenTlsSettingsThatCannotBe_WhenRead_ThenTheMessageNamesThem(string key, string value, string message)
    {
        ConfigurationException refused = Assert.Throws<ConfigurationException>(() => Given.Settings((key, value)));
        Assert.Contains(message, refused.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("reject", MemoryFull.Reject)]
    [InlineData("block", MemoryFull.Block)]
    [InlineData("oldest-out", MemoryFull.OldestOut)]
    public void GivenAnAnswerForFullMemory_WhenRead_ThenTheStoreHasIt(string text, MemoryFull expected)
    {
        ServerOptions options = Given.Settings(("Store:Memory", "67108864"), ("Store:MemoryFull", text));
        Assert.Equal(expected, options.Broker.Store.MemoryFull);
        options.Broker.Validate();
    }

    [Theory]
    [InlineData("false")]
    [InlineData("0")]
    public void GivenMemoryTurnedOff_WhenRead_ThenTheDirectoryIsUsedAndBlockingIsRefused(string off)
    {
        Assert.Null(Given.Settings(("Store:Memory", off)).Broker.Store.Disk);
        ConfigurationException refused = Assert.Throws<ConfigurationException>(
            () => Given.Settings(("Store:Memory", off), ("Store:MemoryFull", "block")));
        Assert.Contains("MemoryFull", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void GivenAMemoryThatIsSmallForTheMessageLimit_WhenRead_ThenTheMessageNamesBothOrTheLimitFollows()
    {
        ConfigurationException refused =
            Assert.Throws<ConfigurationException>(() => Given.Settings(("Store:Memory", "16777216")));
        Assert.Contains("Limits:MaxMessageBytes is '4194304'", refused.Message, StringComparison.Ordinal);
        Assert.Contains("Store:Memory is 16777216", refused.Message, StringComparison.Ordinal);
        Given.Settings(("Store:Memory", "16777216"), ("Limits:MaxMessageBytes", "1048576")).Broker.Validate();
        Given.Settings(("Store:Memory", "67108864")).Broker.Validate();
    }

    [Theory]
    [InlineData("500ms", 500)]
    [InlineData("1.5s", 1_500)]
    [InlineData("2m", 120_000)]
    [InlineData("3h", 10_800_000)]
    [InlineData("1d", 86_400_000)]
    [InlineData("00:00:02.5", 2_500)]
    public void GivenADuration_WhenRead_ThenItsUnitIsUnderstood(string text, long milliseconds)
    {
        Assert.True(SettingKinds.TryReadDuration(text, out TimeSpan value));
        Assert.Equal(milliseconds, value.TotalMilliseconds);
    }

    [Fact]
    public void GivenTheSettings_WhenListed_ThenEachShowsWhatItReads()
    {
        ServerOptions options = Given.Settings();
        Assert.All(Settings.All, setting => Assert.NotNull(setting.Read(options, setting.Show(options))));
    }

    [Fact]
    public void GivenFileEnvironmentAndCommandLine_WhenLoaded_ThenTheLastOneWins()
    {
        const string Variable = "EQUEUE__Topics__QueueCount";
        string? before = Environment.GetEnvironmentVariable(Variable);
        try
        {
            Environment.SetEnvironmentVariable(Variable, "6");
            Assert.Equal(6, Load().Broker.Topics.QueueCount);
            Assert.Equal(8, Load("--Topics:QueueCount", "8").Broker.Topics.QueueCount);
        }
        finally
        {
            Environment.SetEnvironmentVariable(Variable, before);
        }
    }

    private static ServerOptions Load(params string[] arguments)
        => SettingsSource.Read(SettingsSource.Load(CommandLine.Parse(arguments)));
}
