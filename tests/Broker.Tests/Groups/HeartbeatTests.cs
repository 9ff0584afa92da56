using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Groups;

/// <summary>Held heartbeats, over a socket.</summary>
public sealed class HeartbeatTests : IAsyncLifetime
{
    private readonly ManualTime _time = new();
    private readonly GroupCalls _one = new();
    private readonly GroupCalls _two = new();
    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private TestPeer _second = null!;

    public async ValueTask InitializeAsync()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        _broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { MaxMembersPerGroup = 3, MaxMembers = 4 } }, _time);
        _peer = await _broker.ConnectAsync("first");
        _second = await _broker.ConnectAsync("second");
        await _peer.CreateTopicAsync("orders", 2);
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _second.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenAParkedHeartbeat_WhenAnotherJoins_ThenItIsToldAtOnceWhatToRelease()
    {
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(_one.Join("orders"));
        Task<GroupHeartbeatResponse> parked = await ParkAsync(joined);
        await _second.InvokeAsync(_two.Join("orders"));
        GroupHeartbeatResponse news = await parked;
        Assert.Single(news.Queues());
        Assert.True(news.Generation > joined.Generation);
        Assert.Equal(TimeSpan.Zero, news.NextHeartbeat);
    }

    [Fact]
    public async Task GivenAParkedHeartbeat_WhenItsWaitIsOver_ThenItIsAnsweredWithoutNews()
    {
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(_one.Join("orders"));
        Task<GroupHeartbeatResponse> parked = await ParkAsync(joined);
        _time.Advance(GroupCalls.LongWait);
        GroupHeartbeatResponse answer = await parked;
        Assert.Null(answer.Assignment);
        Assert.Equal(joined.Generation, answer.Generation);
        Assert.Equal(0, await _peer.FigureAsync("broker.parkedHeartbeats"));
    }

    [Fact]
    public async Task GivenAParkedHeartbeat_WhenTheNextComes_ThenTheFirstIsAnsweredAsThingsStand()
    {
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(_one.Join("orders"));
        Task<GroupHeartbeatResponse> parked = await ParkAsync(joined);
        GroupHeartbeatResponse released = await _peer.InvokeAsync(
            _one.Beat(joined.Generation, joined.Queues()[..1]) with { MaxWait = GroupCalls.LongWait });
        Assert.Null((await parked).Assignment);
        Assert.True(released.Queues()[1].Grant > joined.Queues()[1].Grant);
    }

    [Fact]
    public async Task GivenAnAnswerThatWasLost_WhenTheMemberBeats_ThenTheWholeListComesAgain()
    {
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(_one.Join("orders"));
        await _peer.InvokeAsync(new AlterTopicRequest("orders", new TopicSettings { QueueCount = 3 }));
        GroupHeartbeatResponse lost = await _peer.InvokeAsync(_one.Beat(joined.Generation, joined.Queues()));
        GroupHeartbeatResponse again = await _peer.InvokeAsync(
            _one.Beat(joined.Generation, joined.Queues()) with { MaxWait = GroupCalls.LongWait });
        Assert.Equal(3, again.Queues().Length);
        Assert.Equal((lost.Generation, lost.Queues()[2]), (again.Generation, again.Queues()[2]));
    }

    [Fact]
    public async Task GivenAStaticMember_WhenAnotherProcessJoinsUnderItsName_ThenItsParkedCallSaysReplaced()
    {
        var old = new GroupCalls("one");
        var next = new GroupCalls("one");
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(old.Join("orders"));
        Assert.Equal(TimeSpan.FromMilliseconds(-1), joined.ReconnectGrace);
        Task<GroupHeartbeatResponse> parked = await ParkAsync(joined, old);
        GroupHeartbeatResponse taken = await _second.InvokeAsync(next.Join("orders"));
        Assert.Equal(joined.Ids(), taken.Ids());
        Assert.Equal(
            ErrorCode.MemberReplaced, (await Assert.ThrowsAsync<EQueueException>(() => parked)).Code);
        Assert.Equal(ErrorCode.MemberReplaced, (await _peer.RefusalAsync(old.Beat(joined.Generation))).Code);
        Assert.Equal(ErrorCode.UnknownMember, (await _peer.RefusalAsync(old.Commit(joined.Queues()[0], 0))).Code);
    }

    [Fact]
    public async Task GivenAStaticMemberThatStays_WhenItIsBackInTime_ThenTheOtherHeardNothing()
    {
        var old = new GroupCalls("one");
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(old.Join("orders"));
        await _peer.InvokeAsync(old.Leave(stays: true));
        GroupHeartbeatResponse waiting = await _second.InvokeAsync(_two.Join("orders"));
        Assert.Equal(1u, waiting.Pending);
        _time.Advance(TimeSpan.FromSeconds(20));
        waiting = await _second.InvokeAsync(_two.Beat(waiting.Generation));
        Assert.Null(waiting.Assignment);
        GroupHeartbeatResponse back = await _peer.InvokeAsync(new GroupCalls("one").Join("orders"));
        Assert.Single(back.Queues());
        Assert.Contains(back.Ids()[0], joined.Ids());
    }

    [Fact]
    public async Task GivenParkedHeartbeats_WhenTheBrokerStops_ThenAllAreAnswered()
    {
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(_one.Join("orders"));
        Task<GroupHeartbeatResponse> parked = await ParkAsync(joined);
        await _broker.Broker.StopAsync(CancellationToken.None);
        Assert.True((await parked).NextHeartbeat > TimeSpan.Zero);
    }

    [Fact]
    [EffectOf("Limits:MaxMembersPerGroup", "Limits:MaxMembers")]
    public async Task GivenTheLimitsOfMembers_WhenReached_ThenLimitReachedIsAnsweredAndRejoinsAreTaken()
    {
        await _peer.InvokeAsync(_one.Join("orders"));
        await _peer.InvokeAsync(_two.Join("orders"));
        var third = new GroupCalls();
        await _peer.InvokeAsync(third.Join("orders"));
        Assert.Contains(
            "MaxMembersPerGroup", (await _peer.RefusalAsync(new GroupCalls().Join("orders"))).Message,
            StringComparison.Ordinal);
        await _peer.InvokeAsync(third.Join("orders"));
        await _peer.InvokeAsync(new GroupCalls().Join("orders") with { Group = "other" });
        EQueueException refusal = await _peer.RefusalAsync(new GroupCalls().Join("orders") with { Group = "other" });
        Assert.Equal(ErrorCode.LimitReached, refusal.Code);
        Assert.Contains("Limits:MaxMembers)", refusal.Message, StringComparison.Ordinal);
        await _peer.InvokeAsync(third.Leave());
        await _peer.InvokeAsync(new GroupCalls().Join("orders"));
    }

    [Fact]
    public async Task GivenOtherTags_WhenAMemberJoins_ThenTagsDifferNamesBothSetsAndTheReader()
    {
        await _peer.InvokeAsync(_one.Join() with { Subscriptions = [new TopicSubscription("orders", ["paid"])] });
        EQueueException refusal = await _second.RefusalAsync(_two.Join("orders"));
        Assert.Equal(ErrorCode.TagsDiffer, refusal.Code);
        Assert.Contains("tags paid of topic 'orders' ('first' at ", refusal.Message, StringComparison.Ordinal);
    }

    /// <summary>Sends a heartbeat that is held, and returns when it is.</summary>
    private async Task<Task<GroupHeartbeatResponse>> ParkAsync(GroupHeartbeatResponse joined, GroupCalls? calls = null)
    {
        Task<GroupHeartbeatResponse> parked = _peer.InvokeAsync(
            (calls ?? _one).Beat(joined.Generation, joined.Queues()) with { MaxWait = GroupCalls.LongWait });
        await Eventually.TrueAsync(
            async () => await _second.FigureAsync("broker.parkedHeartbeats") == 1, "The heartbeat should be held.");
        return parked;
    }
}
