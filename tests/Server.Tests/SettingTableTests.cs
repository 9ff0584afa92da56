using EQueue.Server.Configuration;
using Microsoft.Extensions.Configuration;

namespace EQueue.Server.Tests;

/// <summary>Every setting, one by one: its default, a value it takes, and one that it refuses.</summary>
public sealed class SettingTableTests
{
    /// <summary>Key, default, a value that is taken as it is shown, and one that is refused (null: every text is a
    /// path, or what is refused is told with its own reason).</summary>
    private static readonly (string Key, string Usual, string Taken, string? Refused)[] Table =
    [
        ("Server:Listen", "127.0.0.1:9490", "[::1]:1", "1"),
        ("Server:AdminListen", "127.0.0.1:9491", "none", "nowhere"),
        ("Server:AllowUnauthenticatedRemoteAccess", "false", "true", "1"),
        ("Server:AllowUnauthenticatedLocalAccess", "false", "true", "yes"),
        ("Server:DataDirectory", Path.GetFullPath("data"), "/d", null),
        ("Server:Tls:Certificate", "none", "none", null),
        ("Server:Tls:Key", "none", "none", null),
        ("Server:Tls:PasswordFile", "none", "none", null),
        ("Server:Tls:ClientCertificates", "none", "none", "some"),
        ("Server:Tls:ClientAuthority", "none", "none", null),
        ("Server:Tls:ClientRevocations", "none", "none", null),
        ("Admin:MaxBodyBytes", "8388608", "1024", "1023"),
        ("Admin:MaxRequests", "32", "10000", "0"),
        ("Admin:MaxStreams", "16", "0", "1001"),
        ("Admin:RequestTimeout", "00:00:30", "00:10:00", "999ms"),
        ("Security:Superusers", "none", "user:alice,cert:ops.example,local:1000", "user:alice,anonymous"),
        ("Security:CertificateMapping", "default", "cn:*.ops -> user:$1", null),
        ("Security:MaxLoginsAtOnce", "64", "10000", "0"),
        ("Security:AuditFile", "audit.jsonl", "none", null),
        ("Security:AuditFiles", "10", "1000", "1"),
        ("Store:FlushPolicy", "sync", "async", "both"),
        ("Store:FlushInterval", "00:00:00.1000000", "01:00:00", "0.5ms"),
        ("Store:SegmentSizeBytes", "536870912", "1073741824", "65535"),
        ("Store:TailMemoryBytes", "33554432", "1073741824", "32767"),
        ("Store:PageCacheBytes", "268435456", "0", "-1"),
        ("Store:MaxLogBytes", "0", "9000000000", "all"),
        ("Store:AcceptClock", "false", "true", "1"),
        ("Store:AcceptLostState", "false", "true", "yes"),
        ("Store:ColdReadBytesPerSecond", "67108864", "1048576", "1048575"),
        ("Store:PackBytesPerSecond", "33554432", "65536", "65535"),
        ("Store:ScrubBytesPerSecond", "4194304", "0", "1"),
        ("Store:ScrubInterval", "1.00:00:00", "30.00:00:00", "0.5s"),
        ("Store:Memory", "false", "134217728", "1048575"),
        ("Store:MemoryFull", "reject", "reject", "wait"),
        ("Store:Logs", "1", "1", "0"),
        ("Limits:MaxMessageBytes", "4194304", "1024", "1023"),
        ("Limits:MaxDecompressedBytes", "33554432", "0", "67108865"),
        ("Limits:MaxConnections", "18000", "1000000", "1000001"),
        ("Limits:LocalConnections", "64", "0", "100001"),
        ("Limits:MaxConnectionsPerAddress", "0", "1000000", "1000001"),
        ("Limits:HelloTimeout", "00:00:10", "00:10:00", "99ms"),
        ("Limits:MinReceiveRate", "16384", "0", "1073741825"),
        ("Limits:ReceiveBytes", "1073741824", "16777216", "16777215"),
        ("Limits:MemoryBytes", "536870912", "16777216", "16777215"),
        ("Limits:RequestBytes", "268435456", "4194304", "4194303"),
        ("Limits:AdminBytes", "268435456", "4194304", "4194303"),
        ("Limits:ParkedBytes", "268435456", "1048576", "1048575"),
        ("Limits:FetchSessionBytes", "268435456", "1048576", "1048575"),
        ("Limits:MemberBytes", "268435456", "1048576", "1048575"),
        ("Limits:ProducerBytes", "268435456", "65536", "65535"),
        ("Limits:SecurityBytes", "134217728", "65536", "65535"),
        ("Limits:MaxSubscriptionBytes", "1048576", "4096", "4095"),
        ("Limits:ProgressBytes", "536870912", "1048576", "1048575"),
        ("Limits:MaxProgressBytesPerGroup", "67108864", "65536", "65535"),
        ("Limits:MaxTopics", "50000", "1", "0"),
        ("Limits:MaxQueues", "200000", "10000000", "10000001"),
        ("Limits:MaxQueuesPerTopic", "10000", "20000", "20001"),
        ("Limits:MaxGroups", "100000", "1", "0"),
        ("Limits:MaxMembersPerGroup", "1000", "100000", "100001"),
        ("Limits:MaxMembers", "100000", "1", "0"),
        ("Limits:MaxQuotas", "10000", "1", "0"),
        ("Limits:MaxRequestsInFlight", "8192", "16", "15"),
        ("Limits:MaxFetchSessionsPerConnection", "16", "1000", "1001"),
        ("Limits:MaxParkedFetches", "100000", "1", "0"),
        ("Limits:MaxFetchBytes", "8388608", "65536", "65535"),
        ("Limits:MaxFetchWait", "00:01:00", "01:00:00", "61m"),
        ("Limits:MaxProduceWait", "00:00:30", "01:00:00", "61m"),
        ("Limits:MaxBacklogWait", "00:10:00", "1.00:00:00", "25h"),
        ("Topics:AutoCreate", "true", "false", "maybe"),
        ("Topics:QueueCount", "4", "10000", "10001"),
        ("Topics:RetentionAge", "7.00:00:00", "00:00:00", "36501d"),
        ("Topics:RetentionBytes", "0", "1", "1 MB"),
        ("Topics:RetentionInterval", "00:00:10", "01:00:00", "61m"),
        ("Groups:ReconnectGrace", "00:00:01", "00:01:00", "2m"),
        ("Groups:SettleWindow", "00:00:03", "00:00:00", "-1s"),
        ("Groups:OffsetRetention", "30.00:00:00", "10000.00:00:00", "10001d"),
        ("Groups:ExpiryInterval", "00:01:00", "01:00:00", "2h"),
        ("Cluster:Node", "none", "broker-a", "broker a"),
        ("Cluster:Name", "equeue", "shop_2.test", "shop/2"),
        ("Cluster:Etcd", "http://127.0.0.1:2379", "http://a:2379,https://[::1]:2379", "http://a:2379,b:2379"),
        ("Cluster:EtcdUser", "none", "equeue", null),
        ("Cluster:EtcdPasswordFile", "none", "/etcd", null),
        ("Cluster:EtcdCertificateAuthority", "none", "/etcd.pem", null),
        ("Cluster:AdvertisedAddress", "none", "broker-a:9490", "broker-a:0"),
        ("Cluster:SecretFile", "none", "/secret", null),
        ("Cluster:CertificateAuthority", "none", "/ca.pem", null),
        ("Telemetry:MaxSeries", "100", "0", "-1"),
        ("Telemetry:OtlpEndpoint", "none", "http://c:4317/", "c"),
        ("Telemetry:GroupInterval", "00:00:10", "01:00:00", "2h"),
    ];

    public static TheoryData<string> Keys => [.. Settings.All.Select(setting => setting.Key)];

    [Theory]
    [MemberData(nameof(Keys))]
    public void GivenASetting_WhenLeftOutSetAndSetWrongly_ThenItsDefaultItsValueAndItsRangeAreTold(string key)
    {
        (_, string usual, string taken, string? refused) = Assert.Single(Table, one => one.Key == key);
        Setting setting = Settings.Find(key)!;
        Assert.Equal(usual, setting.Show(Given.Settings()));
        Assert.Equal(taken, setting.Show(Given.Settings((key, taken))));
        if (refused is null)
            return;
        string message = Assert.Throws<ConfigurationException>(() => Given.Settings((key, refused))).Message;
        Assert.Equal($"{key} is '{refused}': allowed is {setting.Allowed}.", message);
    }

    [Theory]
    [InlineData("Serilog:MinimumLevel", "Loud")]
    [InlineData("Serilog:MinimumLevel:Default", "2")]
    [InlineData("Serilog:MinimumLevel:Override:EQueue.Broker", "Off")]
    public void GivenALevelThatIsNone_WhenRead_ThenTheMessageNamesThoseThatThereAre(string key, string value)
    {
        ConfigurationException refused =
            Assert.Throws<ConfigurationException>(() => SettingsSource.Read(new ConfigurationBuilder()
            .AddInMemoryCollection([new(key, value)]).Build()));
        Assert.Equal(
            $"{key} is '{value}': allowed is Verbose, Debug, Information, Warning, Error, Fatal.", refused.Message);
    }
}
