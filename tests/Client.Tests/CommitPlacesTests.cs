using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Commits at places that the application names, behind the loop.</summary>
public sealed class CommitPlacesTests
{
    private static readonly ConsumerOptions Manual = new() { AutoCommit = false };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenLoopThatIsFarAhead_WhenAPlaceIsCommitted_ThenTheGroupGoesOnThereAndNeverBack()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, 50);
        await using (Consumer consumer = broker.Client.CreateConsumer("g", ["t"], Manual))
        {
            await ReadAsync(consumer, 40);
            QueueProgress place = Assert.Single(consumer.GetProgress());
            await consumer.CommitAsync([place with { Next = new QueueOffset(20) }], Token);
            Assert.Equal(20, Assert.Single(consumer.GetProgress()).Committed.Value);
            await consumer.CommitAsync([place with { Next = new QueueOffset(10) }], Token);
            Assert.Equal(20, await CommittedAsync(broker));
        }

        await using Consumer next = broker.Client.CreateConsumer("g", ["t"], Manual);
        Assert.Equal(20, await ReadAsync(next, 1));
    }

    [Fact]
    public async Task GivenPlacesThatCannotBe_WhenCommitted_ThenTheyAreRefusedAndTheOthersCount()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, 50);
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["t"], Manual);
        await ReadAsync(consumer, 10);
        QueueProgress place = Assert.Single(consumer.GetProgress());

        EQueueException foreign = await Assert.ThrowsAsync<EQueueException>(async () => await consumer.CommitAsync(
            [place with { Queue = 7 }, place with { Next = new QueueOffset(5) }], Token));
        Assert.Equal(ErrorCode.QueueNotOwned, foreign.Code);
        Assert.Equal(5, await CommittedAsync(broker));

        EQueueException beyond = await Assert.ThrowsAsync<EQueueException>(async () => await consumer.CommitAsync(
            [place with { Next = new QueueOffset(51) }], Token));
        Assert.Equal(ErrorCode.InvalidArgument, beyond.Code);
        Assert.Equal(5, await CommittedAsync(broker));
        await consumer.CommitAsync([], Token);
    }

    [Fact]
    public async Task GivenQueueThatIsAskedBack_WhenTheCallbackCommitsAPlace_ThenItIsReleasedWithThat()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync();
        fake.Tell((0, 1), (1, 1));
        Consumer consumer = null!;
        await using var client = new EQueueClient(fake.Address);
        await using (consumer = client.CreateConsumer("g", ["t"], Manual with
        {
            Revoking = async (queues, token) => await consumer.CommitAsync(
                [.. queues.Select(static queue => queue with { Next = new QueueOffset(queue.Next.Value - 4) })], token),
        }))
        {
            await using IAsyncEnumerator<ReceivedBatch> batches =
                consumer.ReadBatchesAsync(Token).GetAsyncEnumerator(Token);
            Assert.True(await batches.MoveNextAsync());
            (int gone, int kept) = (batches.Current.Queue, 1 - batches.Current.Queue);
            Assert.True(await batches.MoveNextAsync());

            fake.Tell((kept, 1));
            await Eventually.TrueAsync(() => fake.Journal.Contains($"own {kept}@1"));

            var journal = fake.Journal.ToList();
            Assert.InRange(journal.IndexOf($"commit {gone}@1=6"), 0, journal.IndexOf($"own {kept}@1"));
            EQueueException late = await Assert.ThrowsAsync<EQueueException>(async () => await consumer.CommitAsync(
                [new QueueProgress("t", gone, new QueueOffset(10), default, default)], Token));
            Assert.Equal(ErrorCode.QueueNotOwned, late.Code);
        }
    }

    private static async Task SendAsync(TestBroker broker, int count)
    {
        await using Producer producer = broker.Client.CreateProducer();
        for (int i = 0; i < count; i++)
            await producer.SendAsync("t", BitConverter.GetBytes(i), cancellationToken: Token);
    }

    /// <returns>The first one's offset.</returns>
    private static async Task<long> ReadAsync(Consumer consumer, int count)
    {
        long first = -1;
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            if (first < 0)
                first = message.Offset.Value;
            if (--count == 0)
                break;
        }

        return first;
    }

    private static async Task<long> CommittedAsync(TestBroker broker) =>
        Assert.Single(await broker.Client.Admin.ReadGroupOffsetsAsync("g", "t", Token)).Value;
}
