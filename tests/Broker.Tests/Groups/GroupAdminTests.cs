using EQueue.Protocol;

namespace EQueue.Broker.Tests.Groups;

public sealed class GroupAdminTests : IAsyncLifetime
{
    private static uint _sequence;

    private readonly ManualTime _time = new();
    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private QueueId[] _queues = [];

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync(null, _time);
        _peer = await _broker.ConnectAsync("first");
        _queues = [.. (await _peer.CreateTopicAsync("orders", 2)).Queues.Select(queue => queue.Id)];
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenGroups_WhenListed_ThenTheyComeInOrderAPageAtATime()
    {
        foreach (string group in new[] { "b", "a", "C", "d" })
            await CommitAsync(group, _queues[0], 0);
        await _peer.InvokeAsync(Join("d", Guid.NewGuid()));

        ListGroupsResponse first = await _peer.InvokeAsync(new ListGroupsRequest(null, 3));
        Assert.Equal(["C", "a", "b"], first.Groups.Select(group => group.Group));
        Assert.All(first.Groups, group => Assert.Equal(
            (GroupKind.Shared, GroupState.Empty, 0u), (group.Kind, group.State, group.MemberCount)));
        Assert.True(first.HasMore);
        ListGroupsResponse rest = await _peer.InvokeAsync(new ListGroupsRequest("b", 3));
        Assert.Equal(new GroupListing("d", GroupKind.Shared, GroupState.Stable, 1), Assert.Single(rest.Groups));
        Assert.False(rest.HasMore);
        Assert.Equal(
            ErrorCode.InvalidArgument, (await _peer.RefusalAsync(new ListGroupsRequest(null, 0))).Code);
    }

    [Fact]
    public async Task GivenMembersAndProgress_WhenDescribed_ThenOwnersAndLagAreTold()
    {
        await _peer.CreateTopicAsync("returns");
        await FillAsync(_queues[0], 5);
        await FillAsync(_queues[1], 3);
        await CommitAsync("billing", _queues[0], 2);
        await CommitAsync("billing", _queues[1], 3);
        await using TestPeer second = await _broker.ConnectAsync("second");
        var a = Guid.NewGuid();
        var b = Guid.NewGuid();
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(Join("billing", a));
        await second.InvokeAsync(Join("billing", b) with { InstanceId = "one" });
        _time.Jump(TimeSpan.FromMilliseconds(700));

        GroupDescription group = await _peer.InvokeAsync(new DescribeGroupRequest("billing", null, true));
        Assert.Equal((GroupKind.Shared, GroupState.Moving), (group.Kind, group.State));
        Assert.True(group.Generation >= joined.Generation);
        Assert.Equal([a, b], group.Members.Select(member => member.Member));
        MemberDescription first = group.Members[0];
        Assert.Equal(("first", null, 2u, 0u), (first.Client, first.InstanceId, first.OwnedCount, first.PendingCount));
        Assert.StartsWith("127.0.0.1:", first.Address, StringComparison.Ordinal);
        Assert.InRange(first.SinceLastCall, TimeSpan.Zero, first.SessionTimeout);
        Assert.Equal(TimeSpan.FromSeconds(30), first.SessionTimeout);
        Assert.Equal("orders", Assert.Single(first.Subscriptions).Topic);
        Assert.Equal(("one", 0u, 1u),
            (group.Members[1].InstanceId, group.Members[1].OwnedCount, group.Members[1].PendingCount));

        Assert.Equal([0, 1], group.Queues.Select(queue => queue.Number));
        Assert.All(group.Queues, queue => Assert.Equal(("orders", 0), (queue.Topic, queue.Owner)));
        Assert.Equal([0, 1], group.Queues.Select(queue => queue.Target).Order());
        Assert.Equal(
            [(2L, 0L, 5L, 3L), (3L, 0L, 3L, 0L)],
            group.Queues.Select(queue => (queue.Committed.Value, queue.Start.Value, queue.End.Value, queue.Lag)));
        Assert.InRange(group.Queues[0].LagMs, 700, 60_000);
        Assert.Equal(0, group.Queues[1].LagMs);
        Assert.All(group.Queues, queue => Assert.True(queue.CommittedMs > 0));

        Assert.Empty((await _peer.InvokeAsync(new DescribeGroupRequest("billing", "returns", true))).Queues);
        GroupDescription quick = await _peer.InvokeAsync(new DescribeGroupRequest("billing", "orders", false));
        Assert.All(quick.Queues, queue => Assert.Equal(-1, queue.LagMs));
    }

    [Fact]
    public async Task GivenWhatIsNotThere_WhenDescribedResetOrDeleted_ThenTheErrorSaysWhat()
    {
        await CommitAsync("billing", _queues[0], 0);
        Assert.Equal(ErrorCode.UnknownGroup, await CodeAsync(new DescribeGroupRequest("nobody", null, false)));
        Assert.Equal(ErrorCode.UnknownTopic, await CodeAsync(new DescribeGroupRequest("billing", "none", false)));
        Assert.Equal(ErrorCode.InvalidName, await CodeAsync(new DescribeGroupRequest("a/b", null, false)));
        Assert.Equal(ErrorCode.UnknownGroup, await CodeAsync(new DeleteGroupRequest("nobody", null)));
        Assert.Equal(ErrorCode.UnknownTopic, await CodeAsync(new DeleteGroupRequest("billing", "none")));
        ResetOffsetsRequest reset = Reset(ResetTarget.Begin, 0);
        Assert.Equal(ErrorCode.UnknownTopic, await CodeAsync(reset with { Topic = "none" }));
        Assert.Equal(ErrorCode.UnknownGroup, await CodeAsync(reset with { Group = "nobody", Topic = null }));
        Assert.Equal(ErrorCode.UnknownGroup, await CodeAsync(
            Reset(ResetTarget.ShiftBy, -1) with { Group = "nobody" }));
        Assert.Equal(ErrorCode.InvalidArgument, await CodeAsync(reset with { Topic = null, Numbers = [0] }));
        Assert.Equal(ErrorCode.InvalidArgument, await CodeAsync(Reset((ResetTarget)5, 0)));
        Assert.Equal(ErrorCode.InvalidArgument, await CodeAsync(Reset(ResetTarget.Time, -1)));
        Assert.Equal(ErrorCode.InvalidName, await CodeAsync(reset with { InstanceId = "a/b" }));
        Assert.Equal(1, await _peer.FigureAsync("broker.groups"));
    }

    [Theory]
    [InlineData(ResetTarget.Begin, 0, 0, 0)]
    [InlineData(ResetTarget.End, 0, 10, 4)]
    [InlineData(ResetTarget.Offset, 7, 7, 4)]
    [InlineData(ResetTarget.ShiftBy, -2, 3, 1)]
    [InlineData(ResetTarget.ShiftBy, 100, 10, 4)]
    [InlineData(ResetTarget.ShiftBy, long.MinValue, 0, 0)]
    [InlineData(ResetTarget.Time, 0, 0, 0)]
    [InlineData(ResetTarget.Time, long.MaxValue, 10, 4)]
    public async Task GivenProgress_WhenReset_ThenThePreviewTellsAndOnlyTheRealOneDoes(
        ResetTarget to, long value, long first, long second)
    {
        await FillAsync(_queues[0], 10);
        await FillAsync(_queues[1], 4);
        await CommitAsync("billing", _queues[0], 5);
        await CommitAsync("billing", _queues[1], 3);
        ResetQueue[] expected =
        [
            new("orders", 0, ErrorCode.None, new QueueOffset(5), new QueueOffset(first)),
            new("orders", 1, ErrorCode.None, new QueueOffset(3), new QueueOffset(second)),
        ];

        ResetOffsetsRequest request = Reset(to, value);
        Assert.Equal(expected, (await _peer.InvokeAsync(request with { IsPreview = true })).Queues);
        await CheckProgressAsync("billing", 5, 3);
        Assert.Equal(expected, (await _peer.InvokeAsync(request with { Topic = null })).Queues);
        await CheckProgressAsync("billing", first, second);

        await _peer.DisposeAsync();
        _broker = await _broker.RestartAsync();
        _peer = await _broker.ConnectAsync();
        await CheckProgressAsync("billing", first, second);
    }

    [Fact]
    public async Task GivenATime_WhenReset_ThenTheFirstBatchStoredThenOrLaterIsNext()
    {
        await FillAsync(_queues[0], 3);
        _time.Jump(TimeSpan.FromHours(1));
        long now = _time.GetUtcNow().ToUnixTimeMilliseconds();
        await FillAsync(_queues[0], 3);
        ResetQueue[] reset = [.. (await _peer.InvokeAsync(Reset(ResetTarget.Time, now))).Queues];
        Assert.Equal([3, 0], reset.Select(queue => queue.To.Value));
        Assert.All(reset, queue => Assert.Equal(-1, queue.From.Value));
    }

    [Fact]
    public async Task GivenQueuesWithErrors_WhenReset_ThenTheOthersAreSet()
    {
        await FillAsync(_queues[0], 3);
        await CommitAsync("billing", _queues[0], 3);
        Assert.Equal(
            [
                new ResetQueue("orders", 0, ErrorCode.None, new QueueOffset(3), new QueueOffset(2)),
                new ResetQueue("orders", 1, ErrorCode.InvalidArgument, new QueueOffset(-1), new QueueOffset(-1)),
                new ResetQueue("orders", 7, ErrorCode.UnknownQueue, new QueueOffset(-1), new QueueOffset(-1)),
            ],
            (await _peer.InvokeAsync(Reset(ResetTarget.ShiftBy, -1) with { Numbers = [7, 1, 0, 0] })).Queues);
        await CheckProgressAsync("billing", 2, -1);

        ResetOffsetsRequest nothing = Reset(ResetTarget.End, 0) with { Group = "new", Numbers = [9] };
        Assert.Equal(ErrorCode.UnknownQueue, Assert.Single((await _peer.InvokeAsync(nothing)).Queues).Error);
        Assert.Equal(1, await _peer.FigureAsync("broker.groups"));
        await _peer.InvokeAsync(nothing with { Numbers = [1] });
        await CheckProgressAsync("new", -1, 0);
    }

    [Fact]
    public async Task GivenALiveMember_WhenResetOrDeleted_ThenGroupBusyNamesItUntilItLeaves()
    {
        await FillAsync(_queues[0], 3);
        var member = Guid.NewGuid();
        await _peer.InvokeAsync(Join("billing", member));
        ResetOffsetsRequest reset = Reset(ResetTarget.End, 0);
        EQueueException refusal = await _peer.RefusalAsync(reset);
        Assert.Equal(ErrorCode.GroupBusy, refusal.Code);
        Assert.Contains("'first' at 127.0.0.1:", refusal.Message, StringComparison.Ordinal);
        Assert.Equal(ErrorCode.GroupBusy, await CodeAsync(new DeleteGroupRequest("billing", null)));
        Assert.Equal(ErrorCode.GroupBusy, await CodeAsync(new DeleteGroupRequest("billing", "orders")));
        Assert.Equal([3, 0], (await _peer.InvokeAsync(reset with { IsPreview = true })).Queues.Select(
            queue => queue.To.Value));
        await CheckProgressAsync("billing", -1, -1);

        await _peer.InvokeAsync(new GroupLeaveRequest("billing", member, false));
        await _peer.InvokeAsync(reset);
        await CheckProgressAsync("billing", 3, 0);
    }

    [Fact]
    public async Task GivenAGroupThatHadMembers_WhenTheBrokerHasRestarted_ThenItIsBusyForTheSettleWindow()
    {
        await _peer.InvokeAsync(Join("billing", Guid.NewGuid()));
        await CommitAsync("idle", _queues[0], 0);
        // The member is there to the end: a connection lost before would end its session after the grace.
        TestPeer member = _peer;
        _broker = await _broker.RestartAsync();
        await member.DisposeAsync();
        _peer = await _broker.ConnectAsync();
        Assert.Equal(
            [("billing", GroupState.Settling), ("idle", GroupState.Empty)],
            (await _peer.InvokeAsync(new ListGroupsRequest(null, 9))).Groups.Select(one => (one.Group, one.State)));
        Assert.Equal(ErrorCode.GroupBusy, await CodeAsync(Reset(ResetTarget.End, 0)));
        Assert.Equal(ErrorCode.GroupBusy, await CodeAsync(new DeleteGroupRequest("billing", null)));
        await _peer.InvokeAsync(new DeleteGroupRequest("idle", null));
    }

    [Fact]
    public async Task GivenABroadcastGroup_WhenDescribedAndReset_ThenEachInstanceStandsForItself()
    {
        await FillAsync(_queues[0], 4);
        var member = Guid.NewGuid();
        await _peer.InvokeAsync(Join("billing", member) with { IsBroadcast = true, InstanceId = "one" });
        await _peer.InvokeAsync(new CommitOffsetsRequest("billing", member, [Offset(_queues[0], 3)]));
        GroupDescription live = await _peer.InvokeAsync(new DescribeGroupRequest("billing", null, false));
        Assert.Equal(GroupKind.Broadcast, live.Kind);
        Assert.Equal(
            [(0, "one", 1L), (1, null, 0L)],
            live.Queues.Select(queue => (queue.Number, queue.InstanceId, queue.Lag)));
        Assert.Equal(2u, Assert.Single(live.Members).OwnedCount);
        await _peer.InvokeAsync(new GroupLeaveRequest("billing", member, false));

        ResetOffsetsRequest reset = Reset(ResetTarget.Begin, 0);
        Assert.Equal(ErrorCode.GroupKindDiffers, await CodeAsync(reset));
        await _peer.InvokeAsync(reset with { InstanceId = "two" });
        await _peer.InvokeAsync(reset with { InstanceId = "one", Topic = null, To = ResetTarget.ShiftBy, Value = -1 });
        GroupDescription group = await _peer.InvokeAsync(new DescribeGroupRequest("billing", null, false));
        Assert.Equal(GroupKind.Broadcast, group.Kind);
        Assert.Equal(
            [(0, "one", 2L), (0, "two", 0L), (1, "two", 0L)],
            group.Queues.Select(queue => (queue.Number, queue.InstanceId, queue.Committed.Value)));
        await _peer.InvokeAsync(new DeleteGroupRequest("billing", null));
        Assert.Empty((await _peer.InvokeAsync(new ListGroupsRequest(null, 9))).Groups);
    }

    [Fact]
    public async Task GivenProgress_WhenDeleted_ThenItIsGoneForEver()
    {
        await _peer.CreateTopicAsync("returns");
        GroupDescription before = await DescribeAfterCommitsAsync();
        Assert.Equal(["orders", "orders", "returns"], before.Queues.Select(queue => queue.Topic));

        await _peer.InvokeAsync(new DeleteGroupRequest("billing", "orders"));
        Assert.Equal("returns", Assert.Single(
            (await _peer.InvokeAsync(new DescribeGroupRequest("billing", null, false))).Queues).Topic);
        await CommitAsync("billing", _queues[0], 0);
        await _peer.InvokeAsync(new DeleteGroupRequest("billing", null));
        Assert.Equal(ErrorCode.UnknownGroup, await CodeAsync(new DescribeGroupRequest("billing", null, false)));
        Assert.Equal(ErrorCode.UnknownGroup, await CodeAsync(new DeleteGroupRequest("billing", null)));

        await _peer.DisposeAsync();
        _broker = await _broker.RestartAsync();
        _peer = await _broker.ConnectAsync();
        Assert.Empty((await _peer.InvokeAsync(new ListGroupsRequest(null, 9))).Groups);
        await CheckProgressAsync("billing", -1, -1);
    }

    [Fact]
    public async Task GivenMoreQueuesThanOneBatchHolds_WhenAGroupIsDeleted_ThenAllOfItGoes()
    {
        await _peer.CreateTopicAsync("wide", 2_500);
        ResetOffsetsResponse reset = await _peer.InvokeAsync(Reset(ResetTarget.End, 0) with { Topic = "wide" });
        Assert.Equal(2_500, reset.Queues.Count);
        await _peer.InvokeAsync(new DeleteGroupRequest("billing", null));
        Assert.Equal(0, await _peer.FigureAsync("broker.groups"));
        Assert.Empty((await _peer.InvokeAsync(new ReadOffsetsRequest("billing", null))).Offsets);
    }

    private async Task<GroupDescription> DescribeAfterCommitsAsync()
    {
        foreach (QueueId queue in _queues)
            await CommitAsync("billing", queue, 0);
        TopicDescription returns = await _peer.InvokeAsync(new DescribeTopicRequest("returns"));
        await CommitAsync("billing", returns.Queues[0].Id, 0);
        return await _peer.InvokeAsync(new DescribeGroupRequest("billing", null, false));
    }

    private static GroupHeartbeatRequest Join(string group, Guid member) => new()
    {
        Group = group,
        Member = member,
        Sequence = Interlocked.Increment(ref _sequence),
        Subscriptions = [new TopicSubscription("orders", [])],
    };

    private static ResetOffsetsRequest Reset(ResetTarget to, long value) =>
        new() { Group = "billing", Topic = "orders", To = to, Value = value };

    private static OffsetCommit Offset(QueueId queue, long next) =>
        new(new QueueKey(0, queue), GroupGeneration.None, new QueueOffset(next), -1, null);

    private async Task<ErrorCode> CodeAsync<TRequest, TResponse>(IRequest<TRequest, TResponse> request)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> => (await _peer.RefusalAsync(request)).Code;

    private async Task CommitAsync(string group, QueueId queue, long next) => Assert.Equal(
        [ErrorCode.None],
        (await _peer.InvokeAsync(new CommitOffsetsRequest(group, Guid.Empty, [Offset(queue, next)]))).Errors);

    private async Task FillAsync(QueueId queue, int messages)
    {
        for (int i = 0; i < messages; i++)
            await _peer.ProduceAsync(queue, $"message {i}");
    }

    private async Task CheckProgressAsync(string group, params long[] expected)
    {
        ReadOffsetsResponse read = await _peer.InvokeAsync(
            new ReadOffsetsRequest(group, [.. _queues.Select(queue => new QueueKey(0, queue))]));
        Assert.Equal(expected, read.Offsets.Select(offset => offset.Next.Value));
    }
}
