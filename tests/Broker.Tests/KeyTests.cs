using EQueue.Protocol;

namespace EQueue.Broker.Tests;

/// <summary>FindByKey over a socket: answers, bounds and refusals.</summary>
public sealed class KeyTests : IAsyncLifetime
{
    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private QueueId[] _queues = null!;

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync(TestBroker.SmallOptions());
        _peer = await _broker.ConnectAsync();
        _queues = [.. (await _peer.CreateTopicAsync("orders", 2)).Queues.Select(queue => queue.Id)];
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenKeysInTwoQueues_WhenLookedUp_ThenThoseOfTheQueueAreToldAlsoAfterARestart()
    {
        for (int i = 0; i < 5; i++)
        {
            await _peer.ProduceAsync(
                Durability.Policy, (_queues[0], Messages.Keyed("a", null, "b")), (_queues[1], Messages.Keyed("a")));
        }

        await AssertFoundAsync();
        await _peer.DisposeAsync();
        _broker = await _broker.RestartAsync();
        _peer = await _broker.ConnectAsync();
        await AssertFoundAsync();

        async Task AssertFoundAsync()
        {
            FindByKeyResponse found = await _peer.InvokeAsync(Question(_queues[0], "a"));
            Assert.Equal([0L, 3, 6, 9, 12], found.Offsets.Select(offset => offset.Value));
            Assert.Equal(
                (0L, 15L, 15L, 0L),
                (found.Start.Value, found.VisibleEnd.Value, found.NextOffset.Value, found.UnreadableCount));
            Assert.True(found.ReadBytes > 0);
            Assert.Equal(5, (await _peer.InvokeAsync(Question(_queues[1], "a"))).Offsets.Count);
            Assert.Empty((await _peer.InvokeAsync(Question(_queues[1], "b"))).Offsets);
        }
    }

    [Fact]
    public async Task GivenBounds_WhenLookedUp_ThenTheAnswerKeepsThem()
    {
        for (int i = 0; i < 5; i++)
            await _peer.ProduceAsync(Durability.Policy, (_queues[0], Messages.Keyed("a", "a")));
        FindByKeyResponse some = await _peer.InvokeAsync(
            Question(_queues[0], "a") with { From = new QueueOffset(3), To = new QueueOffset(8), MaxCount = 4 });
        Assert.Equal([3L, 4, 5, 6], some.Offsets.Select(offset => offset.Value));
        Assert.Equal(7, some.NextOffset.Value);
        FindByKeyResponse one = await _peer.InvokeAsync(Question(_queues[0], "a") with { MaxBytes = 1 });
        Assert.Equal([0L, 1], one.Offsets.Select(offset => offset.Value));
        Assert.Equal(2, one.NextOffset.Value);
    }

    [Fact]
    public async Task GivenMoreThanOneRequestMayRead_WhenLookedUp_ThenTheBrokerEndsEarlierAndSaysWhere()
    {
        byte[] batch = Messages.Batch(ProducerSession.None, -1, new byte[2 << 20]);
        for (int i = 0; i < 10; i++)
            await _peer.ProduceAsync(Durability.Policy, (_queues[0], batch));
        FindByKeyResponse first = await _peer.InvokeAsync(Question(_queues[0], "a") with { MaxBytes = int.MaxValue });
        Assert.InRange(first.ReadBytes, OffsetHandler.MaxKeySearchBytes, OffsetHandler.MaxKeySearchBytes + batch.Length + 48);
        Assert.InRange(first.NextOffset.Value, 1, 9);
    }

    [Fact]
    public async Task GivenWhatCannotBeAskedFor_WhenLookedUp_ThenATypedErrorSaysWhy()
    {
        FindByKeyRequest good = Question(_queues[0], "a");
        await RefusedAsync(ErrorCode.UnknownQueue, good with { Queue = new QueueKey(0, new QueueId(9_999)) });
        await RefusedAsync(ErrorCode.UnknownQueue, good with { Queue = new QueueKey(1, _queues[0]) });
        await RefusedAsync(ErrorCode.UnknownQueue, good with { Queue = new QueueKey(0, QueueId.State) });
        await RefusedAsync(ErrorCode.InvalidArgument, good with { Key = new byte[FindByKeyRequest.MaxKeyBytes + 1] });
        await RefusedAsync(ErrorCode.InvalidArgument, good with { From = new QueueOffset(-1) });
        await RefusedAsync(ErrorCode.InvalidArgument, good with { To = new QueueOffset(-2) });
        await RefusedAsync(ErrorCode.InvalidArgument, good with { MaxCount = 0 });
        await RefusedAsync(ErrorCode.InvalidArgument, good with { MaxCount = FindByKeyRequest.MaxMessages + 1 });
        await RefusedAsync(ErrorCode.InvalidArgument, good with { MaxBytes = -1 });
        await _peer.InvokeAsync(good with { Key = new byte[FindByKeyRequest.MaxKeyBytes] });
    }

    private static FindByKeyRequest Question(QueueId queue, string key) => new()
    {
        Queue = new QueueKey(0, queue),
        Key = System.Text.Encoding.UTF8.GetBytes(key),
        MaxCount = 100,
    };

    private async Task RefusedAsync(ErrorCode code, FindByKeyRequest request) =>
        Assert.Equal(code, (await _peer.RefusalAsync(request)).Code);
}
