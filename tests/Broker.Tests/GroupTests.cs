using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests;

public sealed class GroupTests : IAsyncLifetime
{
    private static readonly TimeSpan Session = TimeSpan.FromSeconds(30);

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
        Assert.Equal(new GroupGeneration(1), joined.Generation);
        Assert.InRange(joined.NextHeartbeat, TimeSpan.FromMilliseconds(300), Session / 3);
        Assert.Equal(
            ["orders/0", "orders/1", "returns/0"], Flat(joined).Select(queue => $"{queue.Topic}/{queue.Queue.Number}"));
        Assert.Equal(_queues, Flat(joined).Take(2).Select(queue => queue.Queue.Queue.Id));
    }

    [Fact]
    public async Task GivenALiveMember_WhenASecondJoins_ThenGroupBusyNamesWhoAndUntilWhen()
    {
        await _peer.InvokeAsync(Join(Guid.NewGuid(), "orders"));
        EQueueException refusal = await _second.RefusalAsync(Join(Guid.NewGuid(), "orders"));
        Assert.Equal(ErrorCode.GroupBusy, refusal.Code);
        Assert.Contains("'first' at 127.0.0.1:", refusal.Message, StringComparison.Ordinal);
        Assert.Contains("until 2", refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAMemberThatIsSilentTooLong_WhenAnotherJoins_ThenItTakesOverAndTheOldOneIsUnknown()
    {
        var old = Guid.NewGuid();
        var next = Guid.NewGuid();
        GroupHeartbeatResponse first = await _peer.InvokeAsync(Join(old, "orders"));
        _time.Advance(Session - TimeSpan.FromSeconds(10));
        Assert.Equal(ErrorCode.GroupBusy, (await _second.RefusalAsync(Join(next, "orders"))).Code);
        _time.Advance(TimeSpan.FromSeconds(11));
        GroupHeartbeatResponse second = await _second.InvokeAsync(Join(next, "orders"));
        Assert.Equal(first.Generation.Value + 1, second.Generation.Value);
        Assert.Equal(ErrorCode.UnknownMember, (await _peer.RefusalAsync(Beat(old, first.Generation))).Code);
        Assert.Equal(ErrorCode.UnknownMember, (await _peer.RefusalAsync(Commit(old, first.Generation, 0))).Code);
        Assert.Equal(ErrorCode.GroupBusy, (await _peer.RefusalAsync(Join(old, "orders"))).Code);
    }

    [Fact]
    public async Task GivenHeartbeats_WhenTimePasses_ThenTheMemberStays()
    {
        var member = Guid.NewGuid();
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(Join(member, "orders"));
        for (int i = 0; i < 5; i++)
        {
            _time.Advance(Session / 2);
            GroupHeartbeatResponse beat = await _peer.InvokeAsync(Beat(member, joined.Generation));
            Assert.Equal(joined.Generation, beat.Generation);
            Assert.Null(beat.Assignment);
            Assert.Equal(ErrorCode.GroupBusy, (await _second.RefusalAsync(Join(Guid.NewGuid(), "orders"))).Code);
        }
    }

    [Fact]
    public async Task GivenAMemberWhoseConnectionEnds_WhenAnotherJoins_ThenItNeedNotWait()
    {
        TestPeer leaving = await _broker.ConnectAsync("leaving");
        await leaving.InvokeAsync(Join(Guid.NewGuid(), "orders"));
        long before = await _peer.FigureAsync("broker.connections");
        await leaving.DisposeAsync();
        await Eventually.TrueAsync(
            async () => await _peer.FigureAsync("broker.connections") < before, "The connection should end.");
        Assert.Equal(2, (await _second.InvokeAsync(Join(Guid.NewGuid(), "orders"))).Generation.Value);
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
    public async Task GivenAMember_WhenItJoinsAgain_ThenItsOlderGenerationIsFenced()
    {
        var member = Guid.NewGuid();
        GroupHeartbeatResponse first = await _peer.InvokeAsync(Join(member, "orders"));
        GroupHeartbeatResponse second = await _second.InvokeAsync(Join(member, "orders"));
        Assert.Equal(first.Generation.Value + 1, second.Generation.Value);
        Assert.Equal(ErrorCode.FencedGeneration, (await _peer.RefusalAsync(Beat(member, first.Generation))).Code);
        Assert.Equal(
            [ErrorCode.FencedGeneration], (await _peer.InvokeAsync(Commit(member, first.Generation, 0))).Errors);
        Assert.Equal(ErrorCode.UnknownMember, (await _peer.RefusalAsync(Beat(Guid.NewGuid(), new GroupGeneration(1)))).Code);
    }

    [Fact]
    public async Task GivenAMember_WhenItsTopicsGainQueuesOrAreMadeAgain_ThenTheWholeAssignmentComesOnce()
    {
        var member = Guid.NewGuid();
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(Join(member, "orders"));
        await _peer.InvokeAsync(new AlterTopicRequest("orders", new TopicSettings { QueueCount = 3 }));
        GroupHeartbeatResponse grown = await _peer.InvokeAsync(Beat(member, joined.Generation));
        Assert.Equal([0, 1, 2], Flat(grown).Select(queue => queue.Queue.Number));
        Assert.Null((await _peer.InvokeAsync(Beat(member, joined.Generation))).Assignment);
        await _peer.CreateTopicAsync("unrelated");
        Assert.Null((await _peer.InvokeAsync(Beat(member, joined.Generation))).Assignment);

        await _peer.InvokeAsync(new DeleteTopicRequest("orders"));
        Assert.Empty((await _peer.InvokeAsync(Beat(member, joined.Generation))).Assignment!);
        TopicDescription again = await _peer.CreateTopicAsync("orders");
        GroupHeartbeatResponse renewed = await _peer.InvokeAsync(Beat(member, joined.Generation));
        Assert.Equal(again.Queues[0].Id, Assert.Single(Flat(renewed)).Queue.Queue.Id);
    }

    [Fact]
    public async Task GivenAMemberThatReadsOtherQueues_WhenItBeats_ThenTheAssignmentComesAgain()
    {
        var member = Guid.NewGuid();
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(Join(member, "orders"));
        GroupHeartbeatRequest beat = Beat(member, joined.Generation);
        OwnedQueue[] owned =
            [.. Flat(joined).Select(queue => new OwnedQueue(queue.Queue.Queue, queue.Queue.Grant))];
        Assert.Null((await _peer.InvokeAsync(beat with { Owned = owned })).Assignment);
        Assert.Equal(2, Flat(await _peer.InvokeAsync(beat with { Owned = owned[..1] })).Count());
    }

    [Fact]
    public async Task GivenAJoinThatDoesNotFit_WhenSent_ThenItIsRefusedAndLeavesNoGroup()
    {
        var member = Guid.NewGuid();
        Assert.Equal(ErrorCode.UnknownTopic, (await _peer.RefusalAsync(Join(member, "none"))).Code);
        Assert.Equal(ErrorCode.InvalidName, (await _peer.RefusalAsync(Join(member, "a/b"))).Code);
        Assert.Equal(ErrorCode.InvalidArgument, (await _peer.RefusalAsync(Join(Guid.Empty, "orders"))).Code);
        Assert.Equal(ErrorCode.InvalidArgument, (await _peer.RefusalAsync(Join(member))).Code);
        Assert.Equal(
            ErrorCode.InvalidArgument,
            (await _peer.RefusalAsync(
                Join(member, "orders") with { SessionTimeout = TimeSpan.FromMilliseconds(5) })).Code);
        Assert.Equal(
            ErrorCode.InvalidArgument, (await _peer.RefusalAsync(
                Join(member, "orders") with { IsBroadcast = true })).Code);
        Assert.Equal(ErrorCode.InvalidArgument, (await _peer.RefusalAsync(Beat(member, GroupGeneration.None))).Code);
        Assert.Equal(0, await _peer.FigureAsync("broker.groups"));
    }

    [Fact]
    public async Task GivenTheLimitOfGroups_WhenReached_ThenLimitReachedIsAnsweredUntilMembersAreGone()
    {
        for (int i = 0; i < 5; i++)
            await _peer.InvokeAsync(Join(Guid.NewGuid(), "orders") with { Group = $"group{i}" });
        Assert.Equal(ErrorCode.LimitReached, (await _second.RefusalAsync(Join(Guid.NewGuid(), "orders"))).Code);
        _time.Advance(Session * 2);
        await _second.InvokeAsync(Join(Guid.NewGuid(), "orders"));
    }

    [Fact]
    public async Task GivenAMember_WhenItCommits_ThenItsProgressIsReadBackAndMayGoBack()
    {
        await _peer.ProduceAsync(_queues[0], "a", "b", "c");
        var member = Guid.NewGuid();
        GroupGeneration generation = (await _peer.InvokeAsync(Join(member, "orders"))).Generation;
        Assert.Equal([ErrorCode.None], (await _peer.InvokeAsync(Commit(member, generation, 3, "done"))).Errors);
        CommittedOffset read = await ReadAsync(_queues[0]);
        Assert.Equal((3L, 1, "done"), (read.Next.Value, read.RecordEpoch, read.Metadata));
        await _peer.InvokeAsync(Commit(member, generation, 1));
        Assert.Equal(1, (await ReadAsync(_queues[0])).Next.Value);
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
        Assert.Equal(ErrorCode.GroupBusy, (await _second.RefusalAsync(Commit(Guid.Empty, GroupGeneration.None, 0))).Code);
        Assert.Equal(1, (await ReadAsync(_queues[0])).Next.Value);
    }

    [Fact]
    public async Task GivenOffsetsThatDoNotFit_WhenCommitted_ThenEachSaysSoAndTheOthersAreTaken()
    {
        await _peer.ProduceAsync(_queues[0], "a");
        OffsetCommit Offset(QueueId queue, long next, string? metadata = null, ushort log = 0) =>
            new(new FetchQueueKey(log, queue), GroupGeneration.None, new QueueOffset(next), -1, metadata);
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
        await Task.WhenAll(Enumerable.Range(1, 100).Select(next => _peer.InvokeAsync(Commit(Guid.Empty, GroupGeneration.None, next))));
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
        SessionTimeout = Session,
        Subscriptions = [.. topics.Select(topic => new TopicSubscription(topic, []))],
    };

    private static GroupHeartbeatRequest Beat(Guid member, GroupGeneration generation) =>
        new() { Group = "billing", Member = member, Generation = generation };

    private CommitOffsetsRequest Commit(
        Guid member, GroupGeneration generation, long next, string? metadata = null) => new(
        "billing",
        member,
        [new OffsetCommit(new FetchQueueKey(0, _queues[0]), generation, new QueueOffset(next), 1, metadata)]);

    private static IEnumerable<(string Topic, AssignedQueue Queue)> Flat(GroupHeartbeatResponse answer) =>
        answer.Assignment!.SelectMany(topic => topic.Queues.Select(queue => (topic.Topic, queue)));

    private async Task<CommittedOffset> ReadAsync(QueueId queue) => Assert.Single(
        (await _peer.InvokeAsync(new ReadOffsetsRequest("billing", [new FetchQueueKey(0, queue)]))).Offsets);
}
