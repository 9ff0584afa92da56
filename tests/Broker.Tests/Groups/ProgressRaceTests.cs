using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Groups;

/// <summary>A commit and a reset or deletion under way at once: what is left is what the log's order says, also after a
/// restart.</summary>
public sealed class ProgressRaceTests : IAsyncLifetime
{
    private readonly FaultyDisk _disk = new();
    private TestBroker _broker = null!;
    private TestPeer _admin = null!;
    private TestPeer _committer = null!;
    private TestPeer _watcher = null!;
    private QueueId _queue;

    public async ValueTask InitializeAsync()
    {
        BrokerOptions options = TestBroker.SmallOptions(FlushPolicy.Sync);
        _broker = await TestBroker.StartAsync(options with { Store = options.Store with { Disk = _disk } });
        _admin = await _broker.ConnectAsync("admin");
        _committer = await _broker.ConnectAsync("committer");
        _watcher = await _broker.ConnectAsync("watcher");
        IReadOnlyList<QueueDescription> queues = (await _admin.CreateTopicAsync("orders", 2)).Queues;
        _queue = queues[0].Id;
        await _admin.ProduceAsync(_queue, "a", "b", "c");

        // Of the queue itself nothing is committed yet: what is under way is all that there is to remove.
        Assert.Equal([ErrorCode.None], (await _committer.InvokeAsync(Commit(queues[1].Id, 0))).Errors);

        // An answered commit counts as under way for a moment, and a removal then goes a second round, which would take
        // the case's commit with it. A removal of nothing ends once none is under way.
        await _admin.CreateTopicAsync("unread", 1);
        await _admin.InvokeAsync(new DeleteGroupRequest("billing", "unread"));
    }

    public async ValueTask DisposeAsync()
    {
        _disk.ReleaseWrites();
        foreach (TestPeer peer in (TestPeer[])[_admin, _committer, _watcher])
            await peer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Theory]
    [InlineData(true, true, 1L)]
    [InlineData(true, false, 2L)]
    [InlineData(false, true, -1L)]
    [InlineData(false, false, 2L)]
    public async Task GivenACommitUnderWay_WhenItsGroupIsResetOrDeleted_ThenTheLaterOneHolds(
        bool isReset, bool isCommitFirst, long expected)
    {
        _disk.HoldWrites();
        Task<CommitOffsetsResponse>? commit = null;
        if (isCommitFirst)
            await StagedAsync(() => commit = _committer.InvokeAsync(Commit(_queue, 2)));
        Task change = null!;
        await StagedAsync(() => change = isReset
            ? _admin.InvokeAsync(new ResetOffsetsRequest
            {
                Group = "billing",
                Topic = "orders",
                To = ResetTarget.Offset,
                Value = 1,
            })
            : _admin.InvokeAsync(new DeleteGroupRequest("billing", null)));
        if (!isCommitFirst)
            await StagedAsync(() => commit = _committer.InvokeAsync(Commit(_queue, 2)));

        // Nothing of it shows while nothing of it is durable.
        Assert.Equal(-1, await GroupCalls.ReadAsync(_watcher, _queue));
        _disk.ReleaseWrites();
        Assert.Equal([ErrorCode.None], (await commit!).Errors);
        await change;
        Assert.Equal(expected, await GroupCalls.ReadAsync(_watcher, _queue));

        await using TestBroker again = await _broker.StartFromCopyAsync();
        await using TestPeer later = await again.ConnectAsync();
        Assert.Equal(expected, await GroupCalls.ReadAsync(later, _queue));
        Assert.Equal(expected < 0 ? 0 : 1, await later.FigureAsync("broker.groups"));
        Assert.Equal(expected < 0 ? 0 : 1, await _watcher.FigureAsync("broker.groups"));
    }

    /// <summary>Begins something and waits until it has its place in the log.</summary>
    private async Task StagedAsync(Action begin)
    {
        long before = await _watcher.FigureAsync("store.stagedPosition");
        begin();
        await Eventually.TrueAsync(async () => await _watcher.FigureAsync("store.stagedPosition") > before);
    }

    private static CommitOffsetsRequest Commit(QueueId queue, long next) => new(
        "billing",
        Guid.Empty,
        [new OffsetCommit(new QueueKey(0, queue), GroupGeneration.None, new QueueOffset(next), -1, null)]);
}
