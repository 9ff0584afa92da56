namespace EQueue.Client.Tests;

/// <summary>A reader of thousands of queues.</summary>
public sealed class ManyQueuesTests
{
    private const int Queues = 8_000;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenThousandsOfQueues_WhenAllAreAssigned_ThenAFewRequestsDoAndEveryMessageIsRead(bool stopsAtEnd)
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await broker.Client.Admin.CreateTopicAsync("wide", new TopicSettings { QueueCount = Queues }, Token);
        await using Producer producer = broker.Client.CreateProducer();
        SendReceipt[] receipts = await Task.WhenAll(Enumerable.Range(0, 500)
            .Select(i => producer.SendAsync("wide", "x"u8.ToArray(), $"key-{i}", cancellationToken: Token).AsTask()));
        long before = await RequestsAsync(broker);

        await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { StopAtEnd = stopsAtEnd });
        await reader.AssignAllAsync("wide", StartPosition.Begin, Token);
        await reader.AssignAllAsync("wide", StartPosition.Begin, Token);

        Assert.Equal(Enumerable.Range(0, Queues), reader.GetProgress().Select(static queue => queue.Queue).Order());
        Assert.InRange(await RequestsAsync(broker) - before, 1, 40);
        HashSet<(int, long)> read = [];
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            Assert.True(read.Add((message.Queue, message.Offset.Value)));
            if (read.Count == receipts.Length && !stopsAtEnd)
                break;
        }

        Assert.Equal(
            receipts.Select(static receipt => (receipt.Queue, receipt.Offset.Value)).Order(), read.Order());
    }

    private static async Task<long> RequestsAsync(TestBroker broker) =>
        (await broker.Client.Admin.ReadFiguresAsync(Token)).Find("broker.requests")!.Value;
}
