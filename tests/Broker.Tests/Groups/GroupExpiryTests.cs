using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Broker.Tests.Groups;

public sealed class GroupExpiryTests
{
    private static readonly TimeSpan Retention = TimeSpan.FromHours(2);
    private static readonly TimeSpan Minute = TimeSpan.FromMinutes(1);

    private readonly ManualTime _time = new();

    [Fact]
    [EffectOf("Groups:OffsetRetention")]
    public async Task GivenGroupsWithoutMembers_WhenTheirLastSignIsTooOld_ThenTheyGoForEver()
    {
        await using TestBroker broker = await StartAsync(Retention);
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] queues = [.. (await peer.CreateTopicAsync("orders", 2)).Queues.Select(queue => queue.Id)];
        await CommitAsync(peer, "old", queues[0]);
        await CommitAsync(peer, "young", queues[0]);
        await peer.InvokeAsync(Join("live"));
        var gone = Guid.NewGuid();
        await peer.InvokeAsync(Join("left", gone));
        await CommitAsync(peer, "old", queues[1]);
        _time.Jump(Retention - Minute);
        await CommitAsync(peer, "young", queues[1]);
        await peer.InvokeAsync(Join("left", gone) with { Sequence = 2 });
        await peer.InvokeAsync(new GroupLeaveRequest("left", gone, false));
        Assert.Equal(["live", "old", "young"], await ListAsync(peer));

        _time.Jump(2 * Minute);
        await Eventually.TrueAsync(async () => await peer.FigureAsync("broker.groupsExpired") == 1);
        Assert.Equal(["live", "young"], await ListAsync(peer));
        _time.Jump(Retention);
        await Eventually.TrueAsync(async () => await peer.FigureAsync("broker.groupsExpired") == 2);
        Assert.Equal(["live"], await ListAsync(peer));

        await using TestBroker again = await broker.StartFromCopyAsync();
        await using TestPeer asking = await again.ConnectAsync();
        Assert.Equal(["live"], await ListAsync(asking));
    }

    [Fact]
    public async Task GivenAWallClockThatWasSet_WhenAnHourHasRun_ThenGroupsExpireAgain()
    {
        await using TestBroker broker = await StartAsync(Retention);
        await using TestPeer peer = await broker.ConnectAsync();
        await CommitAsync(peer, "old", (await peer.CreateTopicAsync("orders")).Queues[0].Id);
        _time.SetWallClock(TimeSpan.FromDays(1));
        Assert.Equal(["old"], await ListAsync(peer));
        await Eventually.TrueAsync(async () =>
        {
            _time.Jump(TimeSpan.FromMinutes(10));
            return await peer.FigureAsync("broker.groupsExpired") == 1;
        });
    }

    [Theory]
    [InlineData(61)]
    [InlineData(-61)]
    [InlineData(86_400)]
    public void GivenAStepOfTheWallClock_WhenLookedAt_ThenItIsNotTrustedForAnHourOfRunningTime(int seconds)
    {
        var clock = new WallClock(_time, NullLogger.Instance);
        _time.Jump(TimeSpan.FromDays(3));
        Assert.True(clock.IsTrusted(out TimeSpan step));
        Assert.Equal(TimeSpan.Zero, step);

        _time.SetWallClock(TimeSpan.FromSeconds(seconds));
        Assert.False(clock.IsTrusted(out step));
        Assert.InRange(Math.Abs(step.TotalSeconds - seconds), 0, 0.9);
        _time.Jump(TimeSpan.FromMinutes(50));
        Assert.False(clock.IsTrusted(out step));
        Assert.Equal(TimeSpan.Zero, step);
        _time.Jump(TimeSpan.FromMinutes(11));
        Assert.True(clock.IsTrusted(out _));
    }

    [Fact]
    public void GivenAClockThatIsSlewed_WhenLookedAtEachMinute_ThenItStaysTrusted()
    {
        var clock = new WallClock(_time, NullLogger.Instance);
        for (int i = 0; i < 100; i++)
        {
            _time.Jump(Minute);
            _time.SetWallClock(TimeSpan.FromSeconds(-30));
            Assert.True(clock.IsTrusted(out _));
        }
    }

    private static GroupHeartbeatRequest Join(string group, Guid? member = null) => new()
    {
        Group = group,
        Member = member ?? Guid.NewGuid(),
        Sequence = 1,
        SessionTimeout = TimeSpan.FromMinutes(30),
        Subscriptions = [new TopicSubscription("orders", [])],
    };

    private static Task<CommitOffsetsResponse> CommitAsync(TestPeer peer, string group, QueueId queue) =>
        peer.InvokeAsync(new CommitOffsetsRequest(
            group,
            Guid.Empty,
            [new OffsetCommit(new QueueKey(0, queue), GroupGeneration.None, new QueueOffset(0), -1, null)]));

    private static async Task<string[]> ListAsync(TestPeer peer) =>
        [.. (await peer.InvokeAsync(new ListGroupsRequest(null, 100))).Groups.Select(group => group.Group)];

    private Task<TestBroker> StartAsync(TimeSpan retention)
    {
        BrokerOptions options = TestBroker.SmallOptions();
        return TestBroker.StartAsync(
            options with
            {
                Groups = options.Groups with
                {
                    OffsetRetention = retention,
                    ExpiryInterval = TimeSpan.FromMilliseconds(100),
                },
            },
            _time);
    }
}
