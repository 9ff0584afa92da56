
namespace EQueue.Client.Tests;

/// <summary>Senders that send on as soon as they have their receipt: their messages leave together.</summary>
public sealed class GatheredSendTests
{
    private const int Senders = 64;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenManySendersInTurnWithTheirReceipts_WhenTheySendOn_ThenABatchHasMostOfThem()
    {
        const int Rounds = 200;
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        await producer.SendAsync("t", "first"u8.ToArray(), cancellationToken: Token);
        long before = await RequestsAsync(broker);

        await Task.WhenAll(Enumerable.Range(0, Senders).Select(_ => SendInTurnAsync()));

        long requests = await RequestsAsync(broker) - before;

        // Half of the senders in each batch would be 2 * Rounds requests.
        Assert.InRange(requests, Rounds, (int)(1.5 * Rounds));

        async Task SendInTurnAsync()
        {
            for (int i = 0; i < Rounds; i++)
                await producer.SendAsync("t", "x"u8.ToArray(), cancellationToken: Token);
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenCodeBehindAnAwaitThatBlocksOnALaterSend_WhenNothingElseSends_ThenThatSendLeavesAllTheSame(
        bool isBlockingCall)
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer(
            new ProducerOptions { DeliveryTimeout = TimeSpan.FromSeconds(20) });
        ValueTask<SendReceipt> first = producer.SendAsync("t", "first"u8.ToArray(), cancellationToken: Token);
        Task[] sends = Enumerable.Range(0, Senders).Select(BlockedAsync).ToArray();
        await first;

        await Task.WhenAll(sends).WaitAsync(TimeSpan.FromSeconds(15), Token);
        BrokerFigures stats = await broker.Client.Admin.ReadFiguresAsync(Token);
        Assert.Equal(Senders + 2, stats.Find("store.appendedMessages"));

        async Task BlockedAsync(int number)
        {
            await producer.SendAsync("t", "x"u8.ToArray(), cancellationToken: Token).ConfigureAwait(false);

            // What the documentation forbids where many wait for one batch; the last of them has none behind it.
            if (number != Senders - 1)
                return;
            if (isBlockingCall)
                producer.Send("t", "later"u8.ToArray());
            else
                producer.SendAsync("t", "later"u8.ToArray(), cancellationToken: Token).AsTask().Wait(Token);
        }
    }

    private static async Task<long> RequestsAsync(TestBroker broker) =>
        (await broker.Client.Admin.ReadFiguresAsync(Token)).Find("broker.produceRequests")!.Value;
}
