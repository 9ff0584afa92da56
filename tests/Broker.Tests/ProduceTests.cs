using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests;

public sealed class ProduceTests : IAsyncLifetime
{
    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private QueueId[] _queues = [];

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync();
        _peer = await _broker.ConnectAsync();
        _queues = [.. (await _peer.CreateTopicAsync("orders", 3)).Queues.Select(queue => queue.Id)];
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Theory]
    [InlineData(Durability.Policy, Durability.Written)]
    [InlineData(Durability.Written, Durability.Written)]
    [InlineData(Durability.Durable, Durability.Durable)]
    public async Task GivenAsyncFlush_WhenProduced_ThenTheLevelReachedIsSaid(Durability asked, Durability reached)
    {
        ProduceResult result = Assert.Single(await _peer.ProduceAsync(asked, (_queues[0], Messages.Batch("a"))));
        Assert.Equal((ErrorCode.None, reached, new QueueOffset(0)), (result.Error, result.Level, result.FirstOffset));
        Assert.True(result.StoredTimeMs > 0);
    }

    [Fact]
    public async Task GivenSyncFlush_WhenProduced_ThenItIsDurable()
    {
        await using TestBroker broker = await TestBroker.StartAsync(TestBroker.SmallOptions(FlushPolicy.Sync));
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        Assert.Equal(Durability.Durable, (await peer.ProduceAsync(queue, "a")).Level);
    }

    [Fact]
    public async Task GivenBatchesOfManyQueues_WhenProducedInOneFrame_ThenEachQueueCountsItsOwn()
    {
        ProduceResult[] results = await _peer.ProduceAsync(
            Durability.Policy,
            (_queues[0], Messages.Batch("a", "b")),
            (_queues[1], Messages.Batch("c")),
            (_queues[0], Messages.Batch("d")));
        Assert.All(results, result => Assert.Equal(ErrorCode.None, result.Error));
        Assert.Equal([0L, 0, 2], results.Select(result => result.FirstOffset.Value));
        Fetched fetched = await _peer.FetchAsync(
            Messages.Open(0, Messages.From(_queues[0], 0), Messages.From(_queues[1], 0), Messages.From(_queues[2], 0)));
        Assert.Equal(["a", "b", "d", "c"], fetched.Bodies);
    }

    [Fact]
    public async Task GivenABadBatchAmongGoodOnes_WhenProduced_ThenTheGoodOnesAreStored()
    {
        byte[] bad = Messages.Batch("x");
        bad[^1] ^= 1;
        ProduceResult[] results = await _peer.ProduceAsync(
            Durability.Policy,
            (_queues[0], Messages.Batch("a")),
            (_queues[0], bad),
            (new QueueId(9_999), Messages.Batch("y")),
            (_queues[0], Messages.Batch("b")));
        Assert.Equal(
            [ErrorCode.None, ErrorCode.CorruptBatch, ErrorCode.UnknownQueue, ErrorCode.None], results.Select(
                result => result.Error));
        Assert.Equal([0L, -1, -1, 1], results.Select(result => result.FirstOffset.Value));
        Assert.Equal(["a", "b"], (await _peer.FetchAsync(Messages.Open(0, Messages.From(_queues[0], 0)))).Bodies);
        Assert.Equal(2, await _peer.FigureAsync("broker.refusedBatches"));
        Assert.Equal(2, await _peer.FigureAsync("store.appendedMessages"));
    }

    [Fact]
    [EffectOf("Limits:MaxMessageBytes")]
    public async Task GivenABodyOfTheLimit_WhenProduced_ThenItIsStoredAndOneByteMoreIsNot()
    {
        int limit = (int)_peer.Hello.MaxMessageBytes;
        Assert.Equal(4 << 20, limit);
        ProduceResult fits = Assert.Single(await _peer.ProduceAsync(
            Durability.Policy, (_queues[0], Messages.Batch(ProducerSession.None, -1, new byte[limit]))));
        Assert.Equal(ErrorCode.None, fits.Error);
        long staged = await _peer.FigureAsync("store.stagedPosition");
        ProduceResult tooLarge = Assert.Single(await _peer.ProduceAsync(
            Durability.Policy, (_queues[0], Messages.Batch(ProducerSession.None, -1, new byte[limit + 1]))));
        Assert.Equal(ErrorCode.MessageTooLarge, tooLarge.Error);
        Assert.Equal(staged, await _peer.FigureAsync("store.stagedPosition"));
        Fetched fetched = await _peer.FetchAsync(Messages.Open(0, Messages.From(_queues[0], 0)));
        Assert.Equal(limit, Assert.Single(fetched.Bodies).Length);
    }

    [Fact]
    public async Task GivenATopicWithASmallerLimit_WhenManySmallMessagesExceedItTogether_ThenTheyAreStored()
    {
        await _peer.InvokeAsync(new AlterTopicRequest("orders", new TopicSettings { MaxMessageBytes = 100 }));
        string[] bodies = [.. Enumerable.Range(0, 50).Select(i => new string('x', 100))];
        Assert.Equal(ErrorCode.None, (await _peer.ProduceAsync(_queues[0], bodies)).Error);
        bodies[49] += "y";
        Assert.Equal(ErrorCode.MessageTooLarge, (await _peer.ProduceAsync(_queues[0], bodies)).Error);
    }

    [Fact]
    public async Task GivenAProducerSession_WhenABatchComesTwice_ThenItIsStoredOnceAndTheAnswerNamesTheFirstPlace()
    {
        ProducerSession session = await InitAsync(ProducerSession.None);
        byte[] first = Messages.Batch(session, 0, "a", "b");
        await _peer.ProduceAsync(Durability.Policy, (_queues[0], first));
        byte[] second = Messages.Batch(session, 2, "c");
        await _peer.ProduceAsync(Durability.Policy, (_queues[0], second));
        ProduceResult[] again = await _peer.ProduceAsync(Durability.Policy, (_queues[0], first), (_queues[0], second));
        Assert.All(again, result => Assert.Equal(ErrorCode.DuplicateSequence, result.Error));
        Assert.Equal([0L, 2], again.Select(result => result.FirstOffset.Value));
        Assert.Equal(["a", "b", "c"], (await _peer.FetchAsync(Messages.Open(0, Messages.From(_queues[0], 0)))).Bodies);
    }

    [Fact]
    public async Task GivenAProducerSession_WhenABatchIsMissing_ThenOutOfOrderSequenceIsAnswered()
    {
        ProducerSession session = await InitAsync(ProducerSession.None);
        await _peer.ProduceAsync(Durability.Policy, (_queues[0], Messages.Batch(session, 0, "a")));
        ProduceResult gap = Assert.Single(
            await _peer.ProduceAsync(Durability.Policy, (_queues[0], Messages.Batch(session, 2, "c"))));
        Assert.Equal(ErrorCode.OutOfOrderSequence, gap.Error);
    }

    [Fact]
    public async Task GivenAnewerEpoch_WhenTheOlderSelfProduces_ThenItIsFenced()
    {
        ProducerSession old = await InitAsync(ProducerSession.None);
        await _peer.ProduceAsync(Durability.Policy, (_queues[0], Messages.Batch(old, 0, "a")));
        ProducerSession renewed = await InitAsync(old);
        Assert.Equal((old.Id, (short)(old.Epoch + 1)), (renewed.Id, renewed.Epoch));
        Assert.Equal(
            ErrorCode.None,
            (await _peer.ProduceAsync(Durability.Policy, (_queues[0], Messages.Batch(renewed, 0, "b"))))[0].Error);
        Assert.Equal(
            ErrorCode.ProducerFenced,
            (await _peer.ProduceAsync(Durability.Policy, (_queues[0], Messages.Batch(old, 1, "c"))))[0].Error);
        Assert.Equal(ErrorCode.ProducerFenced, (await _peer.RefusalAsync(new InitProducerRequest(null, old))).Code);
        Assert.Equal(
            ErrorCode.InvalidArgument, (await _peer.RefusalAsync(
                new InitProducerRequest("tx", ProducerSession.None))).Code);
        Assert.Equal(
            ErrorCode.InvalidArgument, (await _peer.RefusalAsync(
                new InitProducerRequest(null, new ProducerSession(-5, 0)))).Code);
    }

    [Fact]
    public async Task GivenOneway_WhenProduced_ThenTheMessagesArriveInOrderWithoutAnAnswer()
    {
        for (int i = 0; i < 20; i++)
        {
            await _peer.SendOnewayAsync(
                Opcode.Produce, Messages.Produce(Durability.Policy, (_queues[0], Messages.Batch($"m{i}"))));
        }

        await _peer.SendOnewayAsync(Opcode.Produce, TestPeer.Bytes(1, 2, 3));
        await _peer.ProduceAsync(_queues[0], "last");
        Fetched fetched = await _peer.FetchAsync(Messages.Open(0, Messages.From(_queues[0], 0)));
        Assert.Equal([.. Enumerable.Range(0, 20).Select(i => $"m{i}"), "last"], fetched.Bodies);
    }

    [Fact]
    public async Task GivenMoreThanTheStoreHoldsInMemory_WhenProducedAtOnce_ThenTheSenderWaitsAndAllIsStoredInOrder()
    {
        const int Count = 60;
        using RawConnection raw = await RawConnection.ConnectAsync(_broker.EndPoint);
        await raw.SayHelloAsync();
        var sending = Task.Run(async () =>
        {
            for (int i = 0; i < Count; i++)
            {
                byte[] batch = Messages.Batch($"m{i}-" + new string('x', 1 << 20));
                await raw.SendAsync(RawConnection.Frame(
                    Opcode.Produce, Messages.Produce(Durability.Policy, (_queues[0], batch)).WrittenSpan));
            }
        });
        for (int i = 0; i < Count; i++)
            Assert.Equal((Opcode.Produce, ErrorCode.None), await raw.ReceiveAsync());
        await sending;

        var bodies = new List<string>();
        FetchRequest request = Messages.Open(0, Messages.From(_queues[0], 0));
        while (bodies.Count < Count)
        {
            Fetched fetched = await _peer.FetchAsync(request);
            Assert.NotEmpty(fetched.Queues);
            bodies.AddRange(fetched.Bodies.Select(body => body[..body.IndexOf('-', StringComparison.Ordinal)]));
            request = fetched.Next();
        }

        Assert.Equal(Enumerable.Range(0, Count).Select(i => $"m{i}"), bodies);
    }

    private async Task<ProducerSession> InitAsync(ProducerSession known) =>
        (await _peer.InvokeAsync(new InitProducerRequest(null, known))).Session;
}
