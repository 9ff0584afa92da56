using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests;

public sealed class GroupTests : IAsyncLifetime
{
    private static readonly TimeSpan Session = TimeSpan.FromSeconds(30);

    private static uint _lastSequence;

    private readonly ManualTime _time = new();
    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private TestPeer _second = null!;
    private QueueId[] _queues = [];

    public async ValueTask InitializeAsync()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        _broker = await TestBroker.StartAsync(options with { Limits = options.Limits with { MaxGroups = 5 } }, _time);
        _peer = await _broker.ConnectAsync("first");
        _second = await _broker.ConnectAsync("second");
        _queues = [.. (await _peer.CreateTopicAsync("orders", 2)).Queues.Select(queue => queue.Id)];
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _second.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenAGroupWithoutMembers_WhenOneJoins_ThenItOwnsEveryQueueOfItsTopics()
    {
        await _peer.CreateTopicAsync("returns", 1);
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(Join(Guid.NewGuid(), "orders", "returns"));
        Assert.Equal(_peer.Hello.Incarnation, (ulong)joined.Generation.Epoch);
        Assert.Equal((0u, Session), (joined.Pending, joined.SessionTimeout));
        Assert.Equal((TimeSpan.FromSeconds(3), TimeSpan.FromSeconds(1)), (joined.NextHeartbeat, joined.ReconnectGrace));
        Assert.Equal(
            ["orders/0", "orders/1", "returns/0"], Flat(joined).Select(queue => $"{queue.Topic}/{queue.Queue.Number}"));
        Assert.Equal(_queues, Flat(joined).Take(2).Select(queue => queue.Queue.Queue.Id));
    }

    [Fact]
    public async Task GivenALiveMember_WhenASecondJoins_ThenTheyShareOnceTheFirstHasReleased()
    {
        (Guid one, Guid two) = (Guid.NewGuid(), Guid.NewGuid());
        GroupHeartbeatResponse first = await _peer.InvokeAsync(Join(one, "orders"));
        GroupHeartbeatResponse second = await _second.InvokeAsync(Join(two, "orders"));
        Assert.Empty(Flat(second));
        Assert.Equal(1u, second.Pending);
        GroupHeartbeatResponse revoked = await _peer.InvokeAsync(Beat(one, first.Generation, first));
        OwnedQueue kept = Assert.Single(Owned(revoked));
        Assert.Equal([ErrorCode.None, ErrorCode.None], await CommitBothAsync(_peer, one, first));
        await _peer.InvokeAsync(Beat(one, revoked.Generation, revoked));
        GroupHeartbeatResponse granted = await _second.InvokeAsync(Beat(two, second.Generation));
        OwnedQueue given = Assert.Single(Owned(granted));
        Assert.NotEqual(kept.Queue, given.Queue);
        ErrorCode[] late = await CommitBothAsync(_peer, one, first);
        Assert.Equal([ErrorCode.None, ErrorCode.QueueNotOwned], late.Order());
        Assert.Equal(1, await _peer.FigureAsync("broker.fencedCommits"));
        Assert.Equal(1, await _peer.FigureAsync("broker.queueMoves"));
        Assert.Equal(2, await _peer.FigureAsync("broker.groupMembers"));
    }

    [Fact]
    public async Task GivenAMemberThatIsSilentTooLong_WhenItCallsAgain_ThenItIsUnknownAndTheOtherHasItsQueues()
    {
        (Guid old, Guid next) = (Guid.NewGuid(), Guid.NewGuid());
        GroupHeartbeatResponse first = await _peer.InvokeAsync(Join(old, "orders"));
        _time.Advance(Session - TimeSpan.FromSeconds(10));
        GroupHeartbeatResponse waiting = await _second.InvokeAsync(Join(next, "orders"));
        Assert.Empty(Flat(waiting));
        _time.Advance(TimeSpan.FromSeconds(11));
        GroupHeartbeatResponse given = await _second.InvokeAsync(Beat(next, waiting.Generation));
        Assert.Equal(2, Flat(given).Count());
        Assert.Equal(ErrorCode.UnknownMember, (await _peer.RefusalAsync(Beat(old, first.Generation))).Code);
        Assert.Equal(ErrorCode.UnknownMember, (await _peer.RefusalAsync(Commit(old, first.Generation, 0))).Code);
        Assert.Equal(1, await _peer.FigureAsync("broker.sessionsEnded"));
    }

    [Fact]
    public async Task GivenAPauseOfTheBroker_WhenItIsOver_ThenNobodyIsOutForIt()
    {
        var member = Guid.NewGuid();
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(Join(member, "orders"));
        _time.Jump(Session * 3);
        GroupHeartbeatResponse beat = await _peer.InvokeAsync(Beat(member, joined.Generation));
        Assert.Equal(joined.Generation, beat.Generation);
    }

    [Fact]
    public async Task GivenHeartbeatsOrCommits_WhenTimePasses_ThenTheMemberStays()
    {
        var member = Guid.NewGuid();
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(Join(member, "orders"));
        for (int i = 0; i < 4; i++)
        {
            _time.Advance(Session * 0.6);
            if (i % 2 == 0)
            {
                GroupHeartbeatResponse beat = await _peer.InvokeAsync(Beat(member, joined.Generation));
                Assert.Equal(joined.Generation, beat.Generation);
                Assert.Null(beat.Assignment);
            }
            else
            {
                Assert.Equal([ErrorCode.None], (await _peer.InvokeAsync(
                    Commit(member, Owned(joined)[0].Grant, 0))).Errors);
            }
        }
    }

    [Fact]
    [EffectOf("Groups:ReconnectGrace")]
    public async Task GivenAMemberWhoseConnectionEnds_WhenTheGraceIsOver_ThenItsQueuesGoToTheOther()
    {
        TestPeer leaving = await _broker.ConnectAsync("leaving");
        await leaving.InvokeAsync(Join(Guid.NewGuid(), "orders"));
        var other = Guid.NewGuid();
        GroupHeartbeatResponse joined = await _second.InvokeAsync(Join(other, "orders"));
        Task<GroupHeartbeatResponse> parked = _second.InvokeAsync(
            Beat(other, joined.Generation) with { MaxWait = TimeSpan.FromSeconds(10) });
        await leaving.DisposeAsync();
        Assert.Equal(2, Flat(await parked).Count());
    }

    [Fact]
    public async Task GivenAMemberWhoseConnectionEnds_WhenItBeatsOnAnother_ThenNothingMoves()
    {
        TestPeer cut = await _broker.ConnectAsync("cut");
        var member = Guid.NewGuid();
        GroupHeartbeatResponse joined = await cut.InvokeAsync(Join(member, "orders") with { InstanceId = "one" });
        long before = await _peer.FigureAsync("broker.connections");
        await cut.DisposeAsync();
        await Eventually.TrueAsync(
            async () => await _peer.FigureAsync("broker.connections") < before, "The connection should end.");
        _time.Advance(Session - TimeSpan.FromSeconds(1));
        GroupHeartbeatResponse beat = await _second.InvokeAsync(Beat(member, joined.Generation, joined));
        Assert.Null(beat.Assignment);
        _time.Advance(TimeSpan.FromSeconds(5));
        await _second.InvokeAsync(Beat(member, joined.Generation, joined));
    }

    [Fact]
    public async Task GivenAMember_WhenItLeaves_ThenAnotherMayJoinAtOnce()
    {
        var member = Guid.NewGuid();
        await _peer.InvokeAsync(Join(member, "orders"));
        Assert.Equal(ErrorCode.UnknownMember, (await _second.RefusalAsync(
            new GroupLeaveRequest("billing", Guid.NewGuid(), false))).Code);
        await _peer.InvokeAsync(new GroupLeaveRequest("billing", member, false));
        await _second.InvokeAsync(Join(Guid.NewGuid(), "orders"));
        Assert.Equal(
            ErrorCode.UnknownMember, (await _peer.RefusalAsync(new GroupLeaveRequest("billing", member, false))).Code);
    }

    [Fact]
    public async Task GivenAMember_WhenItJoinsAgain_ThenItsOlderCallsAndGrantsAreFenced()
    {
        var member = Guid.NewGuid();
        GroupHeartbeatRequest late = Beat(member, GroupGeneration.Join);
        GroupHeartbeatResponse first = await _peer.InvokeAsync(Join(member, "orders"));
        GroupHeartbeatResponse second = await _second.InvokeAsync(Join(member, "orders"));
        Assert.True(Owned(second)[0].Grant > Owned(first)[0].Grant);
        Assert.Equal(
            ErrorCode.FencedGeneration, (await _peer.RefusalAsync(late with { Generation = first.Generation })).Code);
        Assert.Equal(
            [ErrorCode.FencedGeneration], (await _peer.InvokeAsync(Commit(member, Owned(first)[0].Grant, 0))).Errors);
        Assert.Equal(
            ErrorCode.UnknownMember, (await _peer.RefusalAsync(Beat(Guid.NewGuid(), first.Generation))).Code);
    }

    [Fact]
    public async Task GivenAParkedMember_WhenItsTopicsAreMadeGrowAndGo_ThenItIsToldAtOnce()
    {
        var member = Guid.NewGuid();
        GroupHeartbeatResponse last = await _peer.InvokeAsync(Join(member, "later"));
        Assert.Empty(Flat(last));
        Task<GroupHeartbeatResponse> parked = ParkAsync(member, last);
        await _second.CreateTopicAsync("unrelated");
        await _second.CreateTopicAsync("later");
        last = await parked;
        Assert.Equal([0], Flat(last).Select(queue => queue.Queue.Number));

        parked = ParkAsync(member, last);
        await _second.InvokeAsync(new AlterTopicRequest("later", new TopicSettings { QueueCount = 3 }));
        last = await parked;
        Assert.Equal([0, 1, 2], Flat(last).Select(queue => queue.Queue.Number));

        parked = ParkAsync(member, last);
        await _second.InvokeAsync(new DeleteTopicRequest("later"));
        last = await parked;
        Assert.Empty(Flat(last));

        parked = ParkAsync(member, last);
        RouteResponse route = await _second.InvokeAsync(new RouteRequest(["later"], AutoCreate: true));
        last = await parked;
        Assert.Equal(
            route.Topics[0].Queues.Select(queue => queue.Id), Flat(last).Select(queue => queue.Queue.Queue.Id));
    }

    [Fact]
    public async Task GivenAJoinThatDoesNotFit_WhenSent_ThenItIsRefusedAndLeavesNoGroup()
    {
        var member = Guid.NewGuid();
        Assert.Equal(ErrorCode.InvalidName, (await _peer.RefusalAsync(Join(member, "orders", "a/b"))).Code);
        Assert.Equal(
            ErrorCode.InvalidName, (await _peer.RefusalAsync(Join(member, "orders") with { Group = "a/b" })).Code);
        Assert.Equal(ErrorCode.InvalidArgument, (await _peer.RefusalAsync(Join(Guid.Empty, "orders"))).Code);
        Assert.Equal(ErrorCode.InvalidArgument, (await _peer.RefusalAsync(Join(member))).Code);
        Assert.Equal(
            ErrorCode.InvalidArgument,
            (await _peer.RefusalAsync(
                Join(member, "orders") with { SessionTimeout = TimeSpan.FromMilliseconds(5) })).Code);
        Assert.Equal(
            ErrorCode.InvalidName, (await _peer.RefusalAsync(
                Join(member, "orders") with { InstanceId = "a/b" })).Code);
        Assert.Equal(ErrorCode.InvalidArgument, (await _peer.RefusalAsync(Join(member, "orders", "orders"))).Code);
        Assert.Equal(ErrorCode.InvalidArgument, (await _peer.RefusalAsync(Beat(member, GroupGeneration.None))).Code);
        Assert.Equal(ErrorCode.InvalidArgument, (await _peer.RefusalAsync(Join(member) with
        {
            Subscriptions = [new TopicSubscription("orders", [new string('x', 250)])],
        })).Code);
        Assert.Equal(0, await _peer.FigureAsync("broker.groups"));
    }

    [Fact]
    [EffectOf("Limits:MaxGroups")]
    public async Task GivenTheLimitOfGroups_WhenReached_ThenLimitReachedIsAnsweredUntilMembersAreGone()
    {
        for (int i = 0; i < 5; i++)
            await _peer.InvokeAsync(Join(Guid.NewGuid(), "orders") with { Group = $"group{i}" });
        Assert.Equal(ErrorCode.LimitReached, (await _second.RefusalAsync(Join(Guid.NewGuid(), "orders"))).Code);
        _time.Advance(Session * 2);
        await _second.InvokeAsync(Join(Guid.NewGuid(), "orders"));
    }

    [Fact]
    public async Task GivenAMember_WhenItCommits_ThenItsProgressIsReadBackAndNeverGoesBack()
    {
        await _peer.ProduceAsync(_queues[0], "a", "b", "c");
        var member = Guid.NewGuid();
        GroupGeneration grant = Owned(await _peer.InvokeAsync(Join(member, "orders")))[0].Grant;
        Assert.Equal([ErrorCode.None], (await _peer.InvokeAsync(Commit(member, grant, 2, "done"))).Errors);
        CommittedOffset read = await ReadAsync(_queues[0]);
        Assert.Equal((2L, 1, "done"), (read.Next.Value, read.RecordEpoch, read.Metadata));
        Assert.Equal([ErrorCode.OffsetBehind], (await _peer.InvokeAsync(Commit(member, grant, 1))).Errors);
        Assert.Equal([ErrorCode.None], (await _peer.InvokeAsync(Commit(member, grant, 2, "again"))).Errors);
        Assert.Equal("again", (await ReadAsync(_queues[0])).Metadata);
        Assert.Equal(-1, (await ReadAsync(_queues[1])).Next.Value);
        ReadOffsetsResponse all = await _peer.InvokeAsync(new ReadOffsetsRequest("billing", null));
        Assert.Equal(_queues[0], Assert.Single(all.Offsets).Queue.Id);
    }

    [Fact]
    public async Task GivenNoMember_WhenCommittedByHand_ThenItIsTakenUnlessTheGroupHasALiveMember()
    {
        await _peer.ProduceAsync(_queues[0], "a");
        Assert.Equal([ErrorCode.None], (await _peer.InvokeAsync(Commit(Guid.Empty, GroupGeneration.None, 1))).Errors);
        await _peer.InvokeAsync(Join(Guid.NewGuid(), "orders"));
        Assert.Equal(
            ErrorCode.GroupBusy, (await _second.RefusalAsync(Commit(Guid.Empty, GroupGeneration.None, 0))).Code);
        Assert.Equal(1, (await ReadAsync(_queues[0])).Next.Value);
    }

    [Fact]
    public async Task GivenOffsetsThatDoNotFit_WhenCommitted_ThenEachSaysSoAndTheOthersAreTaken()
    {
        await _peer.ProduceAsync(_queues[0], "a");
        OffsetCommit Offset(QueueId queue, long next, string? metadata = null, ushort log = 0) =>
            new(new QueueKey(log, queue), GroupGeneration.None, new QueueOffset(next), -1, metadata);
        CommitOffsetsResponse response = await _peer.InvokeAsync(new CommitOffsetsRequest(
            "billing",
            Guid.Empty,
            [
                Offset(_queues[0], 1, new string('x', 4_096)),
                Offset(_queues[0], 2),
                Offset(_queues[0], -1),
                Offset(_queues[1], 0, new string('x', 4_097)),
                Offset(new QueueId(9_999), 0),
                Offset(_queues[1], 0, log: 2),
            ]));
        Assert.Equal(
            [
                ErrorCode.None,
                ErrorCode.InvalidArgument,
                ErrorCode.InvalidArgument,
                ErrorCode.InvalidArgument,
                ErrorCode.UnknownQueue,
                ErrorCode.UnknownQueue,
            ],
            response.Errors);
        Assert.Equal(1, (await ReadAsync(_queues[0])).Next.Value);
        OffsetCommit[] many = [.. Enumerable.Range(0, 10_001).Select(_ => Offset(_queues[0], 0))];
        Assert.Equal(
            ErrorCode.InvalidArgument, (await _peer.RefusalAsync(
                new CommitOffsetsRequest("billing", Guid.Empty, many))).Code);
    }

    [Fact]
    public async Task GivenManyCommitsAtOnce_WhenAnswered_ThenTheLastOneStands()
    {
        await _peer.ProduceAsync(_queues[0], [.. Enumerable.Range(0, 100).Select(i => $"{i}")]);
        await Task.WhenAll(Enumerable.Range(1, 100).Select(
            next => _peer.InvokeAsync(Commit(Guid.Empty, GroupGeneration.None, next))));
        Assert.Equal(100, (await ReadAsync(_queues[0])).Next.Value);
    }

    [Fact]
    public async Task GivenProgress_WhenItsTopicIsDeleted_ThenItIsGoneToo()
    {
        await _peer.ProduceAsync(_queues[0], "a");
        await _peer.InvokeAsync(Commit(Guid.Empty, GroupGeneration.None, 1));
        Assert.Equal(1, await _peer.FigureAsync("broker.groups"));
        await _peer.InvokeAsync(new DeleteTopicRequest("orders"));
        Assert.Equal(-1, (await ReadAsync(_queues[0])).Next.Value);
        Assert.Empty((await _peer.InvokeAsync(new ReadOffsetsRequest("billing", null))).Offsets);
        Assert.Equal(0, await _peer.FigureAsync("broker.groups"));
    }

    private static GroupHeartbeatRequest Join(Guid member, params string[] topics) => new()
    {
        Group = "billing",
        Member = member,
        Sequence = Interlocked.Increment(ref _lastSequence),
        SessionTimeout = Session,
        Subscriptions = [.. topics.Select(topic => new TopicSubscription(topic, []))],
    };

    private static GroupHeartbeatRequest Beat(
        Guid member, GroupGeneration generation, GroupHeartbeatResponse? owned = null) =>
        new()
        {
            Group = "billing",
            Member = member,
            Sequence = Interlocked.Increment(ref _lastSequence),
            Generation = generation,
            Owned = owned?.Assignment is null ? null : Owned(owned),
        };

    private static OwnedQueue[] Owned(GroupHeartbeatResponse answer) =>
        [.. Flat(answer).Select(one => new OwnedQueue(one.Queue.Queue, one.Queue.Grant))];

    private Task<GroupHeartbeatResponse> ParkAsync(Guid member, GroupHeartbeatResponse last) =>
        _peer.InvokeAsync(Beat(member, last.Generation, last) with { MaxWait = TimeSpan.FromSeconds(10) });

    private static async Task<ErrorCode[]> CommitBothAsync(TestPeer peer, Guid member, GroupHeartbeatResponse given) =>
        [.. (await peer.InvokeAsync(new CommitOffsetsRequest(
            "billing",
            member,
            [.. Owned(given).Select(one => new OffsetCommit(one.Queue, one.Grant, new QueueOffset(0), -1, null))])))
            .Errors];

    private CommitOffsetsRequest Commit(
        Guid member, GroupGeneration generation, long next, string? metadata = null) => new(
        "billing",
        member,
        [new OffsetCommit(new QueueKey(0, _queues[0]), generation, new QueueOffset(next), 1, metadata)]);

    private static IEnumerable<(string Topic, AssignedQueue Queue)> Flat(GroupHeartbeatResponse answer) =>
        answer.Assignment!.SelectMany(topic => topic.Queues.Select(queue => (topic.Topic, queue)));

    private async Task<CommittedOffset> ReadAsync(QueueId queue) => Assert.Single(
        (await _peer.InvokeAsync(new ReadOffsetsRequest("billing", [new QueueKey(0, queue)]))).Offsets);
}
