namespace EQueue.Client.Tests;

/// <summary>A topic whose backlog is at its bound: what fails for it says so.</summary>
public sealed class FullTopicTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(BacklogPolicy.Block, ErrorCode.Timeout)]
    [InlineData(BacklogPolicy.Reject, ErrorCode.QueueFull)]
    public async Task GivenATopicThatIsFull_WhenASendFails_ThenItNamesTheBoundAndTheGroup(
        BacklogPolicy policy, ErrorCode code)
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await broker.Client.Admin.CreateTopicAsync(
            "orders",
            new TopicSettings { MaxBacklogMessages = 10, BacklogPolicy = policy, BacklogGroups = "billing" },
            Token);
        await using Producer producer = broker.Client.CreateProducer(
            new ProducerOptions { DeliveryTimeout = TimeSpan.FromSeconds(2) });
        EQueueException failure = await Assert.ThrowsAsync<EQueueException>(async () =>
        {
            for (int i = 0; i < 30; i++)
                await producer.SendAsync("orders", new byte[8], cancellationToken: Token);
        });
        Assert.Equal(code, failure.Code);
        Assert.Contains("bounded at 10 messages", failure.Message, StringComparison.Ordinal);
        Assert.Contains("billing", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenATopicThatIsFull_WhenMessagesFindNoMemoryEither_ThenTheFailureSaysWhoHoldsItAndWhy()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await broker.Client.Admin.CreateTopicAsync(
            "orders", new TopicSettings { MaxBacklogMessages = 10, BacklogGroups = "billing" }, Token);
        await using Producer producer = broker.Client.CreateProducer(new ProducerOptions
        {
            BatchBytes = 64 << 10,
            BufferMemoryBytes = 256 << 10,
            DeliveryTimeout = TimeSpan.FromSeconds(5),
        });
        for (int i = 0; i < 10; i++)
            await producer.SendAsync("orders", new byte[8], cancellationToken: Token);
        Task[] sends =
        [
            .. Enumerable.Range(0, 100).Select(
                _ => producer.SendAsync("orders", new byte[16 << 10], cancellationToken: Token).AsTask()),
        ];
        await ((Task)Task.WhenAll(sends)).ConfigureAwait(
            ConfigureAwaitOptions.SuppressThrowing | ConfigureAwaitOptions.ContinueOnCapturedContext);
        string[] failures = [.. sends.Select(static send => send.Exception!.InnerException!.Message)];
        Assert.Contains(failures, static words => words.StartsWith(
            "No memory for a message to orders within 5 s: ", StringComparison.Ordinal)
            && words.Contains(" of 262144 bytes are held by messages that are not acknowledged: ", StringComparison.Ordinal)
            && words.Contains("bounded at 10 messages", StringComparison.Ordinal)
            && words.Contains("billing", StringComparison.Ordinal));
    }
}
