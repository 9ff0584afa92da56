using EQueue.Protocol;

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
        await using var broker = await TestBroker.StartAsync(queues: 1);
        await broker.Client.Admin.CreateTopicAsync(
            "orders",
            new TopicSettings { MaxBacklogMessages = 10, BacklogPolicy = policy, BacklogGroups = "billing" },
            Token);
        await using var producer = broker.Client.CreateProducer(
            new ProducerOptions { DeliveryTimeout = TimeSpan.FromSeconds(2) });
        var failure = await Assert.ThrowsAsync<EQueueException>(async () =>
        {
            for (var i = 0; i < 30; i++)
                await producer.SendAsync("orders", new byte[8], cancellationToken: Token);
        });
        Assert.Equal(code, failure.Code);
        Assert.Contains("bounded at 10 messages", failure.Message, StringComparison.Ordinal);
        Assert.Contains("billing", failure.Message, StringComparison.Ordinal);
    }
}
