using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Topics and groups that do not exist: readers make none, producers say that they made one, near names are
/// told.</summary>
public sealed class MissingTopicTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAMisspeltTopic_WhenAGroupSubscribes_ThenItIsNotMadeAndTheNearNameIsLogged()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await broker.Client.Admin.CreateTopicAsync("orders", cancellationToken: Token);
        var log = new CollectedLog();
        await using var client = new EQueueClient(
            new ClientOptions { Addresses = broker.Address, LoggerFactory = log });
        await using Consumer consumer = client.CreateConsumer("g", ["ordres"]);
        await consumer.JoinAsync(Token);
        Assert.Equal(["orders"], await TopicsAsync(broker));
        Assert.Contains(log.Texts, static text => text.Contains("ordres", StringComparison.Ordinal)
            && text.EndsWith("Did you mean 'orders'?", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenASubscribedTopicThatIsDeleted_WhenTheMemberLooksAgain_ThenItDoesNotComeBack(bool mayCreate)
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await broker.Client.Admin.CreateTopicAsync("orders", new TopicSettings { QueueCount = 7 }, Token);
        var log = new CollectedLog();
        await using var client = new EQueueClient(
            new ClientOptions { Addresses = broker.Address, LoggerFactory = log });
        await using Consumer consumer = client.CreateConsumer("g", ["orders"], new ConsumerOptions
        {
            AutoCreateTopics = mayCreate,
            RouteRefreshInterval = TimeSpan.FromMilliseconds(10),
        });
        await consumer.JoinAsync(Token);
        Assert.Equal(7, consumer.GetProgress().Count);
        await broker.Client.Admin.DeleteTopicAsync("orders", Token);
        await Eventually.TrueAsync(() => consumer.GetProgress().Count == 0);

        for (int i = 0; i < 20; i++)
        {
            await Assert.ThrowsAsync<EQueueException>(
                () => broker.Client.Admin.DescribeTopicAsync("orders", Token).AsTask());
        }

        await consumer.LeaveAsync(Token);
        await consumer.JoinAsync(Token);
        Assert.Equal([], await TopicsAsync(broker));
    }

    [Fact]
    public async Task GivenATopicThatDoesNotExist_WhenAProducerSends_ThenItIsLoggedThatItWasMade()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        var log = new CollectedLog();
        await using var client = new EQueueClient(
            new ClientOptions { Addresses = broker.Address, LoggerFactory = log });
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("ordres", new byte[1], cancellationToken: Token);
        await producer.SendAsync("ordres", new byte[1], cancellationToken: Token);
        LogLine line = Assert.Single(log.Lines, static line => line.Id == 5106);
        Assert.StartsWith("The topic ordres did not exist", line.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAMisspeltTopic_WhenItIsAskedFor_ThenTheFailureNamesTheNearOnes()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await broker.Client.Admin.CreateTopicAsync("orders", cancellationToken: Token);
        await using Producer producer = broker.Client.CreateProducer(new ProducerOptions { AutoCreateTopics = false });
        await using QueueReader reader = broker.Client.CreateReader();
        Func<Task>[] ways =
        [
            () => broker.Client.Admin.DescribeTopicAsync("order", Token).AsTask(),
            () => broker.Client.Admin.ReadLatestAsync("Orders", 1, cancellationToken: Token).AsTask(),
            () => broker.Client.Admin.DeleteTopicAsync("orderss", Token).AsTask(),
            () => reader.AssignAllAsync("oders", StartPosition.Begin, Token).AsTask(),
            () => producer.SendAsync("ordesr", new byte[1], cancellationToken: Token).AsTask(),
        ];
        foreach (Func<Task> way in ways)
        {
            EQueueException exception = await Assert.ThrowsAsync<EQueueException>(way);
            Assert.Equal(ErrorCode.UnknownTopic, exception.Code);
            Assert.EndsWith("Did you mean 'orders'?", exception.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task GivenAMisspeltGroup_WhenItIsAskedFor_ThenTheFailureNamesTheNearOnes()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await broker.Client.Admin.CreateTopicAsync("orders", cancellationToken: Token);
        await broker.Client.Admin.ResetGroupOffsetsAsync(
            "billing", ResetPosition.Begin, "orders", cancellationToken: Token);
        Func<Task>[] ways =
        [
            () => broker.Client.Admin.DescribeGroupAsync("biling", cancellationToken: Token).AsTask(),
            () => broker.Client.Admin.ResetGroupOffsetsAsync(
                "Billing", ResetPosition.Begin, cancellationToken: Token).AsTask(),
            () => broker.Client.Admin.DeleteGroupAsync("bililng", cancellationToken: Token).AsTask(),
        ];
        foreach (Func<Task> way in ways)
        {
            EQueueException exception = await Assert.ThrowsAsync<EQueueException>(way);
            Assert.Equal(ErrorCode.UnknownGroup, exception.Code);
            Assert.EndsWith("Did you mean 'billing'?", exception.Message, StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData("ordres", "orders")]
    [InlineData("ORDERS", "orders")]
    [InlineData("order", "orders")]
    [InlineData("payments", null)]
    [InlineData("or", null)]
    public void GivenAName_WhenNearOnesAreLookedFor_ThenOnlySuchWithFewDifferencesAreNamed(string name, string? near) =>
        Assert.Equal(near is null ? [] : [near], NearNames.Nearest(name, ["orders", "invoices"]));

    private static async Task<List<string>> TopicsAsync(TestBroker broker)
    {
        List<string> topics = [];
        await foreach (TopicListing topic in broker.Client.Admin.ListTopicsAsync(Token))
            topics.Add(topic.Topic);
        return topics;
    }
}
