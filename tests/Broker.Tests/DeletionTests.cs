using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>Nothing unread goes because a clock is wrong or others fill the disk; what goes is said.</summary>
public sealed class DeletionTests : IDisposable
{
    private const int Bodies = 10;

    private readonly ManualTime _time = new();
    private readonly CollectedLog _log = new();

    public void Dispose() => _log.Dispose();

    [Theory]
    [InlineData(8 * 24, 7 * 24)]
    [InlineData(3_650 * 24, 7 * 24)]
    [InlineData(-30 * 24, 7 * 24)]
    [InlineData(20, 6)]
    public async Task GivenUnreadMessages_WhenTheClockIsWrongForAMoment_ThenAllAreThereAndAWarningSaysWhy(
        int hours, int keptHours)
    {
        await using TestBroker broker = await StartAsync(SmallOptions());
        await using TestPeer peer = await broker.ConnectAsync();
        var settings = new TopicSettings { RetentionAge = TimeSpan.FromHours(keptHours) };
        QueueId queue = await FillAsync(peer, "orders", settings);
        await CommitAsync(peer, "billing", queue, 1);

        _time.SetWallClock(TimeSpan.FromHours(hours));
        await SeeRoundAsync(peer, "first");
        _time.SetWallClock(-TimeSpan.FromHours(hours));
        await SeeRoundAsync(peer, "second");

        Assert.Equal(0, await BeginAsync(peer, queue));
        Assert.Contains(_log.Lines, line => line.Id == 2210);
    }

    [Fact]
    public async Task GivenAStartFortyDaysLater_WhenRoundsCome_ThenMessagesAndGroupsStayForAnHour()
    {
        QueueId queue;
        TestBroker broker = await StartAsync(SmallOptions());
        await using (TestPeer peer = await broker.ConnectAsync())
        {
            queue = await FillAsync(peer, "orders", new TopicSettings { RetentionAge = TimeSpan.FromDays(7) });
            await CommitAsync(peer, "billing", queue, 1);
        }

        broker.OwnsDirectory = false;
        await broker.DisposeAsync();
        _time.SetWallClock(TimeSpan.FromDays(40));
        await using TestBroker again = await StartAsync(broker.Options);
        await using TestPeer asking = await again.ConnectAsync();

        await SeeRoundAsync(asking, "first");

        Assert.Equal(0, await BeginAsync(asking, queue));
        Assert.Equal(0, await asking.FigureAsync("broker.groupsExpired"));
        Assert.Contains(_log.Lines, line => line.Id == 2211);
        await Eventually.TrueAsync(async () =>
        {
            _time.Jump(TimeSpan.FromMinutes(10));
            return await BeginAsync(asking, queue) == Bodies && await asking.FigureAsync("broker.groupsExpired") == 1;
        });
    }

    [Theory]
    [InlineData(3_600_000, 40_000, 2_500)]
    [InlineData(800, 40_000, 10_000)]
    [InlineData(100, 40_000, 20_000)]
    [InlineData(3_600_000, 4_000, 1_000)]
    [InlineData(3_600_000, 800, 800)]
    public async Task GivenAllOfAQueueTooOldAtOnce_WhenARoundComes_ThenOnlyItsShareGoesAndTheRestInLaterOnes(
        int ageMs, int count, int expected)
    {
        await using TestBroker broker = await StartAsync(SmallOptions());
        await using TestPeer peer = await broker.ConnectAsync();
        TopicDescription made = await peer.InvokeAsync(new CreateTopicRequest(
            "orders", new TopicSettings { QueueCount = 1, RetentionAge = TimeSpan.Zero }));
        QueueId queue = made.Queues[0].Id;
        ProduceResult stored = await peer.ProduceAsync(queue, [.. Enumerable.Repeat("x", count)]);
        Assert.Equal(ErrorCode.None, stored.Error);
        _time.Jump(TimeSpan.FromHours(2));
        await peer.InvokeAsync(new AlterTopicRequest(
            "orders", new TopicSettings { RetentionAge = TimeSpan.FromMilliseconds(ageMs) }));

        await Eventually.TrueAsync(() => _log.CountOf(3170) == 1, "the first line");

        Assert.StartsWith(
            $"{expected} messages of topic orders, queue 0 went (Age)",
            Assert.Single(_log.Lines, line => line.Id == 3170).Text);
        await Eventually.TrueAsync(async () => await BeginAsync(peer, queue) == count, "all goes in the end");
    }

    [Fact]
    public async Task GivenOthersThatFillTheDisk_WhenRoundsCome_ThenNothingStoredGoesNorAfterARestart()
    {
        var disk = new FaultyDisk { FreeBytesLeft = 200 << 20 };
        BrokerOptions options = SmallOptions();
        options = options with { Store = options.Store with { Disk = disk, MaxLogBytes = null } };
        QueueId queue;
        TestBroker broker = await StartAsync(options);
        await using (TestPeer peer = await broker.ConnectAsync())
        {
            queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
            string body = new('x', 1 << 20);
            for (int i = 0; i < 40; i++)
                Assert.Equal(ErrorCode.None, (await peer.ProduceAsync(queue, body)).Error);

            disk.FreeBytesLeft = 1 << 20;
            await SeeRoundAsync(peer, "first");
            Assert.Equal(0, await BeginAsync(peer, queue));
        }

        broker.OwnsDirectory = false;
        await broker.DisposeAsync();
        await using TestBroker again = await StartAsync(options with { DataDirectory = broker.Options.DataDirectory });
        await using TestPeer asking = await again.ConnectAsync();
        await SeeRoundAsync(asking, "second");
        Assert.Equal(0, await BeginAsync(asking, queue));
    }

    [Fact]
    public async Task GivenAGroupThatIsBehind_WhenMessagesGo_ThenAWarningSaysWhichBeforeAndAfter()
    {
        await using TestBroker broker = await StartAsync(SmallOptions());
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = await FillAsync(peer, "orders", TopicSettings.None);
        await CommitAsync(peer, "billing", queue, 3);
        await peer.InvokeAsync(new AlterTopicRequest("orders", new TopicSettings { RetentionCount = 2 }));

        await Eventually.TrueAsync(() => _log.CountOf(3172) == 1, "the second warning");

        string before = Assert.Single(_log.Lines, line => line.Id == 3171).Text;
        string after = Assert.Single(_log.Lines, line => line.Id == 3172).Text;
        Assert.StartsWith("5 messages of topic orders, queue 0 that group billing has not read", before);
        Assert.StartsWith("5 messages of topic orders, queue 0 that group billing had not read", after);
        Assert.StartsWith(
            "8 messages of topic orders, queue 0 went (Count)",
            Assert.Single(_log.Lines, line => line.Id == 3170).Text);
    }

    [Fact]
    public async Task GivenAQueueThatLosesMoreAndMore_WhenAMinuteIsOverOrTheBrokerStops_ThenAllThatWentHasBeenTold()
    {
        TestBroker broker = await StartAsync(SmallOptions());
        await using (TestPeer peer = await broker.ConnectAsync())
        {
            QueueId queue = await FillAsync(peer, "orders", TopicSettings.None);
            await CommitAsync(peer, "billing", queue, 3);
            await peer.InvokeAsync(new AlterTopicRequest("orders", new TopicSettings { RetentionCount = 2 }));
            await Eventually.TrueAsync(() => _log.CountOf(3170) == 1, "the first line");

            await LoseAsync(4);
            await LoseAsync(1);
            Assert.Equal(1, _log.CountOf(3170));
            _time.Advance(TimeSpan.FromMinutes(1));
            await Eventually.TrueAsync(() => _log.CountOf(3172) == 2, "the second warning");
            Assert.StartsWith("5 messages of topic orders, queue 0 went", LastOf(3170));
            Assert.StartsWith("5 messages of topic orders, queue 0 that group billing had not read", LastOf(3172));

            await LoseAsync(3);
            Assert.Equal(2, _log.CountOf(3170));

            async Task LoseAsync(int count)
            {
                long begin = await BeginAsync(peer, queue);
                for (int i = 0; i < count; i++)
                    Assert.Equal(ErrorCode.None, (await peer.ProduceAsync(queue, "more")).Error);
                await Eventually.TrueAsync(async () => await BeginAsync(peer, queue) == begin + count, "they go");
            }
        }

        await broker.DisposeAsync();
        Assert.StartsWith("3 messages of topic orders, queue 0 went", LastOf(3170));
        Assert.StartsWith("3 messages of topic orders, queue 0 that group billing had not read", LastOf(3172));

        string LastOf(int id) => _log.Lines.Last(line => line.Id == id).Text;
    }

    private static BrokerOptions SmallOptions()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        return options with
        {
            Topics = options.Topics with { RetentionInterval = TimeSpan.FromMilliseconds(100) },
            Groups = options.Groups with
            {
                OffsetRetention = TimeSpan.FromDays(30),
                ExpiryInterval = TimeSpan.FromMilliseconds(100),
            },
        };
    }

    /// <summary>Returns when a whole round has run: it cut a topic that was filled before it began.</summary>
    private static async Task SeeRoundAsync(TestPeer peer, string witness)
    {
        for (int i = 0; i < 2; i++)
        {
            QueueId queue = await FillAsync(peer, $"{witness}-{i}", new TopicSettings { RetentionCount = 1 });
            await Eventually.TrueAsync(async () => await BeginAsync(peer, queue) == Bodies - 1);
        }
    }

    private static async Task<QueueId> FillAsync(TestPeer peer, string topic, TopicSettings settings)
    {
        TopicDescription made = await peer.InvokeAsync(
            new CreateTopicRequest(topic, settings with { QueueCount = 1 }));
        for (int i = 0; i < Bodies; i++)
            await peer.ProduceAsync(made.Queues[0].Id, $"message {i}");
        return made.Queues[0].Id;
    }

    private static Task<CommitOffsetsResponse> CommitAsync(TestPeer peer, string group, QueueId queue, long next) =>
        peer.InvokeAsync(new CommitOffsetsRequest(
            group,
            Guid.Empty,
            [new OffsetCommit(new QueueKey(0, queue), GroupGeneration.None, new QueueOffset(next), -1, null)]));

    private static async Task<long> BeginAsync(TestPeer peer, QueueId queue)
    {
        FindOffsetsResponse found = await peer.InvokeAsync(new FindOffsetsRequest(
            [new OffsetQuestion(new QueueKey(0, queue), OffsetQuestion.Begin)]));
        return found.Answers[0].Offset.Value;
    }

    private Task<TestBroker> StartAsync(BrokerOptions options) => TestBroker.StartAsync(options, _time, _log);
}
