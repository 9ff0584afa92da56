using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client.Tests;

public sealed class SettingsTests
{
    [Theory]
    [InlineData("localhost", "localhost:9490")]
    [InlineData("host.example:1", "host.example:1")]
    [InlineData("127.0.0.1:65535", "127.0.0.1:65535")]
    [InlineData("[::1]:80", "[::1]:80")]
    [InlineData("[::1]", "[::1]:9490")]
    [InlineData("::1", "[::1]:9490")]
    [InlineData("unix:/run/equeue.sock", "unix:/run/equeue.sock")]
    public void GivenAddress_WhenRead_ThenHostAndPortAreKnown(string text, string expected) =>
        Assert.Equal(expected, Assert.Single(ServerAddress.ParseList(text)).ToString());

    [Fact]
    public void GivenSeveralAddresses_WhenRead_ThenEachIsKnown() =>
        Assert.Equal(["a:1", "b:9490"], ServerAddress.ParseList(" a:1, b ,").Select(a => a.ToString()));

    [Theory]
    [InlineData("")]
    [InlineData(" , ")]
    [InlineData("host:0")]
    [InlineData("host:65536")]
    [InlineData("host:x")]
    [InlineData(":9490")]
    [InlineData("two words:1")]
    [InlineData("unix:")]
    [InlineData("unix:equeue.sock")]
    [InlineData("unix:/run/")]
    public void GivenNonsense_WhenReadAsAddress_ThenItIsRefused(string text) =>
        Assert.Throws<ArgumentException>(() => new EQueueClient(text));

    [Fact]
    public async Task GivenSettingsOutOfRange_WhenUsed_ThenTheMessageNamesThem()
    {
        await using var client = new EQueueClient("localhost");
        Refused("BatchBytes", () => client.CreateProducer(new ProducerOptions { BatchBytes = 10 }));
        Refused("MaxInFlight", () => client.CreateProducer(new ProducerOptions { MaxInFlight = 0 }));
        Refused("BufferMemoryBytes", () => client.CreateProducer(new ProducerOptions { BufferMemoryBytes = 1 }));
        Refused("DeliveryTimeout", () => client.CreateProducer(new ProducerOptions { DeliveryTimeout = TimeSpan.Zero }));
        Refused("FetchBytes", () => client.CreateReader(new ReaderOptions { FetchBytes = 1 }));
        Refused("MaxFetchWait", () => client.CreateReader(new ReaderOptions { MaxFetchWait = TimeSpan.Zero }));
        Refused(
            "AutoCommitInterval",
            () => client.CreateConsumer("g", ["t"], new ConsumerOptions { AutoCommitInterval = TimeSpan.Zero }));
        Refused(
            "SessionTimeout",
            () => client.CreateConsumer("g", ["t"], new ConsumerOptions { SessionTimeout = TimeSpan.FromHours(1) }));
        Refused(
            "ReleaseTimeout",
            () => client.CreateConsumer("g", ["t"], new ConsumerOptions { ReleaseTimeout = TimeSpan.FromHours(2) }));
        Refused(
            "RouteRefreshInterval",
            () => client.CreateConsumer("g", ["t"], new ConsumerOptions { RouteRefreshInterval = TimeSpan.Zero }));
        Refused("InstanceId", () => client.CreateConsumer("g", ["t"], new ConsumerOptions { InstanceId = "a/b" }));
        Refused("group", () => client.CreateConsumer("no/slash", ["t"]));
        Refused("topics", () => client.CreateConsumer("g", []));
        Refused("MaxFrameBytes", () => new EQueueClient(new ClientOptions { MaxFrameBytes = 1 }));
        Refused("ClientName", () => new EQueueClient(new ClientOptions { ClientName = null! }));
    }

    [Fact]
    public async Task GivenTheLongestName_WhenConnected_ThenTheBrokerTakesItAndALongerOneIsRefusedBefore()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        var options = new ClientOptions { Addresses = broker.Address, ClientName = new string('n', 249) };
        await using var client = new EQueueClient(options);
        Assert.NotNull(await client.Admin.DescribeBrokerAsync(TestContext.Current.CancellationToken));

        Refused("249", () => new EQueueClient(options with { ClientName = new string('n', 250) }));
    }

    [Theory]
    [InlineData("a/b")]
    [InlineData("")]
    [InlineData("..")]
    public async Task GivenBadTopicName_WhenSentTo_ThenItIsRefusedBeforeAnythingConnects(string topic)
    {
        await using var client = new EQueueClient("127.0.0.1:1");
        await using Producer producer = client.CreateProducer();
        EQueueException refusal =
            await Assert.ThrowsAsync<EQueueException>(async () => await producer.SendAsync(topic, "x"u8));
        Assert.Equal(ErrorCode.InvalidName, refusal.Code);
    }

    [Fact]
    public void GivenSequencesNearTheirEnd_WhenBatchesAreNumbered_ThenTheyGoOnAtZero()
    {
        var pending = new PendingBatches(nextSequence: int.MaxValue - 1);
        SendBatch[] batches = [new SendBatch(null!), new SendBatch(null!)];
        foreach (SendBatch batch in batches)
        {
            batch.Open(
                null!, FrameBuffer.Rent(4096), 4096, SendBatch.MaxRecords, TimeProvider.System, 0, isTraced: false);
            for (int i = 0; i < 5; i++)
                Assert.True(batch.TryAppend(new RecordContent { Body = new OptionalBytes("x"u8) }));
            pending.Add(batch);
            pending.MarkSent(batch, new ProducerSession(1, 0));
        }

        Assert.Equal([int.MaxValue - 1, 3], batches.Select(static batch => batch.Sequence));
        foreach (SendBatch batch in batches)
            batch.Frame!.Dispose();
    }

    [Fact]
    public void GivenBudget_WhenItIsUsedUp_ThenTheNextWaitsForARelease()
    {
        var budget = new SendBudget(100);
        Assert.True(budget.TryReserve(60));
        Assert.False(budget.TryReserve(60));
        Task released = budget.WhenReleased();
        Assert.False(released.IsCompleted);
        budget.Release(60);
        Assert.True(released.IsCompleted);
        Assert.True(budget.TryReserve(1000), "A single buffer larger than all is let in when nothing else is held.");
        Assert.False(budget.TryReserve(1));
    }

    private static void Refused(string name, Func<object> make) =>
        Assert.Contains(name, Assert.ThrowsAny<ArgumentException>(make).Message, StringComparison.Ordinal);
}
