namespace EQueue.Client.Tests;

/// <summary>What a client may not do fails at once, by itself, and says with what.</summary>
public sealed class NotAuthorizedTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenATopicThatMayNotBeWritten_WhenSentTo_ThenTheSendFailsAtOnceAndOthersGoOn()
    {
        await using FakeBroker broker = await FakeBroker.StartAsync();
        broker.Refusal = ErrorCode.NotAuthorized;
        broker.Script = static number => number is 0 or 1 ? Verdict.RefuseFirst : Verdict.Store;
        await using var client = new EQueueClient(broker.Address);
        await using Producer producer = client.CreateProducer();
        for (int send = 0; send < 2; send++)
        {
            EQueueException refused = await Assert.ThrowsAsync<EQueueException>(
                () => producer.SendAsync("secret", BitConverter.GetBytes(1), cancellationToken: Token).AsTask());
            Assert.Equal(ErrorCode.NotAuthorized, refused.Code);
            Assert.Contains("secret", refused.Message, StringComparison.Ordinal);
        }

        await producer.SendAsync("open", BitConverter.GetBytes(7), cancellationToken: Token);
        await producer.SendAsync("secret", BitConverter.GetBytes(8), cancellationToken: Token);
        Assert.Equal([7, 8], broker.All().Order());

        // The session is as it was: a refusal is no reason to begin another one.
        Assert.Equal((1, 1), (broker.InitCount, (int)broker.Hellos.Count(static _ => true) - 1));
    }

    [Fact]
    public async Task GivenAQueueThatMayNotBeReadAnyMore_WhenFetched_ThenTheReadersLoopEndsWithThat()
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(5);
        fake.QueueError = static offset => offset >= 20 ? ErrorCode.NotAuthorized : ErrorCode.None;
        await using var client = new EQueueClient(fake.Address);
        await using QueueReader reader = client.CreateReader();
        await reader.AssignAsync("t", 0, StartPosition.Begin, Token);
        int count = 0;
        EQueueException ended = await Assert.ThrowsAsync<EQueueException>(async () =>
        {
            await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
                count++;
        });
        AssertNamesTheQueue(ended);
        Assert.Equal(20, count);
    }

    [Fact]
    public async Task GivenAQueueThatMayNotBeReadAnyMore_WhenAGroupFetchesIt_ThenTheConsumersLoopEndsWithThat()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1);
        fake.QueueError = static _ => ErrorCode.NotAuthorized;
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"]);
        fake.Tell((0, 1));
        EQueueException ended = await Assert.ThrowsAsync<EQueueException>(async () =>
        {
            await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
                Assert.Fail($"{message.Offset} was read.");
        });
        AssertNamesTheQueue(ended);
    }

    [Fact]
    public async Task GivenAGroupThatMayNotBeJoined_WhenJoined_ThenTheConsumerEndsWithThat()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1);
        fake.MeetBeat = static _ => ErrorCode.NotAuthorized;
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"]);
        EQueueException ended = await Assert.ThrowsAsync<EQueueException>(() => consumer.JoinAsync(Token).AsTask());
        Assert.Equal(ErrorCode.NotAuthorized, ended.Code);
    }

    private static void AssertNamesTheQueue(EQueueException ended)
    {
        Assert.Equal(ErrorCode.NotAuthorized, ended.Code);
        Assert.Contains("t/0", ended.Message, StringComparison.Ordinal);
    }
}
