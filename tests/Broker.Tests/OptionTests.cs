using EQueue.MessageStore;

namespace EQueue.Broker.Tests;

public sealed class OptionTests
{
    public static TheoryData<string, BrokerOptions> Wrong
    {
        get
        {
            var good = new BrokerOptions();
            return new TheoryData<string, BrokerOptions>
            {
                { "Listen", good with { Listen = "nowhere" } },
                { "Listen", good with { Listen = "localhost:70000" } },
                { "Listen", good with { Listen = "" } },
                { "Listen", good with { Listen = "unix:relative" } },
                { "Listen", good with { Listen = "localhost:9490,nowhere" } },
                { "DataDirectory", good with { DataDirectory = " " } },
                { "DrainTimeout", good with { DrainTimeout = TimeSpan.FromHours(1) } },
                { "FlushInterval", good with { Store = good.Store with { FlushInterval = TimeSpan.Zero } } },
                { "Store.MaxBatchBytes", good with { Store = good.Store with { MaxBatchBytes = 4 << 20 } } },
                { "Limits.MaxMessageBytes", good with { Limits = new LimitOptions { MaxMessageBytes = 10 } } },
                { "Limits.MaxConnections", good with { Limits = new LimitOptions { MaxConnections = 0 } } },
                { "Limits.MemoryBytes", good with { Limits = new LimitOptions { MemoryBytes = 1 } } },
                { "Limits.MaxTopics", good with { Limits = new LimitOptions { MaxTopics = 0 } } },
                { "Limits.MaxQueues", good with { Limits = new LimitOptions { MaxQueues = 0 } } },
                { "Limits.MaxQueuesPerTopic", good with { Limits = new LimitOptions { MaxQueuesPerTopic = 0 } } },
                { "Limits.MaxGroups", good with { Limits = new LimitOptions { MaxGroups = 0 } } },
                { "Limits.MaxMembersPerGroup", good with { Limits = new LimitOptions { MaxMembersPerGroup = 0 } } },
                { "Limits.MaxMembers", good with { Limits = new LimitOptions { MaxMembers = 0 } } },
                { "Telemetry.MaxSeries", good with { Telemetry = new TelemetryOptions { MaxSeries = -1 } } },
                { "Telemetry.GroupInterval", good with { Telemetry = new TelemetryOptions { GroupInterval =
                    TimeSpan.FromHours(2) } } },
                { "Groups.ReconnectGrace", good with { Groups = new GroupOptions { ReconnectGrace =
                    TimeSpan.FromMinutes(2) } } },
                { "Groups.SettleWindow", good with { Groups = new GroupOptions { SettleWindow =
                    TimeSpan.FromSeconds(-1) } } },
                { "Groups.OffsetRetention", good with { Groups = new GroupOptions { OffsetRetention =
                    TimeSpan.FromSeconds(-1) } } },
                { "Groups.ExpiryInterval", good with { Groups = new GroupOptions { ExpiryInterval = TimeSpan.Zero } } },
                { "Limits.MaxParkedFetches", good with { Limits = new LimitOptions { MaxParkedFetches = 0 } } },
                { "Limits.MaxFetchSessionsPerConnection", good with { Limits =
                    new LimitOptions { MaxFetchSessionsPerConnection = 0 } } },
                { "Limits.MaxFetchBytes", good with { Limits = new LimitOptions { MaxFetchBytes = 1 } } },
                { "Limits.MaxFetchWait", good with { Limits = new LimitOptions { MaxFetchWait = TimeSpan.Zero } } },
                { "Limits.MaxRequestsInFlight", good with { Limits = new LimitOptions { MaxRequestsInFlight = 1 } } },
                { "Limits.MaxProduceWait", good with { Limits = new LimitOptions { MaxProduceWait = TimeSpan.Zero } } },
                { "Limits.MaxBacklogWait", good with { Limits = new LimitOptions { MaxBacklogWait = TimeSpan.Zero } } },
                { "Limits.ParkedBytes", good with { Limits = new LimitOptions { ParkedBytes = 1 } } },
                { "Topics.QueueCount", good with { Topics = new TopicOptions { QueueCount = 0 } } },
                { "Topics.QueueCount", good with { Limits = new LimitOptions { MaxQueues = 3 } } },
                { "Topics.RetentionAge", good with { Topics = new TopicOptions { RetentionAge =
                    TimeSpan.FromSeconds(-1) } } },
                { "Topics.RetentionBytes", good with { Topics = new TopicOptions { RetentionBytes = -1 } } },
            };
        }
    }

    [Fact]
    public void GivenNothingSet_WhenValidated_ThenItIsTheContract()
    {
        var options = new BrokerOptions();
        options.Validate();
        Assert.Equal(("127.0.0.1:9490", "./data"), (options.Listen, options.DataDirectory));
        Assert.Equal(FlushPolicy.Sync, options.Store.FlushPolicy);
        Assert.Equal((4 << 20, 18_000), (options.Limits.MaxMessageBytes, options.Limits.MaxConnections));
        Assert.Equal((true, 4), (options.Topics.AutoCreate, options.Topics.QueueCount));
        Assert.Equal((1_000, 100_000), (options.Limits.MaxMembersPerGroup, options.Limits.MaxMembers));
        Assert.Equal(
            (TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(3)),
            (options.Groups.ReconnectGrace, options.Groups.SettleWindow));
        Assert.Equal(
            (TimeSpan.FromDays(30), TimeSpan.FromMinutes(1)),
            (options.Groups.OffsetRetention, options.Groups.ExpiryInterval));
        Assert.Equal(TimeSpan.FromDays(7), options.Topics.RetentionAge);
    }

    [Theory]
    [MemberData(nameof(Wrong), DisableDiscoveryEnumeration = true)]
    public void GivenASettingOutOfRange_WhenValidated_ThenTheMessageNamesIt(string setting, BrokerOptions options)
    {
        ArgumentException exception = Assert.Throws<ArgumentException>(options.Validate);
        Assert.StartsWith(setting + " must be ", exception.Message, StringComparison.Ordinal);
        Assert.Contains("; found ", exception.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenASettingOutOfRange_WhenTheBrokerStarts_ThenItDoesNotTouchTheDisk()
    {
        BrokerOptions options = TestBroker.SmallOptions() with { Listen = "nowhere" };
        await Assert.ThrowsAsync<ArgumentException>(() => EQueueBroker.StartAsync(options));
        Assert.False(Directory.Exists(options.DataDirectory));
    }
}
