namespace EQueue.Broker.Tests;

public sealed class ColdFetchTests
{
    [Fact]
    public async Task GivenQueuesThatMemoryNoLongerHolds_WhenOneFillsMostOfAnAnswer_ThenTheDiskIsNotReadForTheLittleRoomLeft()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(options with
        {
            Store = options.Store with { TailMemoryBytes = 1 << 20, MaxBatchBytes = 192 << 10 },
            Limits = options.Limits with { MaxMessageBytes = 128 << 10 },
        });
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] queues = [.. (await peer.CreateTopicAsync("orders", 2)).Queues.Select(queue => queue.Id)];
        string body = new('x', 100_000);
        for (int i = 0; i < 24; i++)
            await peer.ProduceAsync(queues[i % 2], body);

        // What an answer may hold of cold bytes depends on what is being sent; more than one message of two queues
        // never fits into it.
        Fetched first = await peer.FetchAsync(
            Messages.Open(60_000, Messages.From(queues[0], 0), Messages.From(queues[1], 0)));
        Assert.Equal([queues[0]], first.Queues.Select(queue => queue.Header.Queue));
        Fetched second = await peer.FetchAsync(first.Next());
        Assert.Equal([queues[1]], second.Queues.Select(queue => queue.Header.Queue));
    }

    [Theory]
    [InlineData(66)]
    [InlineData(71)]
    public async Task GivenManyQueuesThatMemoryNoLongerHolds_WhenAnAnswerHoldsOneOfThem_ThenEachHasItsTurn(int count)
    {
        // An answer looks at some and leaves them out: those left out must not fall behind those never looked at.
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(options with
        {
            Store = options.Store with { TailMemoryBytes = 1 << 20, MaxBatchBytes = 192 << 10 },
            Limits = options.Limits with { MaxMessageBytes = 128 << 10 },
        });
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] queues = [.. (await peer.CreateTopicAsync("orders", count)).Queues.Select(queue => queue.Id)];
        QueueId busy = (await peer.CreateTopicAsync("busy", 1)).Queues[0].Id;
        string body = new('x', 100_000);
        for (int i = 0; i < 3; i++)
        {
            foreach (QueueId queue in queues)
                await peer.ProduceAsync(queue, body);
        }

        for (int i = 0; i < 16; i++)
            await peer.ProduceAsync(busy, body);

        var seen = new HashSet<QueueId>();
        Fetched answer = await peer.FetchAsync(
            Messages.Open(60_000, [.. queues.Select(queue => Messages.From(queue, 0))]));
        for (int turns = 1; seen.Count < count; turns++)
        {
            Assert.InRange(turns, 1, count);
            seen.UnionWith(answer.Queues.Select(queue => queue.Header.Queue));

            // While something is being sent, what comes from disk is limited.
            await peer.ProduceAsync(busy, "x");
            answer = await peer.FetchAsync(answer.Next());
        }
    }
}
