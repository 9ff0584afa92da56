using EQueue.Broker.Tests.Groups;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Queues;

/// <summary>A group and queues that may not be read: given up in order, kept by no member, given again.</summary>
public sealed class UnreadableQueueTests : IAsyncLifetime
{
    private readonly ManualTime _time = new();
    private readonly GroupCalls _one = new();
    private readonly GroupCalls _two = new();
    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private QueueId[] _queues = [];

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync(time: _time);
        _peer = await _broker.ConnectAsync();
        _queues = [.. (await _peer.CreateTopicAsync("orders", 3)).Queues.Select(queue => queue.Id)];
        foreach (QueueId queue in _queues)
            await _peer.ProduceAsync(queue, "a", "b");
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenAnOwner_WhenItsQueueBecomesUnreadable_ThenItIsToldAtOnceAndCommitsUntilItReleases()
    {
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(_one.Join("orders"));
        OwnedQueue lost = joined.Queues().Single(queue => queue.Queue.Id == _queues[1]);
        await using TestPeer admin = await _broker.ConnectAsync("admin");
        Task<GroupHeartbeatResponse> parked = _peer.InvokeAsync(
            _one.Beat(joined.Generation, joined.Queues()) with { MaxWait = GroupCalls.LongWait });
        await Eventually.TrueAsync(async () => await admin.FigureAsync("broker.parkedHeartbeats") == 1);
        await AlterAsync(admin, isReadable: false, 1);

        GroupHeartbeatResponse told = await parked;
        Assert.Equal([_queues[0].Value, _queues[2].Value], told.Ids());
        Assert.Equal([ErrorCode.None], (await _peer.InvokeAsync(_one.Commit(lost, 1))).Errors);
        Assert.Equal(0, (await GroupAsync()).Queues.Single(queue => queue.Number == 1).Owner);
        await _peer.InvokeAsync(_one.Beat(told.Generation, told.Queues()));
        GroupQueueDescription free = (await GroupAsync()).Queues.Single(queue => queue.Number == 1);
        Assert.Equal((-1, -1), (free.Owner, free.Target));
        Assert.Equal([ErrorCode.QueueNotOwned], (await _peer.InvokeAsync(_one.Commit(lost, 2))).Errors);
        Assert.Equal(GroupState.Stable, (await GroupAsync()).State);

        await AlterAsync(admin, isReadable: true, 1);
        GroupHeartbeatResponse again = await _peer.InvokeAsync(_one.Beat(told.Generation, told.Queues()));
        OwnedQueue given = again.Queues().Single(one => one.Queue.Id == _queues[1]);
        Assert.True(given.Grant > lost.Grant);
        Assert.Equal(1, await GroupCalls.ReadAsync(_peer, _queues[1]));
    }

    [Fact]
    public async Task GivenTwoMembers_WhenAQueueIsUnreadableAndReadableWithoutARelease_ThenItHasNeverTwoOwners()
    {
        GroupHeartbeatResponse first = await _peer.InvokeAsync(_one.Join("orders"));
        GroupHeartbeatResponse second = await _peer.InvokeAsync(_two.Join("orders"));
        await AlterAsync(_peer, isReadable: false, 0, 1, 2);
        Assert.Null((await _peer.InvokeAsync(_two.Beat(second.Generation, []))).Assignment);
        await AlterAsync(_peer, isReadable: true, 0, 1, 2);

        // The first has released nothing: all is its own until it does.
        GroupDescription group = await GroupAsync();
        Assert.All(group.Queues, queue => Assert.Equal(_one.Id, group.Members[queue.Owner].Member));
        foreach (OwnedQueue owned in first.Queues())
            Assert.Equal([ErrorCode.None], (await _peer.InvokeAsync(_one.Commit(owned, 1))).Errors);
        GroupHeartbeatResponse told = await _peer.InvokeAsync(_one.Beat(first.Generation, first.Queues()));
        Assert.InRange(told.Queues().Length, 1, 2);
        await _peer.InvokeAsync(_one.Beat(told.Generation, told.Queues()));
        second = await _peer.InvokeAsync(_two.Beat(second.Generation, []));
        Assert.Equal(_queues.Select(queue => queue.Value).Order(), told.Ids().Concat(second.Ids()).Order());
    }

    [Fact]
    public async Task GivenABroadcastGroup_WhenAQueueIsUnreadable_ThenNoMemberHasIt()
    {
        GroupHeartbeatResponse joined = await _peer.InvokeAsync(_one.Join("orders") with { IsBroadcast = true });
        Assert.Equal(3, joined.Queues().Length);
        await AlterAsync(_peer, isReadable: false, 2);
        GroupHeartbeatResponse told = await _peer.InvokeAsync(_one.Beat(joined.Generation, joined.Queues()));
        Assert.Equal([_queues[0].Value, _queues[1].Value], told.Ids());
        await AlterAsync(_peer, isReadable: true, 2);
        Assert.Equal(3, (await _peer.InvokeAsync(_one.Beat(told.Generation, told.Queues()))).Queues().Length);
    }

    [Fact]
    public void GivenASettlingGroup_WhenAQueueIsUnreadable_ThenItsClaimDoesNotHoldAndTheWindowDoesNotWaitForIt()
    {
        var driver = new RosterDriver(2, TimeSpan.FromSeconds(103));
        GroupHeartbeatRequest request = driver.Request("a") with
        {
            Generation = GroupGeneration.BeginOf(2),
            Owned = [.. new uint[] { 1, 2 }.Select(
                id => new OwnedQueue(RosterDriver.Key(id), GroupGeneration.BeginOf(2)))],
        };
        driver.Unreadable.Add(new QueueId(2));
        GroupHeartbeatResponse answer = driver.Join(request);
        Assert.Equal([1u], answer.Ids());
        Assert.Equal((0u, GroupState.Stable), (answer.Pending, driver.Roster.State));
    }

    private static Task<TopicDescription> AlterAsync(TestPeer peer, bool isReadable, params int[] numbers) =>
        peer.InvokeAsync(new AlterQueuesRequest(
            "orders", numbers, QueueState.Readable, isReadable ? QueueState.Readable : QueueState.None));

    private Task<GroupDescription> GroupAsync() =>
        _peer.InvokeAsync(new DescribeGroupRequest("billing", null, WithAges: false));
}
