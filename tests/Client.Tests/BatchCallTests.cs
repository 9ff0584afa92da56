using System.Globalization;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>What a call of many messages promises: those of one queue are stored together or not at all, one after the
/// other with nothing between them, and a call costs its receipt.</summary>
public sealed class BatchCallTests
{
    private const int PerCall = 10;

    private static readonly ProducerOptions SmallBatches = new() { BatchBytes = 2048 };

    private static readonly ProducerOptions LittleMemory = new() { BatchBytes = 1024, BufferMemoryBytes = 8 * 1024 };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(RecordCodec.None, 1)]
    [InlineData(RecordCodec.Zstd, 3)]
    public async Task GivenCallsAndSinglesFromManyThreads_WhenStored_ThenNoCallIsCutAndEachThreadKeepsItsOrder(
        RecordCodec codec, int queues)
    {
        const int Threads = 8;
        await using TestBroker broker = await TestBroker.StartAsync(queues: queues);
        await using Producer producer = broker.Client.CreateProducer(SmallBatches with { Compression = codec });
        await producer.SendAsync("t", Body(-1), cancellationToken: Token);

        Task<List<(int First, BatchReceipt Receipts)>>[] threads =
            [.. Enumerable.Range(0, Threads).Select(thread => OwnThread.Run(() => SendMixed(producer, thread)))];
        List<(int First, BatchReceipt Receipts)> calls = [.. (await Task.WhenAll(threads)).SelectMany(static all => all)];

        Dictionary<(int Queue, long Offset), (int Value, int Batch)> stored = await ReadBatchesAsync(broker, "t");
        foreach ((int first, BatchReceipt receipts) in calls)
        {
            (int queue, long offset) = (receipts[0].Queue, receipts[0].Offset.Value);
            int batch = stored[(queue, offset)].Batch;
            for (int i = 0; i < receipts.Count; i++)
            {
                Assert.Equal((queue, offset + i), (receipts[i].Queue, receipts[i].Offset.Value));
                Assert.Equal((first + i, batch), stored[(queue, offset + i)]);
            }
        }

        Assert.Equal(Threads * 4_000, stored.Count - 1);
        Assert.All(
            stored.OrderBy(static one => one.Key.Offset)
                .GroupBy(static one => (one.Key.Queue, Thread: one.Value.Value / 10_000), static one => one.Value.Value),
            static ofThread => Assert.Equal(ofThread.Order(), ofThread));
    }

    [Fact]
    public async Task GivenARunLargerThanWhatIsLeft_WhenSent_ThenTheBatchIsClosedAndTheNextOneBeginsWithIt()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(SmallBatches with { Linger = TimeSpan.FromMinutes(1) });
        List<Task> sends = [];
        sends.Add(producer.SendBatchAsync("t", Messages(0, 3, 500), Token).AsTask());
        await Eventually.TrueAsync(() => producer.BufferedBytes > 0, "the route is known");
        sends.Add(producer.SendBatchAsync("t", Messages(3, 3, 300), Token).AsTask());
        sends.Add(producer.SendAsync("t", Body(6), cancellationToken: Token).AsTask());
        sends.Add(producer.SendBatchAsync("t", Messages(7, 2, 100), Token).AsTask());
        await producer.FlushAsync(Token);

        await Task.WhenAll(sends);
        FakeBatch[] batches = [.. fake.Requests.SelectMany(static request => request.Batches)];
        Assert.Equal([(0, 3), (3, 6)], batches.Select(static batch => (batch.FirstBody, batch.Records)));
    }

    [Fact]
    public async Task GivenACallLargerThanABatch_WhenSent_ThenItIsCutIntoFullBatchesAndEachMessageHasItsReceipt()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer(SmallBatches);
        List<Message> messages = [.. Messages(0, 1_000, 20)];
        messages[500] = new Message(Body(500, 10_000));

        BatchReceipt receipts = await producer.SendBatchAsync("t", messages, Token);

        Assert.Equal(Enumerable.Range(0, 1_000), receipts.Select(static receipt => (int)receipt.Offset.Value));
        Dictionary<(int Queue, long Offset), (int Value, int Batch)> stored = await ReadBatchesAsync(broker, "t");
        Assert.All(stored, static one => Assert.Equal(one.Key.Offset, one.Value.Value));
        Assert.Single(stored.Values, one => one.Batch == stored[(0, 500)].Batch);

        // Of some 28 bytes each; the large one travels alone.
        Assert.InRange(stored.Values.Select(static one => one.Batch).Distinct().Count(), 14, 18);
    }

    [Fact]
    public async Task GivenNeighboursWithKeysOfOneQueue_WhenSent_ThenTheyAreStoredTogether()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 4);
        await using Producer producer = broker.Client.CreateProducer(SmallBatches);
        string[] keys = [.. Enumerable.Range(0, 100).Select(static i => i.ToString(CultureInfo.InvariantCulture))];
        await producer.SendAsync("t", Body(-1), cancellationToken: Token);
        for (int call = 0; call < 100; call++)
        {
            int first = call * PerCall;
            BatchReceipt receipts = await producer.SendBatchAsync(
                "t",
                [.. Enumerable.Range(0, PerCall).Select(i => new Message(
                    Body(first + i), i < 2 ? null : keys[(call + (i / 6)) % keys.Length], i % 3 == 0 ? "tag" : null))],
                Token);
            Assert.Equal(receipts[0].Offset.Value + 1, receipts[1].Offset.Value);
            Assert.Equal(receipts[2].Offset.Value + 3, receipts[5].Offset.Value);
            Assert.Equal(receipts[6].Offset.Value + 3, receipts[9].Offset.Value);
        }

        List<DetachedMessage> read = await ProducerTests.ReadAllAsync(broker, "t");
        Assert.Equal(1 + (100 * PerCall), read.Count);
        Assert.All(
            read.Where(static one => one.Key is not null).GroupBy(static one => Convert.ToHexString(one.Key!)),
            static ofKey => Assert.Single(ofKey.Select(static one => one.Queue).Distinct()));
    }

    [Theory]
    [InlineData(Verdict.Close)]
    [InlineData(Verdict.StoreAndClose)]
    [InlineData(Verdict.RefuseFirst)]
    public async Task GivenAConnectionThatIsLostAgainAndAgain_WhenCallsAreSent_ThenEachIsStoredOnceAndInOnePiece(
        object verdict)
    {
        const int Calls = 200;
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Script = number => number % 3 == 1 ? (Verdict)verdict : Verdict.Store;
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = fake.Address,
            ReconnectBackoffMax = TimeSpan.FromMilliseconds(50),
        });
        await using Producer producer = client.CreateProducer(SmallBatches with { RetryBackoffMax = TimeSpan.FromMilliseconds(20) });
        List<Task<BatchReceipt>> sends = [];
        for (int call = 0; call < Calls; call++)
        {
            sends.Add(producer.SendBatchAsync("t", Messages(call * PerCall, PerCall), Token).AsTask());
            if (call % 20 == 0)
                await sends[^1];
        }

        BatchReceipt[] receipts = await Task.WhenAll(sends);
        Assert.Equal(Enumerable.Range(0, Calls * PerCall), fake.All());
        Assert.Equal(
            Enumerable.Range(0, Calls * PerCall),
            receipts.SelectMany(static one => one).Select(static one => (int)one.Offset.Value));
        Assert.All(
            fake.Requests.SelectMany(static request => request.Batches),
            static batch => Assert.Equal((0, 0), (batch.FirstBody % PerCall, batch.Records % PerCall)));
    }

    [Fact]
    public async Task GivenNoMemory_WhenCallsWait_ThenNoneOfACallIsTakenBeforeAllAndACancelledOneSendsNothing()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(LittleMemory);
        await producer.SendAsync("t", Body(0), cancellationToken: Token);
        fake.Judge = static _ => Verdict.Hold;
        List<Task> sends = [];
        int next = 1;
        while (sends.Count == 0 || producer.BufferedBytes + 1024 <= LittleMemory.BufferMemoryBytes)
        {
            sends.Add(producer.SendBatchAsync("t", Messages(next, PerCall, 70), Token).AsTask());
            next += PerCall;
        }

        using var given = new CancellationTokenSource();
        Task<BatchReceipt>[] waiting = [.. Enumerable.Range(0, 20).Select(call =>
            producer.SendBatchAsync(
                "t", Messages(next + (call * PerCall), PerCall, 70), call == 10 ? given.Token : Token).AsTask())];
        await given.CancelAsync();
        OperationCanceledException over = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting[10]);
        Assert.Equal(given.Token, over.CancellationToken);
        Assert.All(waiting.Where(static (_, call) => call != 10), static call => Assert.False(call.IsFaulted));
        fake.Release();
        await Task.WhenAll(sends);
        await Task.WhenAll(waiting.Where(static (_, call) => call != 10));

        IEnumerable<int> cancelled = Enumerable.Range(next + (10 * PerCall), PerCall);
        Assert.Equal(Enumerable.Range(0, next + (20 * PerCall)).Except(cancelled), fake.All());
        Assert.All(
            fake.Requests.SelectMany(static request => request.Batches).Skip(1),
            static batch => Assert.Equal((1, 0), (batch.FirstBody % PerCall, batch.Records % PerCall)));
    }

    [Fact]
    public async Task GivenATokenThatIsCancelled_WhenTheCallWasTaken_ThenItIsStoredAndBeforeTheCallNothingIs()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("t", Body(0), cancellationToken: Token);
        fake.Judge = static _ => Verdict.Hold;
        using var given = new CancellationTokenSource();
        Task<BatchReceipt> taken = producer.SendBatchAsync("t", Messages(1, PerCall), given.Token).AsTask();
        await given.CancelAsync();
        Task<BatchReceipt> refused = producer.SendBatchAsync("t", Messages(11, PerCall), given.Token).AsTask();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => refused);
        fake.Release();
        Assert.Equal(PerCall, (await taken).Count);
        Assert.Equal(Enumerable.Range(0, 1 + PerCall), fake.All());
    }

    [Fact]
    public async Task GivenABodyThatIsTooLarge_WhenTheCallIsMade_ThenNothingOfItIsSentAndALaterCallIs()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("t", Body(0), cancellationToken: Token);
        Message[] messages = Messages(1, PerCall);
        messages[^1] = new Message(new byte[(4 << 20) + 1]);

        EQueueException fault = await Assert.ThrowsAsync<EQueueException>(
            () => producer.SendBatchAsync("t", messages, Token).AsTask());
        Assert.Equal(ErrorCode.MessageTooLarge, fault.Code);
        Assert.Equal(2, (await producer.SendBatchAsync("t", Messages(1, 2), Token)).Count);
        Assert.Equal([0, 1, 2], fake.All());
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenCallsInAnOpenBatch_WhenFlushedOrClosed_ThenTheyAreStored(bool isFlushed)
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(new ProducerOptions { Linger = TimeSpan.FromMinutes(10) });
        Task<BatchReceipt>[] calls = [.. Enumerable.Range(0, 5).Select(call =>
            producer.SendBatchAsync("t", Messages(call * PerCall, PerCall), Token).AsTask())];
        Task ending = isFlushed ? producer.FlushAsync(Token).AsTask() : producer.DisposeAsync().AsTask();

        await ending;
        BatchReceipt[] receipts = await Task.WhenAll(calls);
        Assert.Equal(
            Enumerable.Range(0, 5 * PerCall),
            receipts.SelectMany(static one => one).Select(static one => (int)one.Offset.Value));
        Assert.Equal(5 * PerCall, Assert.Single(fake.Requests.SelectMany(static request => request.Batches)).Records);
    }

    [Fact]
    public async Task GivenCallsThatAreNotAnswered_WhenTheProducerIsAborted_ThenEachFailsOnce()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Judge = static _ => Verdict.Ignore;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer();
        Task<BatchReceipt>[] calls = [.. Enumerable.Range(0, 5).Select(call =>
            producer.SendBatchAsync("t", Messages(call * PerCall, PerCall), Token).AsTask())];
        await Eventually.TrueAsync(() => fake.ProduceCount > 0, "something is under way");
        await producer.AbortAsync();

        foreach (Task<BatchReceipt> call in calls)
            await Assert.ThrowsAsync<ProducerClosedException>(() => call);
    }

    [Fact]
    public async Task GivenATopicWithABoundedBacklog_WhenCallsAreSent_ThenAQuarterOfTheBoundStaysInOnePiece()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Settings["bounded"] = new TopicSettings { MaxBacklogMessages = 4 * PerCall };
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer();
        for (int call = 0; call < 20; call++)
            await producer.SendBatchAsync("bounded", Messages(call * PerCall, PerCall), Token);
        await producer.SendBatchAsync("bounded", Messages(200, 25), Token);

        Assert.Equal(Enumerable.Range(0, 225), fake.Bodies("bounded"));
        FakeBatch[] batches = [.. fake.Requests.SelectMany(static request => request.Batches)];
        Assert.Equal(
            Enumerable.Repeat(PerCall, 22).Append(5), batches.Select(static batch => batch.Records));
    }

    [Fact]
    public async Task GivenAListOfAnyKind_WhenSent_ThenItsMessagesAreSent()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("t", Body(0), cancellationToken: Token);
        Message[] messages = Messages(0, 9);
        IReadOnlyList<Message>[] lists =
        [
            messages[1..3], messages[3..5].ToList(), new ArraySegment<Message>(messages, 5, 2), messages[7..].AsReadOnly(),
        ];
        foreach (IReadOnlyList<Message> list in lists)
            Assert.Equal(2, (await producer.SendBatchAsync("t", list, Token)).Count);

        Assert.Empty(await producer.SendBatchAsync("t", [], Token));
        Assert.Equal(Enumerable.Range(0, 9), fake.All());
    }

    /// <summary>Calls of 1 to 39 messages, and single ones between them; all kept in the producer's order.</summary>
    private static List<(int First, BatchReceipt Receipts)> SendMixed(Producer producer, int thread)
    {
        Random random = new(thread);
        List<(int First, Task<BatchReceipt> Call)> calls = [];
        List<Task> singles = [];
        for (int next = 0; next < 4_000;)
        {
            int first = (thread * 10_000) + next;
            int count = random.Next(3) == 0 ? 1 : Math.Min(random.Next(1, 40), 4_000 - next);
            if (count == 1)
                singles.Add(producer.SendAsync("t", Body(first, random.Next(4, 60)), cancellationToken: Token).AsTask());
            else
                calls.Add((first, producer.SendBatchAsync("t", Messages(first, count, random.Next(4, 30)), Token).AsTask()));
            next += count;
        }

        Task.WaitAll([.. singles, .. calls.Select(static call => call.Call)], Token);
        return [.. calls.Select(static call => (call.First, call.Call.Result))];
    }

    private static async Task<Dictionary<(int Queue, long Offset), (int Value, int Batch)>> ReadBatchesAsync(
        TestBroker broker, string topic)
    {
        await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync(topic, StartPosition.Begin, Token);
        Dictionary<(int Queue, long Offset), (int Value, int Batch)> stored = [];
        int number = 0;
        await foreach (ReceivedBatch batch in reader.ReadBatchesAsync(Token))
        {
            foreach (RecordView record in batch)
                stored.Add((batch.Queue, record.Offset.Value), (BitConverter.ToInt32(record.Body), number));
            number++;
        }

        return stored;
    }

    private static Message[] Messages(int first, int count, int size = sizeof(int)) =>
        [.. Enumerable.Range(first, count).Select(value => new Message(Body(value, size)))];

    private static byte[] Body(int value, int size = sizeof(int))
    {
        byte[] body = new byte[size];
        BitConverter.TryWriteBytes(body, value);
        return body;
    }
}
