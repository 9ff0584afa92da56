using EQueue.Broker.Tests.Groups;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker.Tests.Queues;

/// <summary>Queues that may not be written or not be read: what each operation says, before and after a
/// restart.</summary>
public sealed class QueueStateTests : IAsyncLifetime
{
    private const QueueState Open = QueueState.Writable | QueueState.Readable;
    private const int Long = 60_000;

    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private QueueId[] _queues = [];

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync();
        _peer = await _broker.ConnectAsync();
        _queues = [.. (await _peer.CreateTopicAsync("orders", 4)).Queues.Select(queue => queue.Id)];
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenAQueueThatIsNotWritable_WhenSentTo_ThenItRefusesAndTheOthersDoNot()
    {
        await AlterAsync(QueueState.Writable, QueueState.None, 1, 3);
        ProduceResult[] results = await _peer.ProduceAsync(
            Durability.Policy, [.. _queues.Select(queue => (queue, Messages.Batch("a")))]);
        Assert.Equal(
            [ErrorCode.None, ErrorCode.QueueNotWritable, ErrorCode.None, ErrorCode.QueueNotWritable],
            results.Select(result => result.Error));
        Assert.Equal([1L, 0, 1, 0], (await DescribeAsync()).Queues.Select(queue => queue.End.Value));
        RouteResponse routes = await _peer.InvokeAsync(new RouteRequest(["orders"], AutoCreate: false));
        Assert.Equal(
            [Open, QueueState.Readable, Open, QueueState.Readable],
            routes.Topics[0].Queues.Select(queue => queue.State));

        await AlterAsync(QueueState.Writable, QueueState.Writable, 1);
        Assert.Equal(ErrorCode.None, (await _peer.ProduceAsync(_queues[1], "b")).Error);
        Assert.Equal(ErrorCode.QueueNotWritable, (await _peer.ProduceAsync(_queues[3], "b")).Error);
    }

    [Theory]
    [InlineData(0L)]
    [InlineData(100L)]
    public async Task GivenWhatIsStored_WhenItIsSentAgainToAQueueThatIsNotWritable_ThenItIsADuplicate(long bound)
    {
        await _peer.InvokeAsync(new AlterTopicRequest("orders", new TopicSettings { MaxBacklogMessages = bound }));
        ProducerSession session =
            (await _peer.InvokeAsync(new InitProducerRequest(null, ProducerSession.None))).Session;
        byte[][] batches = [.. Enumerable.Range(0, 4).Select(i => Messages.Batch(session, i, $"m{i}"))];
        await _peer.ProduceAsync(Durability.Policy, (_queues[0], batches[0]), (_queues[0], batches[1]));
        await AlterAsync(QueueState.Writable, QueueState.None, 0);

        ProduceResult[] results = await _peer.ProduceAsync(
            Durability.Policy, [.. batches.Select(batch => (_queues[0], batch))]);

        // The last one lacks one before it, which says nothing of use to who may not send at all.
        Assert.Equal(
            [
                ErrorCode.DuplicateSequence, ErrorCode.DuplicateSequence, ErrorCode.QueueNotWritable,
                ErrorCode.QueueNotWritable,
            ],
            results.Select(result => result.Error));
        Assert.Equal([0L, 1, -1, -1], results.Select(result => result.FirstOffset.Value));
        await AlterAsync(QueueState.Writable, QueueState.Writable, 0);
        Assert.Equal(
            [ErrorCode.None, ErrorCode.None],
            (await _peer.ProduceAsync(Durability.Policy, (_queues[0], batches[2]), (_queues[0], batches[3])))
                .Select(result => result.Error));
    }

    [Theory]
    [InlineData(FlushPolicy.Async, true)]
    [InlineData(FlushPolicy.Sync, false)]
    public async Task GivenQueuesThatAreNotOpen_WhenTheBrokerStartsAgain_ThenTheyStillAreNot(
        FlushPolicy flush, bool isClean)
    {
        await using TestBroker first = await TestBroker.StartAsync(TestBroker.SmallOptions(flush));
        QueueId[] queues;
        byte[] stored;
        await using (TestPeer peer = await first.ConnectAsync())
        {
            queues = [.. (await peer.CreateTopicAsync("orders", 3)).Queues.Select(queue => queue.Id)];
            ProducerSession session =
                (await peer.InvokeAsync(new InitProducerRequest(null, ProducerSession.None))).Session;
            stored = Messages.Batch(session, 0, "a");
            await peer.ProduceAsync(Durability.Policy, (queues[1], stored));
            await peer.InvokeAsync(new AlterQueuesRequest("orders", [1], QueueState.Writable, QueueState.None));
            await peer.InvokeAsync(new AlterQueuesRequest("orders", [2], Open, QueueState.None));
            await peer.InvokeAsync(new AlterTopicRequest("orders", new TopicSettings { QueueCount = 4 }));
        }

        await using TestBroker again = isClean ? await first.RestartAsync() : await first.StartFromCopyAsync();
        await using TestPeer later = await again.ConnectAsync();
        TopicDescription topic = await later.InvokeAsync(new DescribeTopicRequest("orders"));
        Assert.Equal(
            [Open, QueueState.Readable, QueueState.None | QueueState.Drained, Open],
            topic.Queues.Select(queue => queue.State));
        ProduceResult[] results = await later.ProduceAsync(
            Durability.Policy, (queues[1], stored), (queues[1], Messages.Batch("b")), (queues[2], Messages.Batch("b")));
        Assert.Equal(
            [ErrorCode.DuplicateSequence, ErrorCode.QueueNotWritable, ErrorCode.QueueNotWritable],
            results.Select(result => result.Error));
        Fetched fetched = await later.FetchAsync(
            Messages.Open(0, Messages.From(queues[1], 0), Messages.From(queues[2], 0)));
        Assert.Equal(["a"], fetched.Bodies);
        Assert.Equal(ErrorCode.QueueNotReadable, fetched.Queues.Single(one => one.Header.Queue == queues[2]).Header.Error);

        // All open again: what is written can be read by an older version, and the same topic can be made anew.
        await later.InvokeAsync(new AlterQueuesRequest("orders", null, Open, Open));
        Assert.Equal(ErrorCode.None, (await later.ProduceAsync(queues[2], "c")).Error);
    }

    [Fact]
    public async Task GivenAQueueThatIsNotReadable_WhenFetched_ThenItSaysSoAndGivesAllWhenItIsReadableAgain()
    {
        await _peer.ProduceAsync(_queues[0], "a");
        await _peer.ProduceAsync(_queues[1], "b");
        Fetched opened = await _peer.FetchAsync(
            Messages.Open(0, Messages.From(_queues[0], 1), Messages.From(_queues[1], 1)));
        Assert.Empty(opened.Queues);
        await AlterAsync(QueueState.Readable, QueueState.None, 0);
        await _peer.ProduceAsync(_queues[0], "hidden");
        await _peer.ProduceAsync(_queues[1], "seen");

        // One that a session has already gives nothing either.
        Fetched fetched = await _peer.FetchAsync(opened.Next());
        Assert.Equal(["seen"], fetched.Bodies);
        FetchedQueueHeader refused = fetched.Queues.Single(one => one.Header.Queue == _queues[0]).Header;
        Assert.Equal((ErrorCode.QueueNotReadable, 1L), (refused.Error, refused.Next.Value));
        FetchedQueue named = Assert.Single(
            (await _peer.FetchAsync(Messages.Open(Long, Messages.From(_queues[0], 0)))).Queues);
        Assert.Equal(ErrorCode.QueueNotReadable, named.Header.Error);

        await AlterAsync(QueueState.Readable, QueueState.Readable, 0);
        Assert.Equal(
            ["a", "hidden"], (await _peer.FetchAsync(Messages.Open(0, Messages.From(_queues[0], 0)))).Bodies);
    }

    [Fact]
    public async Task GivenAParkedFetch_WhenItsQueueBecomesUnreadableAndGetsAMessage_ThenItSaysSo()
    {
        await using TestPeer reader = await _broker.ConnectAsync("reader");
        Task<Fetched> parked = reader.FetchAsync(Messages.Open(Long, Messages.From(_queues[0], 0)));
        await _peer.UntilParkedAsync(1);
        await AlterAsync(QueueState.Readable, QueueState.None, 0);
        await _peer.ProduceAsync(_queues[0], "hidden");
        FetchedQueue queue = Assert.Single((await parked).Queues);
        Assert.Equal(ErrorCode.QueueNotReadable, queue.Header.Error);
        Assert.Empty(queue.Messages);
    }

    [Fact]
    public async Task GivenWrongQueuesOrStates_WhenAltered_ThenTheyAreRefusedAndNothingChanges()
    {
        Assert.Equal(ErrorCode.UnknownTopic, await RefusalAsync(new("none", null, Open, Open)));
        AlterQueuesRequest[] wrong =
        [
            new("orders", [4], Open, QueueState.None),
            new("orders", [0, -1], Open, QueueState.None),
            new("orders", [], Open, QueueState.None),
            new("orders", [0], QueueState.None, QueueState.None),
            new("orders", [0], QueueState.Bounded, QueueState.None),
            new("orders", [0], QueueState.Readable, QueueState.Writable),
        ];
        foreach (AlterQueuesRequest request in wrong)
            Assert.Equal(ErrorCode.InvalidArgument, await RefusalAsync(request));
        Assert.All((await DescribeAsync()).Queues, queue => Assert.Equal(Open, queue.State));
    }

    [Fact]
    public async Task GivenATopicWithQueuesThatAreNotOpen_WhenItIsMadeAnew_ThenAllOfItsQueuesAre()
    {
        await AlterAsync(Open, QueueState.None, 0, 1);
        await _peer.InvokeAsync(new DeleteTopicRequest("orders"));
        TopicDescription made = await _peer.CreateTopicAsync("orders", 2);
        Assert.All(made.Queues, queue => Assert.Equal(Open, queue.State));
        Assert.Equal(ErrorCode.None, (await _peer.ProduceAsync(made.Queues[0].Id, "a")).Error);
        Assert.Equal(["a"], (await _peer.FetchAsync(Messages.Open(0, Messages.From(made.Queues[0].Id, 0)))).Bodies);
    }

    [Fact]
    public async Task GivenGroups_WhenAllOfThemHaveCommittedAll_ThenTheQueueIsDrainedAndNotBefore()
    {
        await _peer.ProduceAsync(_queues[0], "a", "b");
        await _peer.ProduceAsync(_queues[1], "a");
        await AlterAsync(QueueState.Writable, QueueState.None, 0, 2);
        Assert.Equal("2", await DrainedAsync());

        await CommitAsync("billing", 0, 2);
        Assert.Equal("0 2", await DrainedAsync());

        // A group that reads the topic and has nothing of this queue has all of it before it.
        await CommitAsync("audit", 1, 1);
        Assert.Equal("2", await DrainedAsync());
        await CommitAsync("audit", 0, 1);
        Assert.Equal("2", await DrainedAsync());
        await CommitAsync("audit", 0, 2);
        Assert.Equal("0 2", await DrainedAsync());

        var member = new GroupCalls();
        await _peer.InvokeAsync(member.Join("orders") with { Group = "late" });
        Assert.Equal("2", await DrainedAsync());
        await _peer.InvokeAsync(member.Leave() with { Group = "late" });
        Assert.Equal("0 2", await DrainedAsync());
        await AlterAsync(QueueState.Writable, QueueState.Writable, 0, 2);
        Assert.Equal("", await DrainedAsync());
    }

    [Fact]
    public async Task GivenABroadcastGroup_WhenAnInstanceIsBehind_ThenTheQueueIsNotDrained()
    {
        await _peer.ProduceAsync(_queues[0], "a");
        await AlterAsync(QueueState.Writable, QueueState.None, 0);
        GroupCalls[] members = [new("one"), new("two")];
        foreach (GroupCalls member in members)
            await _peer.InvokeAsync(member.Join("orders") with { IsBroadcast = true });
        var place = new OwnedQueue(new QueueKey(0, _queues[0]), GroupGeneration.None);
        await _peer.InvokeAsync(members[0].Commit(place, 1));
        await _peer.InvokeAsync(members[1].Commit(place, 0));
        Assert.Equal("", await DrainedAsync());
        await _peer.InvokeAsync(members[1].Commit(place, 1));
        Assert.Equal("0", await DrainedAsync());
    }

    private Task<TopicDescription> AlterAsync(QueueState mask, QueueState state, params int[] numbers) =>
        _peer.InvokeAsync(new AlterQueuesRequest("orders", numbers, mask, state));

    private Task<TopicDescription> DescribeAsync() => _peer.InvokeAsync(new DescribeTopicRequest("orders"));

    /// <summary>The numbers of the queues that are drained.</summary>
    private async Task<string> DrainedAsync() => string.Join(
        ' ',
        (await DescribeAsync()).Queues
            .Where(queue => queue.State.HasFlag(QueueState.Drained)).Select(queue => queue.Number));

    private async Task<ErrorCode> RefusalAsync(AlterQueuesRequest request) => (await _peer.RefusalAsync(request)).Code;

    private async Task CommitAsync(string group, int queue, long next) => Assert.Equal(
        [ErrorCode.None],
        (await _peer.InvokeAsync(new CommitOffsetsRequest(
            group,
            Guid.Empty,
            [new OffsetCommit(
                new QueueKey(0, _queues[queue]), GroupGeneration.None, new QueueOffset(next), -1, null)]))).Errors);
}
