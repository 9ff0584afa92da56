using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>When a batch that is not full leaves, and when it keeps gathering.</summary>
public sealed class OpenBatchTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenATopicWhoseBatchesNeverStop_WhenAnotherHasOneMessage_ThenThatLeavesAmongThem()
    {
        const int InFlight = 2;
        const int MostAnswers = 4 * InFlight;
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(
            new ProducerOptions { BatchBytes = 1024, MaxInFlight = InFlight });
        await producer.SendAsync("heavy", "first"u8.ToArray(), cancellationToken: Token);
        await producer.SendAsync("light", "first"u8.ToArray(), cancellationToken: Token);
        fake.Judge = static _ => Verdict.Hold;

        // Each fills a batch.
        List<Task<SendReceipt>> sends = [];
        for (int i = 0; i < 100; i++)
            sends.Add(producer.SendAsync("heavy", new byte[900], cancellationToken: Token).AsTask());
        sends.Add(producer.SendAsync("light", "second"u8.ToArray(), cancellationToken: Token).AsTask());

        int answers = 0;
        while (fake.RequestsFor("light").Count < 2)
        {
            // Something is under way at any time.
            await Eventually.TrueAsync(() => fake.TryReleaseOldest(InFlight), "as many as may be are under way");
            Assert.True(++answers <= MostAnswers, $"{answers} answers came, and it has not left");
        }

        fake.Release();
        await Task.WhenAll(sends);
    }

    [Fact]
    public async Task GivenABatchThatWaitsToBeSentAgain_WhenMessagesFollowOneByOne_ThenTheyGatherBehindIt()
    {
        const int Messages = 100;
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(
            new ProducerOptions { RetryBackoffMin = TimeSpan.FromMilliseconds(300) });
        await producer.SendAsync("t", "first"u8.ToArray(), cancellationToken: Token);
        fake.Refusal = ErrorCode.StorageFull;
        fake.Script = static number => number == 1 ? Verdict.RefuseFirst : Verdict.Store;
        List<Task<SendReceipt>> sends =
            [producer.SendAsync("t", "refused"u8.ToArray(), cancellationToken: Token).AsTask()];
        await Eventually.TrueAsync(() => fake.ProduceCount == 2, "it was refused");
        for (int i = 0; i < Messages; i++)
        {
            sends.Add(producer.SendAsync("t", BitConverter.GetBytes(i), cancellationToken: Token).AsTask());
            await Task.Yield();
        }

        await Task.WhenAll(sends);
        int batches = fake.Requests.Sum(static request => request.Batches.Count);

        // The first, the refused twice, those that followed.
        Assert.InRange(batches, 4, 6);
    }
}
