using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker.Tests.Groups;

/// <summary>Who may commit what (docs/consumer-groups.md, section 5), on a disk that can be held.</summary>
public sealed class CommitTests : IAsyncLifetime
{
    private readonly FaultyDisk _disk = new();
    private readonly GroupCalls _one = new();
    private readonly GroupCalls _two = new();
    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private TestPeer _second = null!;
    private QueueId _queue;

    public async ValueTask InitializeAsync()
    {
        BrokerOptions options = TestBroker.SmallOptions(FlushPolicy.Sync);
        _broker = await TestBroker.StartAsync(options with { Store = options.Store with { Disk = _disk } });
        _peer = await _broker.ConnectAsync("first");
        _second = await _broker.ConnectAsync("second");
        _queue = (await _peer.CreateTopicAsync("orders")).Queues[0].Id;
        await _peer.ProduceAsync(_queue, "a", "b", "c");
    }

    public async ValueTask DisposeAsync()
    {
        _disk.ReleaseWrites();
        await _peer.DisposeAsync();
        await _second.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenACommitUnderWay_WhenItsOwnerLeaves_ThenTheNextOwnerComesOnlyWhenItIsVisible()
    {
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(_one.Join("orders"));
        GroupHeartbeatResponse waiting = await _second.InvokeAsync(_two.Join("orders"));
        _disk.HoldWrites();
        Task<CommitOffsetsResponse> commit = _peer.InvokeAsync(_one.Commit(joined.Queues()[0], 2));
        await _peer.InvokeAsync(_one.Leave());
        GroupHeartbeatResponse still = await _second.InvokeAsync(_two.Beat(waiting.Generation, []));
        Assert.Equal((null, 1u), (still.Assignment, still.Pending));
        Task<GroupHeartbeatResponse> parked = _second.InvokeAsync(
            _two.Beat(waiting.Generation, []) with { MaxWait = GroupCalls.LongWait });
        _disk.ReleaseWrites();
        GroupHeartbeatResponse given = await parked;
        Assert.Equal(2, await GroupCalls.ReadAsync(_second, _queue));
        Assert.Equal([ErrorCode.None], (await commit).Errors);
        Assert.Equal([ErrorCode.OffsetBehind], (await _second.InvokeAsync(_two.Commit(given.Queues()[0], 1))).Errors);
        Assert.Equal([ErrorCode.None], (await _second.InvokeAsync(_two.Commit(given.Queues()[0], 3))).Errors);
    }

    [Fact]
    public async Task GivenCommitsOfOneOffsetUnderWay_WhenALowerOneComes_ThenItIsBehindTheLogAsAppended()
    {
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(_one.Join("orders"));
        _disk.HoldWrites();
        Task<CommitOffsetsResponse> commit = _peer.InvokeAsync(_one.Commit(joined.Queues()[0], 2));
        Task<CommitOffsetsResponse> lower = _peer.InvokeAsync(_one.Commit(joined.Queues()[0], 1));
        Assert.Equal([ErrorCode.OffsetBehind], (await lower).Errors);
        _disk.ReleaseWrites();
        Assert.Equal([ErrorCode.None], (await commit).Errors);
    }

    [Fact]
    public async Task GivenEveryWrongCommit_WhenSent_ThenItsErrorIsThat()
    {
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(_one.Join("orders"));
        OwnedQueue mine = Assert.Single(joined.Queues());
        await _second.InvokeAsync(_two.Join("orders"));
        Assert.Equal([ErrorCode.QueueNotOwned], (await _second.InvokeAsync(_two.Commit(mine, 1))).Errors);
        OwnedQueue older = mine with { Grant = new GroupGeneration(mine.Grant.Value - 1) };
        Assert.Equal([ErrorCode.FencedGeneration], (await _peer.InvokeAsync(_one.Commit(older, 1))).Errors);
        Assert.Equal([ErrorCode.InvalidArgument], (await _peer.InvokeAsync(_one.Commit(mine, 4))).Errors);
        Assert.Equal(
            ErrorCode.UnknownMember, (await _peer.RefusalAsync(new GroupCalls().Commit(mine, 1))).Code);
        EQueueException busy = await _peer.RefusalAsync(new CommitOffsetsRequest(
            "billing", Guid.Empty, [new OffsetCommit(mine.Queue, GroupGeneration.None, new QueueOffset(1), -1, null)]));
        Assert.Equal(ErrorCode.GroupBusy, busy.Code);
        Assert.Equal(-1, await GroupCalls.ReadAsync(_peer, _queue));
        Assert.Equal([ErrorCode.None], (await _peer.InvokeAsync(_one.Commit(mine, 1))).Errors);
        Assert.Equal(1, await GroupCalls.ReadAsync(_peer, _queue));
    }

    [Fact]
    public async Task GivenBroadcastMembers_WhenTheyCommit_ThenEachInstanceHasItsOwnProgress()
    {
        var named = new GroupCalls("one");
        var nameless = new GroupCalls();
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(named.Join("orders") with { IsBroadcast = true });
        await _second.InvokeAsync(nameless.Join("orders") with { IsBroadcast = true });
        OwnedQueue queue = Assert.Single(joined.Queues());
        Assert.Equal(GroupGeneration.None, queue.Grant);
        Assert.Equal([ErrorCode.None], (await _peer.InvokeAsync(named.Commit(queue, 2))).Errors);
        Assert.Equal(2, await GroupCalls.ReadAsync(_peer, _queue, "billing/one"));
        Assert.Equal(-1, await GroupCalls.ReadAsync(_peer, _queue));
        Assert.Equal(
            ErrorCode.InvalidArgument, (await _second.RefusalAsync(nameless.Commit(queue, 2))).Code);
        await _peer.InvokeAsync(named.Leave());
        await _second.InvokeAsync(nameless.Leave());
        Assert.Equal(ErrorCode.GroupKindDiffers, (await _peer.RefusalAsync(_one.Join("orders"))).Code);
        Assert.Equal(
            ErrorCode.UnknownQueue,
            (await _peer.InvokeAsync(new CommitOffsetsRequest("other", Guid.Empty, [new OffsetCommit(
                new QueueKey(0, new QueueId(99)), GroupGeneration.None, new QueueOffset(0), -1, null)])))
                .Errors[0]);
    }
}
