using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>A disk that is slow, full or broken.</summary>
public sealed class FaultTests : IAsyncLifetime
{
    private readonly FaultyDisk _disk = new();
    private TestBroker _broker = null!;
    private TestPeer _producer = null!;
    private TestPeer _peer = null!;
    private QueueId _queue;

    public async ValueTask InitializeAsync()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        _broker = await TestBroker.StartAsync(
            options with { Store = options.Store with { Disk = _disk, ReserveBytes = 1 << 20 } });
        _producer = await _broker.ConnectAsync("producer");
        _peer = await _broker.ConnectAsync("reader");
        _queue = (await _peer.CreateTopicAsync("orders")).Queues[0].Id;
    }

    public async ValueTask DisposeAsync()
    {
        _disk.ReleaseWrites();
        await _producer.DisposeAsync();
        await _peer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenNothingWrittenYet_WhenFetched_ThenItIsNotSeenAndNotAcknowledged()
    {
        _disk.HoldWrites();
        Task<ProduceResult> send = _producer.ProduceAsync(_queue, "a");
        await Eventually.TrueAsync(
            async () => await _peer.FigureAsync("store.appendedBatches") == 1, "The batch should be staged.");
        Fetched fetched = await _peer.FetchAsync(Messages.Open(0, Messages.From(_queue, 0)));
        Assert.Empty(fetched.Queues);
        Assert.False(send.IsCompleted);

        Task<Fetched> parked = _peer.FetchAsync(fetched.Next(60_000));
        _disk.ReleaseWrites();
        Assert.Equal(["a"], (await parked).Bodies);
        Assert.Equal(ErrorCode.None, (await send).Error);
    }

    [Fact]
    public async Task GivenACommitThatIsNotWrittenYet_WhenProgressIsRead_ThenTheOlderOneIsTold()
    {
        await _producer.ProduceAsync(_queue, "a", "b");
        await _producer.InvokeAsync(Commit(1));
        _disk.HoldWrites();
        Task<CommitOffsetsResponse> commit = _producer.InvokeAsync(Commit(2));
        await Eventually.TrueAsync(async () =>
            await _peer.FigureAsync("broker.commits") == 2, "The second commit should come.");
        Assert.Equal(1, await ReadAsync());
        Assert.False(commit.IsCompleted);
        _disk.ReleaseWrites();
        Assert.Equal([ErrorCode.None], (await commit).Errors);
        Assert.Equal(2, await ReadAsync());
    }

    [Fact]
    public async Task GivenNoRoomInTheStore_WhenADeadlinePasses_ThenTimeoutIsAnsweredAndTheBatchIsNeverStored()
    {
        _disk.HoldWrites();
        byte[] batch = Messages.Batch(ProducerSession.None, -1, new byte[1 << 20]);
        var sends = new List<Task<ProduceResult>>();
        for (int i = 0; i < 20; i++)
            sends.Add(SendWithDeadlineAsync(batch, 300));

        // The connection of the producer stands still; the others are served.
        await Eventually.TrueAsync(() =>
            Task.FromResult(sends.Exists(send => send.IsCompleted)), "One should time out.");
        Task<ProduceResult> first = sends.First(send => send.IsCompleted);
        Assert.Equal((ErrorCode.Timeout, new QueueOffset(-1)), ((await first).Error, (await first).FirstOffset));
        Assert.True(await _peer.FigureAsync("broker.connections") == 2);
        _disk.ReleaseWrites();
        ProduceResult[] results = await Task.WhenAll(sends);
        int stored = results.Count(result => result.IsStored);
        Assert.InRange(stored, 1, 19);
        Assert.All(results, result => Assert.True(result.Error is ErrorCode.None or ErrorCode.Timeout));
        TopicDescription topic = await _peer.InvokeAsync(new DescribeTopicRequest("orders"));
        Assert.Equal(stored, topic.Queues[0].End.Value);
    }

    [Fact]
    public async Task GivenAConnectionThatEndsWhileItsRequestIsParked_WhenThereIsRoomAgain_ThenTheRequestIsGone()
    {
        _disk.HoldWrites();
        byte[] batch = Messages.Batch(ProducerSession.None, -1, new byte[1 << 20]);
        TestPeer leaving = await _broker.ConnectAsync("leaving");
        Task[] sends = [.. Enumerable.Range(0, 20).Select(_ => Assert.ThrowsAsync<RemotingException>(
            () => leaving.ProduceAsync(Durability.Policy, (_queue, batch))))];
        await Eventually.TrueAsync(
            async () => await _peer.FigureAsync("broker.parkedProduces") == 1, "One should be parked.");
        long staged = await _peer.FigureAsync("store.appendedBatches");
        await leaving.DisposeAsync();
        await Task.WhenAll(sends);
        await Eventually.TrueAsync(
            async () => await _peer.FigureAsync("broker.connections") == 2, "The connection should end.");
        _disk.ReleaseWrites();
        Assert.Equal(ErrorCode.None, (await _producer.ProduceAsync(_queue, "after")).Error);
        TopicDescription topic = await _peer.InvokeAsync(new DescribeTopicRequest("orders"));
        Assert.Equal(staged + 1, topic.Queues[0].End.Value);
    }

    [Fact]
    public async Task GivenABrokenDisk_WhenProduced_ThenStoreFaultedIsAnsweredTheBrokerSaysSoAndReadersAreServed()
    {
        await _producer.ProduceAsync(_queue, "a");
        _disk.Break();
        ProduceResult result = await _producer.ProduceAsync(_queue, "b");
        Assert.Equal(ErrorCode.StoreFaulted, result.Error);
        await Assert.ThrowsAnyAsync<Exception>(() => _broker.Broker.Completion);
        Assert.Equal(ErrorCode.StoreFaulted, (await _producer.ProduceAsync(_queue, "c")).Error);
        Assert.Equal(
            ErrorCode.StoreFaulted, (await _peer.RefusalAsync(new CreateTopicRequest("t", TopicSettings.None))).Code);
        Assert.Equal(ErrorCode.StoreFaulted, (await _peer.RefusalAsync(
            new InitProducerRequest(null, ProducerSession.None))).Code);
        EQueueException commit = await _peer.RefusalAsync(Commit(1));
        Assert.Equal(ErrorCode.StoreFaulted, commit.Code);
        Assert.Equal(["a"], (await _peer.FetchAsync(Messages.Open(0, Messages.From(_queue, 0)))).Bodies);
    }

    [Fact]
    public async Task GivenAFullDisk_WhenProduced_ThenStorageFullIsAnsweredUntilThereIsRoomAndStateGoesOn()
    {
        await _producer.ProduceAsync(_queue, "a");
        _disk.FreeBytesLeft = 0;
        var refused = default(ProduceResult);
        await Eventually.TrueAsync(
            async () => (refused = await _producer.ProduceAsync(
                _queue, "b")).Error == ErrorCode.StorageFull, "The disk is full.");
        Assert.True(refused.RetryAfterMs > 0);
        Assert.Equal(1, await _peer.FigureAsync("store.isReadOnly"));
        Assert.Equal([ErrorCode.None], (await _peer.InvokeAsync(Commit(1))).Errors);
        Assert.NotEmpty((await _peer.FetchAsync(Messages.Open(0, Messages.From(_queue, 0)))).Bodies);
        _disk.FreeBytesLeft = null;
        await Eventually.TrueAsync(
            async () => (await _producer.ProduceAsync(_queue, "c")).IsStored, "There is room again.");
    }

    private CommitOffsetsRequest Commit(long next) => new(
        "billing", Guid.Empty, [new OffsetCommit(
            new QueueKey(0, _queue), GroupGeneration.None, new QueueOffset(next), -1, null)]);

    private async Task<long> ReadAsync() => Assert.Single(
        (await _peer.InvokeAsync(
            new ReadOffsetsRequest("billing", [new QueueKey(0, _queue)]))).Offsets).Next.Value;

    private async Task<ProduceResult> SendWithDeadlineAsync(byte[] batch, int deadlineMs)
    {
        FrameBuffer body = Messages.Produce(
            new ProduceRequestHeader(Durability.Policy, deadlineMs, 0, 1), (_queue, batch));
        return Assert.Single(Messages.ReadProduced(await _producer.SendAsync(Opcode.Produce, body)));
    }
}
