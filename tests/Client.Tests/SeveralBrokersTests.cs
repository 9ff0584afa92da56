using EQueue.Support;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Client.Tests;

/// <summary>A client of two real brokers, each with its own share of a topic.</summary>
public sealed class SeveralBrokersTests
{
    private const string Topic = TwoBrokers.Topic;
    private const int KeyCount = 40;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenTwoBrokers_WhenSent_ThenBothHaveAShareAndEachMessageIsReadWhereItsReceiptSays()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        await using Producer producer = plant.Client.CreateProducer(new ProducerOptions { BatchBytes = 1024 });
        SendReceipt[] receipts =
            await Task.WhenAll(Enumerable.Range(0, 2000).Select(i => SendAsync(producer, i, i % 2 == 0)));

        Assert.Equal(Enumerable.Range(0, 8), receipts.Select(static receipt => receipt.Queue).Distinct().Order());
        Assert.Equal(2000, receipts.Select(static receipt => (receipt.Queue, receipt.Offset)).Distinct().Count());
        Dictionary<int, (int Queue, long Offset)> read = await TwoBrokers.ReadAllAsync(plant.Client);
        Assert.Equal(2000, read.Count);
        for (int i = 0; i < 2000; i++)
            Assert.Equal((receipts[i].Queue, receipts[i].Offset.Value), read[i]);
        await using Consumer group =
            plant.Client.CreateConsumer("g", [Topic], new ConsumerOptions { StopAtEnd = true });
        Dictionary<int, (int, long)> ofGroup = [];
        await foreach (ReceivedMessage message in group.ReadAllAsync(Token))
            ofGroup.Add(TwoBrokers.Number(message), (message.Queue, message.Offset.Value));
        Assert.Equal(read.OrderBy(static pair => pair.Key), ofGroup.OrderBy(static pair => pair.Key));
    }

    [Fact]
    public async Task GivenABrokerThatIsAway_WhenSent_ThenMessagesWithoutKeyGoRoundItAndKeysWaitForIt()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        await using Producer producer = plant.Client.CreateProducer(new ProducerOptions { BatchBytes = 1024 });
        await Task.WhenAll(Enumerable.Range(0, 200).Select(i => SendAsync(producer, i, isKeyed: true)));
        await plant.Second.StopAsync();

        Task<SendReceipt>[] keyed =
            Enumerable.Range(200, 400).Select(i => SendAsync(producer, i, isKeyed: true)).ToArray();
        SendReceipt[] free =
            await Task.WhenAll(Enumerable.Range(600, 1000).Select(i => SendAsync(producer, i, isKeyed: false)))
            .WaitAsync(TimeSpan.FromSeconds(10), Token);
        Assert.All(free, static receipt => Assert.Equal(0, receipt.Queue % 2));
        await Eventually.TrueAsync(() => keyed.Count(static send => send.IsCompleted) > 100);
        Assert.Contains(keyed, static send => !send.IsCompleted);
        await plant.Second.StartBrokerAsync();
        SendReceipt[] receipts = await Task.WhenAll(keyed).WaitAsync(TimeSpan.FromSeconds(20), Token);

        Assert.Contains(receipts, static receipt => receipt.Queue % 2 == 1);
        SendReceipt[] again =
            await Task.WhenAll(Enumerable.Range(1600, 1000).Select(i => SendAsync(producer, i, isKeyed: false)));
        Assert.Contains(again, static receipt => receipt.Queue % 2 == 1);
        Assert.Equal(2600, (await TwoBrokers.ReadAllAsync(plant.Client)).Count);
    }

    [Fact]
    public async Task GivenMessagesInAnAwayBrokersOpenBatch_WhenItStaysAway_ThenTheOtherTakesThem()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        await using Producer producer = plant.Client.CreateProducer(
            new ProducerOptions { BatchBytes = 64 * 1024, Linger = TimeSpan.FromSeconds(3) });
        (TestBroker there, int share) = await FindOpenBatchAsync(plant, producer);
        Task<SendReceipt>[] waiting =
            Enumerable.Range(1, 10).Select(i => SendAsync(producer, i, isKeyed: false)).ToArray();
        await there.StopAsync();

        SendReceipt[] receipts = await Task.WhenAll(waiting).WaitAsync(TimeSpan.FromSeconds(10), Token);
        Assert.All(receipts, receipt => Assert.NotEqual(share, receipt.Queue % 2));
        await there.StartBrokerAsync();
        Assert.Equal(11, (await TwoBrokers.ReadAllAsync(plant.Client)).Count);
    }

    [Fact]
    public async Task GivenKeysInAnAwayBrokersOpenBatch_WhenOthersAreSentBehindThem_ThenOnlyTheKeysWait()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        await using Producer producer = plant.Client.CreateProducer(
            new ProducerOptions { BatchBytes = 64 * 1024, Linger = TimeSpan.FromSeconds(3) });
        (TestBroker there, int share) = await FindOpenBatchAsync(plant, producer);
        Task<SendReceipt>[] keyed =
            Enumerable.Range(1, 60).Select(i => SendAsync(producer, i, isKeyed: true)).ToArray();
        Task<SendReceipt>[] free =
            Enumerable.Range(61, 10).Select(i => SendAsync(producer, i, isKeyed: false)).ToArray();
        await there.StopAsync();

        SendReceipt[] receipts = await Task.WhenAll(free).WaitAsync(TimeSpan.FromSeconds(10), Token);
        Assert.All(receipts, receipt => Assert.NotEqual(share, receipt.Queue % 2));
        Assert.Contains(keyed, static send => !send.IsCompleted);
        await there.StartBrokerAsync();
        await Task.WhenAll(keyed).WaitAsync(TimeSpan.FromSeconds(20), Token);
        Assert.Equal(71, (await TwoBrokers.ReadAllAsync(plant.Client)).Count);
    }

    [Fact]
    public async Task GivenABrokerThatWasNeverSeen_WhenSentAndRead_ThenTheOtherServesAndItsOwnShareFollows()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        await plant.Second.StopAsync();
        await using EQueueClient client = plant.NewClient();
        await using Producer producer = client.CreateProducer(new ProducerOptions { BatchBytes = 1024 });
        await using Consumer consumer = client.CreateConsumer("g", [Topic]);
        var seen = new SeenMessages(consumer, Token);
        SendReceipt free = await SendAsync(producer, 0, isKeyed: false).WaitAsync(TimeSpan.FromSeconds(5), Token);
        Assert.Equal(0, free.Queue % 2);
        await Eventually.TrueAsync(() => seen.Count == 1);

        Task<SendReceipt>[] keyed =
            Enumerable.Range(1, 200).Select(i => SendAsync(producer, i, isKeyed: true)).ToArray();
        await Assert.ThrowsAsync<EQueueException>(() => TwoBrokers.ReadAllAsync(client));
        Assert.DoesNotContain(keyed, static send => send.IsCompleted);

        // Who flushes, or sends keys in batches, waits for that broker; who has no keys does not wait behind them.
        Task flush = producer.FlushAsync(Token).AsTask();
        Task<BatchReceipt> batch =
            producer.SendBatchAsync(Topic, [new Message("201"u8.ToArray(), "key-1")], Token).AsTask();
        await SendAsync(producer, 202, isKeyed: false).WaitAsync(TimeSpan.FromSeconds(5), Token);
        Assert.False(flush.IsCompleted || batch.IsCompleted);
        await plant.Second.StartBrokerAsync();
        await batch.WaitAsync(TimeSpan.FromSeconds(20), Token);
        await flush.WaitAsync(TimeSpan.FromSeconds(20), Token);
        SendReceipt[] receipts = await Task.WhenAll(keyed).WaitAsync(TimeSpan.FromSeconds(20), Token);

        Assert.Contains(receipts, static receipt => receipt.Queue % 2 == 1);
        await Eventually.TrueAsync(() => seen.Count == 203);
        Assert.Equal(203, (await TwoBrokers.ReadAllAsync(client)).Count);
    }

    [Fact]
    public async Task GivenKeysOfABrokerThatStaysAway_WhenTheirTimeIsOver_ThenTheyFailWithTimeoutAndOthersWereSent()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        await using Producer producer = plant.Client.CreateProducer(
            new ProducerOptions { DeliveryTimeout = TimeSpan.FromSeconds(2), RequestTimeout = TimeSpan.FromSeconds(1) });
        await SendAsync(producer, 0, isKeyed: true);
        await plant.Second.StopAsync();

        Task<SendReceipt>[] sends =
            Enumerable.Range(0, KeyCount).Select(i => SendAsync(producer, i, isKeyed: true)).ToArray();
        await Eventually.TrueAsync(() => Array.TrueForAll(sends, static send => send.IsCompleted));
        Assert.Contains(sends, static send => send.IsCompletedSuccessfully);
        Assert.All(
            sends.Where(static send => send.IsFaulted),
            static send => Assert.Equal(ErrorCode.Timeout, ((EQueueException)send.Exception!.InnerException!).Code));
        Assert.Contains(sends, static send => send.IsFaulted);
    }

    [Fact]
    public async Task GivenBothBrokersRestarted_WhenAMemberReads_ThenNothingIsMissingOrTwice()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        await using Consumer consumer = plant.Client.CreateConsumer("g", [Topic]);
        await using Producer producer = plant.Client.CreateProducer(new ProducerOptions { BatchBytes = 1024 });
        var seen = new SeenMessages(consumer, Token);
        for (int round = 0; round < 4; round++)
        {
            int from = round * 500;
            Task<SendReceipt>[] sends =
                Enumerable.Range(from, 500).Select(i => SendAsync(producer, i, i % 3 == 0)).ToArray();
            await (round % 2 == 0 ? plant.First : plant.Second).RestartAsync();
            await Task.WhenAll(sends).WaitAsync(TimeSpan.FromSeconds(30), Token);
        }

        await Eventually.TrueAsync(() => seen.Distinct == 2000);
        Assert.Equal(2000, (await TwoBrokers.ReadAllAsync(plant.Client)).Count);
    }

    [Fact]
    public async Task GivenOneBrokerUnderTwoAddresses_WhenSentAndRead_ThenItHasOneShare()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        string other = broker.Address.Replace("127.0.0.1", "localhost", StringComparison.Ordinal);
        await using var client = new EQueueClient($"{broker.Address},{other}");
        TopicDescription topic =
            await client.Admin.CreateTopicAsync(Topic, new TopicSettings { QueueCount = 3 }, Token);
        Assert.Equal(3, topic.Queues.Count);
        await using Producer producer = client.CreateProducer(new ProducerOptions { BatchBytes = 1024 });
        SendReceipt[] receipts =
            await Task.WhenAll(Enumerable.Range(0, 500).Select(i => SendAsync(producer, i, i % 2 == 0)));

        Assert.Equal(3, receipts.Select(static receipt => receipt.Queue).Distinct().Count());
        Assert.Equal(500, (await TwoBrokers.ReadAllAsync(client)).Count);
        Assert.Equal(500, (await TwoBrokers.ReadAllAsync(broker.Client)).Count);
    }

    [Fact]
    public async Task GivenAKnownBrokerThatIsAway_WhenAllQueuesAreAssigned_ThenNoneIsAndALaterAttemptTakesThemAll()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = $"{plant.First.Address},{plant.Second.Address}",
            RequestTimeout = TimeSpan.FromSeconds(1),
        });
        await using Producer producer = client.CreateProducer();
        await SendAsync(producer, 0, isKeyed: false);
        await plant.Second.StopAsync();
        await using QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await Assert.ThrowsAsync<EQueueException>(
            () => reader.AssignAllAsync(Topic, StartPosition.Begin, Token).AsTask());
        Assert.Empty(reader.GetProgress());

        await plant.Second.StartBrokerAsync();
        await Eventually.TrueAsync(async () =>
        {
            try
            {
                await reader.AssignAllAsync(Topic, StartPosition.Begin, Token);
                return true;
            }
            catch (EQueueException)
            {
                Assert.Empty(reader.GetProgress());
                return false;
            }
        });
        Assert.Equal(8, reader.GetProgress().Count);
    }

    [Fact]
    public async Task GivenALoggerFactoryThatThrows_WhenARouteIsAskedFor_ThenThatIsToldAndNotACancellation()
    {
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = "localhost:1,localhost:2",
            LoggerFactory = new BrokenLoggerFactory(),
        });
        await using QueueReader reader = client.CreateReader();
        EQueueException failure = await Assert.ThrowsAsync<EQueueException>(
            () => reader.AssignAllAsync(Topic, StartPosition.Begin, Token).AsTask());
        Assert.Equal(ErrorCode.InternalError, failure.Code);
        Assert.Equal("No log here.", Assert.IsType<InvalidOperationException>(failure.InnerException).Message);
    }

    /// <summary>Sends message 0.</summary>
    /// <returns>The broker to which messages without a key go now, and its queues' number modulo 2.</returns>
    private static async Task<(TestBroker There, int Share)> FindOpenBatchAsync(TwoBrokers plant, Producer producer)
    {
        Task<SendReceipt> first = SendAsync(producer, 0, isKeyed: false);
        await producer.FlushAsync(Token);
        int share = (await first).Queue % 2;
        return (share == 0 ? plant.First : plant.Second, share);
    }

    private static Task<SendReceipt> SendAsync(Producer producer, int number, bool isKeyed) =>
        TwoBrokers.SendAsync(producer, number, isKeyed ? $"key-{number % KeyCount}" : null);

    /// <summary>What a member has been given, gathered in the background.</summary>
    private sealed class SeenMessages
    {
        private readonly List<int> _numbers = [];

        public SeenMessages(Consumer consumer, CancellationToken cancellationToken) =>
            _ = RunAsync(consumer, cancellationToken);

        public int Count
        {
            get
            {
                lock (_numbers)
                    return _numbers.Count;
            }
        }

        public int Distinct
        {
            get
            {
                lock (_numbers)
                    return _numbers.Distinct().Count();
            }
        }

        private async Task RunAsync(Consumer consumer, CancellationToken cancellationToken)
        {
            await foreach (ReceivedMessage message in consumer.ReadAllAsync(cancellationToken))
            {
                lock (_numbers)
                    _numbers.Add(TwoBrokers.Number(message));
            }
        }
    }

    /// <summary>Gives no logger to connections.</summary>
    private sealed class BrokenLoggerFactory : ILoggerFactory
    {
        public ILogger CreateLogger(string categoryName) => categoryName == "EQueue.Client"
            ? throw new InvalidOperationException("No log here.")
            : NullLogger.Instance;

        public void AddProvider(ILoggerProvider provider)
        {
        }

        public void Dispose()
        {
        }
    }
}
