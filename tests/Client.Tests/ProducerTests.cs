using System.Text;
using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Client.Tests;

public class ProducerTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private protected virtual Task<TestBroker> StartAsync(FlushPolicy flush = FlushPolicy.Async, int queues = 4) =>
        TestBroker.StartAsync(flush, queues);

    [Fact]
    public async Task GivenNewTopic_WhenOneMessageIsSent_ThenItsReceiptSaysWhereItIs()
    {
        await using TestBroker broker = await StartAsync();
        await using Producer producer = broker.Client.CreateProducer();

        SendReceipt receipt = await producer.SendAsync("orders", "hello"u8, cancellationToken: Token);

        Assert.Equal("orders", receipt.Topic);
        Assert.Equal(0, receipt.Offset.Value);
        Assert.InRange(receipt.Queue, 0, 3);
        Assert.Equal(Durability.Written, receipt.Durability);
        Assert.True(receipt.StoredTimeMs > 0);
    }

    [Fact]
    public async Task GivenATokenThatIsCancelled_WhenSentInAnyWay_ThenTheCallSaysSoAndNothingIsSent()
    {
        await using TestBroker broker = await StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        await producer.SendAsync("orders", "first"u8, key: "k", cancellationToken: Token);
        var over = new CancellationToken(canceled: true);
        Func<Task>[] ways =
        [
            () => producer.SendAsync("orders", "late"u8, key: "k", cancellationToken: over).AsTask(),
            () => producer.SendBatchAsync("orders", [new Message { Key = "k" }], over).AsTask(),
            () => Task.Run(() => producer.Send("orders", new Message { Key = "k" }, over), Token),
            () => Task.Run(
                () => producer.Send("orders", new Message { Key = "k" }, static (_, _, _) => { }, null, over), Token),
            () => Task.Run(() => producer.SendOneway("orders", "late"u8, key: "k", cancellationToken: over), Token),
        ];
        foreach (Func<Task> way in ways)
            Assert.Equal(over, (await Assert.ThrowsAnyAsync<OperationCanceledException>(way)).CancellationToken);

        Assert.Equal(1, (await producer.SendAsync("orders", "second"u8, key: "k", cancellationToken: Token)).Offset.Value);
    }

    [Fact]
    public async Task GivenManyMessages_WhenSentWithoutWaiting_ThenEachIsStoredOnceAndInOrder()
    {
        await using TestBroker broker = await StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        const int Count = 50_000;
        var pending = new ValueTask<SendReceipt>[Count];
        for (int i = 0; i < Count; i++)
        {
            pending[i] = producer.SendAsync(
                "many", BitConverter.GetBytes(i), key: "k" + (i % 10), cancellationToken: Token);
        }

        var places = new HashSet<(int, long)>();
        foreach (ValueTask<SendReceipt> one in pending)
        {
            SendReceipt receipt = await one;
            Assert.True(places.Add((receipt.Queue, receipt.Offset.Value)));
        }

        await using Consumer consumer = broker.Client.CreateConsumer(
            "g", ["many"], new ConsumerOptions { StopAtEnd = true });
        var last = new Dictionary<string, int>();
        int seen = 0;
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            int value = BitConverter.ToInt32(message.Body.Span);
            string key = message.KeyText!;
            Assert.True(value > last.GetValueOrDefault(key, -1));
            last[key] = value;
            seen++;
        }

        Assert.Equal(Count, seen);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(4 * 1024 * 1024)]
    public async Task GivenBodyOfSize_WhenSent_ThenItComesBackUnchanged(int size)
    {
        await using TestBroker broker = await StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        byte[] body = new byte[size];
        new Random(size).NextBytes(body);

        await producer.SendAsync("sized", body, cancellationToken: Token);

        DetachedMessage read = Assert.Single(await ReadAllAsync(broker, "sized"));
        Assert.Equal(body, read.Body);
    }

    [Fact]
    public async Task GivenOneByteTooMany_WhenSent_ThenItIsRefusedBeforeAnythingLeaves()
    {
        await using TestBroker broker = await StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        await producer.SendAsync("sized", "first"u8, cancellationToken: Token);

        EQueueException refusal = await Assert.ThrowsAsync<EQueueException>(
            async () => await producer.SendAsync("sized", new byte[(4 * 1024 * 1024) + 1], cancellationToken: Token));

        Assert.Equal(ErrorCode.MessageTooLarge, refusal.Code);
        Assert.Single(await ReadAllAsync(broker, "sized"));
    }

    [Fact]
    public async Task GivenNullBodyAndManyProperties_WhenSent_ThenTheyComeBackAsTheyWere()
    {
        await using TestBroker broker = await StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        var properties = new RecordProperties();
        for (int i = 0; i < 200; i++)
            properties.Add("name" + i, i % 3 == 0 ? null : "wert-ä-" + i);
        properties.Add("name0", "again");

        await producer.SendAsync("props", new Message(null, null, "täg", properties), Token);
        await producer.SendAsync("props", new Message(ReadOnlyMemory<byte>.Empty, "", ""), Token);

        List<DetachedMessage> read = await ReadAllAsync(broker, "props");
        Assert.Null(read[0].Body);
        Assert.Null(read[0].Key);
        Assert.Equal("täg", read[0].Tag);
        Assert.Equal(201, read[0].Properties.Count);
        Assert.Null(read[0].Properties[3].Value);
        Assert.Equal("wert-ä-100", Encoding.UTF8.GetString(read[0].Properties[100].Value!));
        Assert.Equal("name0", read[0].Properties[200].Key);
        Assert.Equal([], read[1].Body!);
        Assert.Equal([], read[1].Key!);
        Assert.Equal("", read[1].Tag);
        Assert.Empty(read[1].Properties);
    }

    [Theory]
    [InlineData(1, 1)]
    [InlineData(120, 100)]
    [InlineData(100, 200)]
    [InlineData(300, 1)]
    [InlineData(5_000, 300)]
    public async Task GivenKeyAndTagOfAnyLength_WhenSentInEveryWay_ThenTheyComeBackAsTheyWere(int keyLength, int tagLength)
    {
        await using TestBroker broker = await StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        string key = new string('ü', keyLength);
        string tag = new string('€', tagLength);
        var message = new Message("body"u8.ToArray(), key, tag);
        var called = new TaskCompletionSource<ErrorCode>();

        await producer.SendAsync("texts", "body"u8, key, tag, cancellationToken: Token);
        await producer.SendAsync("texts", message, Token);
        await Task.Run(() => producer.Send("texts", "body"u8, key, tag, cancellationToken: Token), Token);
        await Task.Run(() => producer.Send("texts", message, Token), Token);
        producer.Send("texts", message, (_, _, error) => called.SetResult(error?.Code ?? ErrorCode.None), null, Token);
        Assert.Equal(ErrorCode.None, await called.Task.WaitAsync(Token));
        producer.SendOneway("texts", "body"u8, key, tag, cancellationToken: Token);
        await producer.SendBatchAsync("texts", [message], Token);
        await producer.FlushAsync(Token);

        // The oneway one is under way: nothing tells when it is stored.
        List<DetachedMessage> read = [];
        await Eventually.TrueAsync(async () => (read = await ReadAllAsync(broker, "texts")).Count >= 7, "all are stored");
        Assert.Equal(7, read.Count);
        Assert.All(read, each =>
        {
            Assert.Equal(key, Encoding.UTF8.GetString(each.Key!));
            Assert.Equal(tag, each.Tag);
            Assert.Equal("body"u8.ToArray(), each.Body);
        });
    }

    [Fact]
    public async Task GivenOnewaySends_WhenFlushed_ThenTheyArrive()
    {
        await using TestBroker broker = await StartAsync(queues: 2);
        await using Producer producer = broker.Client.CreateProducer();
        for (int i = 0; i < 10_000; i++)
            producer.SendOneway("oneway", BitConverter.GetBytes(i), key: "k" + (i % 4), cancellationToken: Token);
        await producer.FlushAsync(Token);

        await using Consumer consumer = broker.Client.CreateConsumer("g", ["oneway"]);
        int seen = 0;
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            if (++seen == 10_000)
                break;
        }

        Assert.Equal(10_000, seen);
    }

    [Fact]
    public async Task GivenBatchOfMessages_WhenSent_ThenEachHasItsReceipt()
    {
        await using TestBroker broker = await StartAsync(queues: 4);
        await using Producer producer = broker.Client.CreateProducer();
        Message[] messages = Enumerable.Range(0, 20_000)
            .Select(i => new Message(BitConverter.GetBytes(i), i % 7 == 0 ? "key" + i : null)).ToArray();

        BatchReceipt receipts = await producer.SendBatchAsync("batch", messages, Token);

        Assert.Equal(messages.Length, receipts.Count);
        var byPlace = (await ReadAllAsync(broker, "batch")).ToDictionary(m => (m.Queue, m.Offset.Value));
        for (int i = 0; i < messages.Length; i++)
        {
            SendReceipt receipt = receipts[i];
            Assert.Equal(i, BitConverter.ToInt32(byPlace[(receipt.Queue, receipt.Offset.Value)].Body!));
        }
    }

    [Fact]
    public async Task GivenBlockingSends_WhenManyThreadsSend_ThenAllAreStored()
    {
        await using TestBroker broker = await StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        Thread[] threads = Enumerable.Range(0, 8).Select(n => new Thread(() =>
        {
            for (int i = 0; i < 200; i++)
                producer.Send("blocking", BitConverter.GetBytes((n * 1000) + i));
        })).ToArray();
        foreach (Thread? thread in threads)
            thread.Start();
        foreach (Thread? thread in threads)
            thread.Join();

        IEnumerable<int> bodies = (await ReadAllAsync(broker, "blocking")).Select(m => BitConverter.ToInt32(m.Body!));
        Assert.Equal(1600, bodies.Distinct().Count());
    }

    [Fact]
    public async Task GivenCallbacks_WhenSent_ThenEachIsToldOnce()
    {
        await using TestBroker broker = await StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        int[] told = new int[10_000];
        int left = told.Length;
        var done = new TaskCompletionSource();
        for (int i = 0; i < told.Length; i++)
        {
            producer.Send(
                "callbacks",
                new Message(BitConverter.GetBytes(i)),
                (state, receipt, error) =>
                {
                    Assert.Null(error);
                    Interlocked.Increment(ref told[(int)state!]);
                    if (Interlocked.Decrement(ref left) == 0)
                        done.TrySetResult();
                },
                i,
                Token);
        }

        await done.Task.WaitAsync(Token);
        Assert.All(told, count => Assert.Equal(1, count));
    }

    internal static async Task<List<DetachedMessage>> ReadAllAsync(TestBroker broker, string topic)
    {
        await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync(topic, StartPosition.Begin, Token);
        List<DetachedMessage> messages = [];
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
            messages.Add(message.Detach());
        return messages;
    }
}
