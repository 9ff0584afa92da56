namespace EQueue.Client.Tests;

/// <summary>Places in queues, as receipts and messages tell them and as readers take them.</summary>
public sealed class QueuePlaceTests
{
    private static readonly ConsumerOptions Manual = new() { AutoCommit = false };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public void GivenAPlace_WhenShownAndStepped_ThenItIsTopicQueueAndOffset()
    {
        var place = new QueuePlace("orders", 3, 17);
        Assert.Equal("orders/3/17", place.ToString());
        Assert.Equal(new QueuePlace("orders", 3, new QueueOffset(18)), place.Next);
    }

    [Fact]
    public async Task GivenAReceipt_WhenItsPlaceIsRead_ThenTheMessageIsThere()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        await producer.SendAsync("t", "first", cancellationToken: Token);
        SendReceipt receipt = await producer.SendAsync("t", "second", cancellationToken: Token);
        Assert.Equal(new QueuePlace("t", 0, 1), receipt.Place);

        DetachedMessage? read = await broker.Client.Admin.ReadMessageAsync(receipt.Place, Token);
        Assert.Equal("second", read?.BodyText);
        Assert.Equal(receipt.Place, read?.Place);
        Assert.Null(await broker.Client.Admin.ReadMessageAsync(receipt.Place.Next, Token));
    }

    [Fact]
    public async Task GivenAMessageThatIsDone_WhenThePlaceBehindItIsCommitted_ThenTheGroupContinuesThere()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, 3);
        await using (Consumer consumer = broker.Client.CreateConsumer("g", ["t"], Manual))
        {
            QueuePlace done = default;
            await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            {
                done = message.Place;
                if (done.Offset.Value == 1)
                    break;
            }

            Assert.Equal(new QueuePlace("t", 0, 1), done);
            await consumer.CommitAsync([done.Next], Token);
            await consumer.CommitAsync([], Token);
            Assert.Equal(2, Assert.Single(consumer.GetProgress()).Committed.Value);
            EQueueException foreign = await Assert.ThrowsAsync<EQueueException>(
                async () => await consumer.CommitAsync([done with { Queue = 7 }], Token));
            Assert.Equal(ErrorCode.QueueNotOwned, foreign.Code);
        }

        await using Consumer next = broker.Client.CreateConsumer("g", ["t"], Manual);
        Assert.Equal(new QueuePlace("t", 0, 2), await FirstAsync(next.ReadAllAsync(Token)));
    }

    [Fact]
    public async Task GivenPlaces_WhenAReaderIsAssignedSoughtAndPaused_ThenItTakesThemLikeTopicAndQueue()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, 5);
        var place = new QueuePlace("t", 0, 3);
        await using QueueReader reader = broker.Client.CreateReader();
        await reader.AssignAsync(place, Token);
        Assert.Equal(place, Assert.Single(reader.GetProgress()).NextPlace);
        Assert.Equal(place, await FirstAsync(reader.ReadAllAsync(Token)));
        await reader.SeekAsync(place with { Offset = new QueueOffset(1) }, Token);
        Assert.Equal(new QueuePlace("t", 0, 1), await FirstAsync(reader.ReadAllAsync(Token)));

        reader.Pause(place);
        await reader.SeekAsync(place, Token);
        Assert.Empty(await reader.PullAsync(1, TimeSpan.FromMilliseconds(1), Token));
        reader.Resume(place);
        Assert.Equal(place, Assert.Single(await reader.PullAsync(1, TimeSpan.FromMinutes(1), Token)).Place);
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            async () => await reader.SeekAsync(new QueuePlace("t", 0, -1), Token));
    }

    [Fact]
    public async Task GivenPlaces_WhenAConsumerSeeksAndPauses_ThenItTakesThoseOfItsQueuesAlone()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, 5);
        var place = new QueuePlace("t", 0, 3);
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["t"], Manual);
        Assert.Equal(0, (await FirstAsync(consumer.ReadAllAsync(Token))).Offset.Value);
        await consumer.SeekAsync(place, Token);
        Assert.Equal(place, await FirstAsync(consumer.ReadAllAsync(Token)));
        consumer.Pause(place);
        consumer.Resume(place);
        var foreign = new QueuePlace("t", 7, 0);
        Assert.Equal(ErrorCode.QueueNotOwned, Assert.Throws<EQueueException>(() => consumer.Pause(foreign)).Code);
        Assert.Equal(ErrorCode.QueueNotOwned, Assert.Throws<EQueueException>(() => consumer.Resume(foreign)).Code);
    }

    private static async Task SendAsync(TestBroker broker, int count)
    {
        await using Producer producer = broker.Client.CreateProducer();
        for (int i = 0; i < count; i++)
            await producer.SendAsync("t", $"body {i}", cancellationToken: Token);
    }

    private static async Task<QueuePlace> FirstAsync(IAsyncEnumerable<ReceivedMessage> messages)
    {
        await foreach (ReceivedMessage message in messages)
            return message.Place;
        throw new InvalidOperationException("There is none.");
    }
}
