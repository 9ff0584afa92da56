namespace EQueue.Client.Tests;

/// <summary>A loop that is asked to stop while its handler runs: what was handled is processed, and nothing
/// else.</summary>
public sealed class GracefulStopTests
{
    private const int Count = 5;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenAHandlerThatRuns_WhenTheLoopIsAskedToStop_ThenItsMessageIsCommittedAndNotGivenAgain(
        bool isBroadcast)
    {
        await using TestBroker broker = await StartAsync();
        var options = new ConsumerOptions
        {
            IsBroadcast = isBroadcast,
            InstanceId = isBroadcast ? "one" : null,
            AutoCommitInterval = TimeSpan.FromMinutes(10),
        };
        var handled = new List<long>();
        await using (Consumer consumer = broker.Client.CreateConsumer("g", ["t"], options))
            await HandleSomeAsync(consumer.ReadAllAsync, handled);
        Assert.Equal([0, 1, 2], handled);

        await using Consumer next = broker.Client.CreateConsumer("g", ["t"], options with { StopAtEnd = true });
        await foreach (ReceivedMessage message in next.ReadAllAsync(Token))
            handled.Add(message.Offset.Value);
        Assert.Equal([0, 1, 2, 3, 4], handled);
    }

    [Fact]
    public async Task GivenAHandlerOfABatchThatRuns_WhenTheLoopIsAskedToStop_ThenTheBatchIsCommitted()
    {
        await using TestBroker broker = await StartAsync();
        using var stop = new CancellationTokenSource();
        await using (Consumer consumer = broker.Client.CreateConsumer("g", ["t"]))
        {
            await Assert.ThrowsAnyAsync<OperationCanceledException>(async () =>
            {
                await foreach (ReceivedBatch batch in consumer.ReadBatchesAsync(stop.Token))
                {
                    if (batch.FirstOffset.Value == 2)
                        await stop.CancelAsync();
                }
            });
            Assert.Equal(3, Assert.Single(consumer.GetProgress()).Next.Value);
        }

        Assert.Equal(3, await CommittedAsync(broker));
    }

    [Fact]
    public async Task GivenManualCommits_WhenTheLoopIsAskedToStop_ThenWhatIsProcessedCountsTheMessageInHand()
    {
        await using TestBroker broker = await StartAsync();
        await using Consumer consumer =
            broker.Client.CreateConsumer("g", ["t"], new ConsumerOptions { AutoCommit = false });
        await HandleSomeAsync(consumer.ReadAllAsync, []);
        await consumer.CommitAsync(Token);
        Assert.Equal(3, await CommittedAsync(broker));
    }

    [Fact]
    public async Task GivenAReaderOfNamedQueues_WhenItsLoopIsAskedToStop_ThenTheMessageInHandIsProcessed()
    {
        await using TestBroker broker = await StartAsync();
        await using QueueReader reader = broker.Client.CreateReader();
        await reader.AssignAllAsync("t", StartPosition.Begin, Token);
        await HandleSomeAsync(reader.ReadAllAsync, []);
        await reader.CommitAsync("g", Token);
        Assert.Equal(3, await CommittedAsync(broker));
    }

    [Fact]
    public async Task GivenAHandlerThatThrowsWhenItIsAskedToStop_WhenTheConsumerEnds_ThenItsMessageIsNotCommitted()
    {
        await using TestBroker broker = await StartAsync();
        using var stop = new CancellationTokenSource();
        await using (Consumer consumer = broker.Client.CreateConsumer("g", ["t"]))
        {
            await Assert.ThrowsAnyAsync<OperationCanceledException>(async () =>
            {
                await foreach (ReceivedMessage message in consumer.ReadAllAsync(stop.Token))
                {
                    if (message.Offset.Value < 2)
                        continue;
                    await stop.CancelAsync();
                    stop.Token.ThrowIfCancellationRequested();
                }
            });
        }

        Assert.Equal(2, await CommittedAsync(broker));
    }

    [Fact]
    public async Task GivenALoopThatBreaks_WhenTheConsumerEnds_ThenItsLastMessageIsNotCommitted()
    {
        await using TestBroker broker = await StartAsync();
        await using (Consumer consumer = broker.Client.CreateConsumer("g", ["t"]))
        {
            await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            {
                if (message.Offset.Value == 2)
                    break;
            }
        }

        Assert.Equal(2, await CommittedAsync(broker));
    }

    [Fact]
    public async Task GivenAHandlerThatSeeks_WhenTheLoopIsAskedToStop_ThenTheNewPlaceHolds()
    {
        await using TestBroker broker = await StartAsync();
        await using QueueReader reader = broker.Client.CreateReader();
        await reader.AssignAllAsync("t", StartPosition.Begin, Token);
        using var stop = new CancellationTokenSource();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () =>
        {
            await foreach (ReceivedMessage message in reader.ReadAllAsync(stop.Token))
            {
                if (message.Offset.Value < 2)
                    continue;
                await reader.SeekAsync("t", 0, StartPosition.Begin, Token);
                await stop.CancelAsync();
            }
        });
        Assert.Equal(0, Assert.Single(await reader.PullAsync(1, TimeSpan.FromSeconds(30), Token)).Offset.Value);
    }

    [Fact]
    public async Task GivenABrokerThatIsJustRestarting_WhenTheConsumerEnds_ThenItsProgressIsCommittedWhenItIsBack()
    {
        await using TestBroker broker = await StartAsync();
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = broker.Address,
            CloseTimeout = TimeSpan.FromMinutes(1),
        });
        Consumer consumer = client.CreateConsumer(
            "g", ["t"], new ConsumerOptions { AutoCommitInterval = TimeSpan.FromMinutes(10) });
        await HandleSomeAsync(consumer.ReadAllAsync, []);
        await broker.StopAsync();
        ValueTask ending = consumer.DisposeAsync();
        await broker.StartBrokerAsync();
        await ending;
        Assert.Equal(3, await CommittedAsync(broker));
    }

    private static async Task HandleSomeAsync(
        Func<CancellationToken, IAsyncEnumerable<ReceivedMessage>> read, List<long> handled)
    {
        using var stop = new CancellationTokenSource();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () =>
        {
            await foreach (ReceivedMessage message in read(stop.Token))
            {
                long offset = message.Offset.Value;
                if (offset == 2)
                    await stop.CancelAsync();

                // The work is finished after the stop was asked for.
                await Task.Yield();
                handled.Add(offset);
            }
        });
    }

    private static async Task<long> CommittedAsync(TestBroker broker) =>
        (await broker.Client.Admin.ReadGroupOffsetsAsync("g", "t", Token))[0].Value;

    /// <summary>A topic of one queue with five batches of one message.</summary>
    private static async Task<TestBroker> StartAsync()
    {
        TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        for (int i = 0; i < Count; i++)
            await producer.SendAsync("t", new byte[8], cancellationToken: Token);
        return broker;
    }
}
