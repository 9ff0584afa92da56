using EQueue.Support;

namespace EQueue.Client.Tests;

public sealed class ConsumerTests
{
    private static readonly ConsumerOptions ToTheEnd = new() { StopAtEnd = true };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenMessageKeptBeyondItsStep_WhenItIsRead_ThenItThrows()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, "kept", 3);
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["kept"], ToTheEnd);
        ReceivedMessage? kept = null;
        DetachedMessage? detached = null;
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            if (kept is { } old)
            {
                Assert.Throws<ObjectDisposedException>(() => old.Body.Length);
                Assert.Throws<ObjectDisposedException>(() => old.Detach());
                await Assert.ThrowsAsync<ObjectDisposedException>(async () => await consumer.CommitAsync(old, Token));
            }

            kept = message;
            detached ??= message.Detach();
        }

        Assert.Throws<ObjectDisposedException>(() => kept!.Value.Offset);
        Assert.Equal(0, BitConverter.ToInt32(detached!.Body!));
        Assert.Equal(0, detached.Offset.Value);
    }

    [Fact]
    public async Task GivenProcessedMessages_WhenTheGroupIsReadAgain_ThenItGoesOnBehindThem()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, "progress", 10);
        await using (Consumer first = broker.Client.CreateConsumer("g", ["progress"]))
        {
            await foreach (ReceivedMessage message in first.ReadAllAsync(Token))
            {
                if (message.Offset.Value == 4)
                    break;
            }
        }

        // Message 4 was handed out but its step did not end: it comes again.
        Assert.Equal([4, 5, 6, 7, 8, 9], await ReadGroupAsync(broker, "g", "progress"));
        Assert.Empty(await ReadGroupAsync(broker, "g", "progress"));
    }

    [Fact]
    public async Task GivenAutoCommitIsOff_WhenOneMessageIsCommitted_ThenTheGroupGoesOnBehindIt()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, "manual", 10);
        var byHand = new ConsumerOptions { AutoCommit = false };
        await using (Consumer first = broker.Client.CreateConsumer("g", ["manual"], byHand))
        {
            await foreach (ReceivedMessage message in first.ReadAllAsync(Token))
            {
                if (message.Offset.Value == 6)
                {
                    await first.CommitAsync(message, Token);
                    break;
                }
            }
        }

        Assert.Equal([7, 8, 9], await ReadGroupAsync(broker, "g", "manual"));
        Assert.Equal(10, Assert.Single(await broker.Client.Admin.ReadGroupOffsetsAsync("g", "manual", Token)).Value);
    }

    [Fact]
    public async Task GivenMemberThatLeft_WhenAnotherJoins_ThenItIsTakenAtOnce()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, "left", 2);
        Assert.Equal([0, 1], await ReadGroupAsync(broker, "g", "left"));
        Assert.Empty(await ReadGroupAsync(broker, "g", "left"));
    }

    [Fact]
    public async Task GivenWantedTags_WhenRead_ThenOnlyTheirMessagesComeAndAllCountAsProcessed()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        var sends = new List<Task<SendReceipt>>();
        for (int i = 0; i < 1000; i++)
        {
            string? tag = i % 5 == 0 ? null : "tag" + (i % 50);
            ValueTask<SendReceipt> send =
                producer.SendAsync("tagged", BitConverter.GetBytes(i), tag: tag, cancellationToken: Token);
            sends.Add(send.AsTask());
        }

        await Task.WhenAll(sends);
        List<int> read = [];
        await using (Consumer consumer = broker.Client.CreateConsumer(
            "g", ["tagged"], new ConsumerOptions { Tags = ["tag7", "tag13"], StopAtEnd = true }))
        {
            await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            {
                Assert.Contains(message.Tag, new[] { "tag7", "tag13" });
                read.Add(BitConverter.ToInt32(message.Body.Span));
            }
        }

        Assert.Equal(Enumerable.Range(0, 1000).Where(i => i % 50 is 7 or 13), read);
        Assert.Equal(1000, Assert.Single(await broker.Client.Admin.ReadGroupOffsetsAsync("g", "tagged", Token)).Value);
    }

    [Fact]
    public async Task GivenParkedReader_WhenMessagesAreSent_ThenItGetsThem()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 4);
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["parked"]);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        ValueTask<bool> first = messages.MoveNextAsync();
        for (int i = 0; i < 20; i++)
        {
            await SendAsync(broker, "parked", 1);
            Assert.True(await first);
            first = messages.MoveNextAsync();
        }

        await broker.StopAsync();
        await broker.StartBrokerAsync();
        await SendAsync(broker, "parked", 1);
        Assert.True(await first);
    }

    [Fact]
    public async Task GivenBrokerRestarts_WhenSendingAndReadingGoOn_ThenNothingIsMissingAndNothingComesTwice()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 4);
        const int Count = 30_000;
        await using Producer producer = broker.Client.CreateProducer();
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["restart"]);
        var reading = Task.Run(
            async () =>
            {
                var last = new Dictionary<string, int>();
                int seen = 0;
                await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
                {
                    int value = BitConverter.ToInt32(message.Body.Span);
                    string key = message.KeyText!;
                    Assert.Equal(last.TryGetValue(key, out int before) ? before + 16 : int.Parse(key), value);
                    last[key] = value;
                    if (++seen == Count)
                        return;
                }
            },
            Token);
        var window = new Queue<ValueTask<SendReceipt>>();
        for (int i = 0; i < Count; i++)
        {
            window.Enqueue(producer.SendAsync(
                "restart", BitConverter.GetBytes(i), key: (i % 16).ToString(), cancellationToken: Token));
            if (window.Count == 1000)
                await window.Dequeue();
            if (i is 8_000 or 16_000 or 24_000)
                await broker.RestartAsync();
        }

        while (window.TryDequeue(out ValueTask<SendReceipt> one))
            await one;
        await reading.WaitAsync(TimeSpan.FromSeconds(60), Token);
        Assert.Equal(Count, (await ProducerTests.ReadAllAsync(broker, "restart")).Count);
    }

    [Fact]
    public async Task GivenBatches_WhenReadInPlace_ThenEveryMessageIsSeenOnce()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 2);
        await SendAsync(broker, "batches", 5000);
        await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync("batches", StartPosition.Begin, Token);
        var seen = new HashSet<int>();
        await foreach (ReceivedBatch batch in reader.ReadBatchesAsync(Token))
        {
            foreach (RecordView record in batch)
                Assert.True(seen.Add(BitConverter.ToInt32(record.Body)));
        }

        Assert.Equal(5000, seen.Count);
        Assert.All(reader.GetProgress(), queue => Assert.Equal(queue.End, queue.Next));
    }

    [Fact]
    public async Task GivenLoopInMessages_WhenItGoesOnInBatches_ThenNothingIsMissingOrTwice()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, "modes", 1000);
        await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAsync("modes", 0, StartPosition.AtOffset(10), Token);
        List<int> seen = [];
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            seen.Add(BitConverter.ToInt32(message.Body.Span));
            if (seen.Count == 100)
                break;
        }

        await foreach (ReceivedBatch batch in reader.ReadBatchesAsync(Token))
        {
            foreach (RecordView record in batch)
                seen.Add(BitConverter.ToInt32(record.Body));
        }

        Assert.Equal(Enumerable.Range(10, 990), seen);
    }

    [Fact]
    public async Task GivenAssignedQueue_WhenSoughtPausedAndPulled_ThenItFollows()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, "sought", 100);
        await using QueueReader reader = broker.Client.CreateReader();
        await reader.AssignAsync("sought", 0, StartPosition.AtOffset(50), Token);
        Assert.Equal([50, 51, 52], Bodies(await reader.PullAsync(3, TimeSpan.FromSeconds(30), Token)));

        await reader.SeekAsync("sought", 0, StartPosition.AtOffset(5), Token);
        Assert.Equal([5, 6], Bodies(await reader.PullAsync(2, TimeSpan.FromSeconds(30), Token)));

        await reader.SeekAsync("sought", 0, StartPosition.AtTime(DateTimeOffset.UnixEpoch), Token);
        Assert.Equal([0], Bodies(await reader.PullAsync(1, TimeSpan.FromSeconds(30), Token)));

        await reader.SeekAsync("sought", 0, StartPosition.End, Token);
        await SendAsync(broker, "sought", 1);
        Assert.Equal([100L], (await reader.PullAsync(5, TimeSpan.FromSeconds(30), Token)).Select(m => m.Offset.Value));

        reader.Pause("sought", 0);
        await SendAsync(broker, "sought", 1);
        await reader.CommitAsync("g", Token);
        Assert.Equal(101, Assert.Single(await broker.Client.Admin.ReadGroupOffsetsAsync("g", "sought", Token)).Value);
        reader.Resume("sought", 0);
        Assert.Equal([101L], (await reader.PullAsync(5, TimeSpan.FromSeconds(30), Token)).Select(m => m.Offset.Value));
        reader.Unassign("sought", 0);
        Assert.Empty(reader.GetProgress());
    }

    [Fact]
    public async Task GivenAPausedQueue_WhenMessagesAreSentToIt_ThenTheyAreGivenOnceItIsResumedAndNotBefore()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, "paused", 1);
        await using QueueReader reader = broker.Client.CreateReader();
        await reader.AssignAsync("paused", 0, StartPosition.Begin, Token);
        Assert.Single(await reader.PullAsync(1, TimeSpan.FromSeconds(30), Token));
        for (int round = 0; round < 3; round++)
        {
            reader.Pause("paused", 0);
            await SendAsync(broker, "paused", 4);
            Assert.Empty(await reader.PullAsync(10, TimeSpan.FromMilliseconds(200), Token));
            reader.Resume("paused", 0);
            List<long> offsets = [];
            while (offsets.Count < 4)
            {
                offsets.AddRange(
                    (await reader.PullAsync(10, TimeSpan.FromSeconds(30), Token)).Select(m => m.Offset.Value));
            }

            Assert.Equal(Enumerable.Range(1 + (4 * round), 4).Select(offset => (long)offset), offsets);
        }
    }

    [Theory]
    [InlineData(OutOfRangePolicy.Begin)]
    [InlineData(OutOfRangePolicy.End)]
    [InlineData(OutOfRangePolicy.Throw)]
    public async Task GivenOffsetBeyondTheEnd_WhenRead_ThenThePolicyDecides(OutOfRangePolicy policy)
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, "range", 3);
        await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { WhenOutOfRange = policy });
        await reader.AssignAsync("range", 0, StartPosition.AtOffset(1000), Token);
        await using IAsyncEnumerator<ReceivedMessage> messages = reader.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        ValueTask<bool> step = messages.MoveNextAsync();
        if (policy == OutOfRangePolicy.Throw)
        {
            EQueueException refusal = await Assert.ThrowsAsync<EQueueException>(async () => await step);
            Assert.Equal(ErrorCode.OffsetOutOfRange, refusal.Code);
            return;
        }

        if (policy == OutOfRangePolicy.End)
            await SendUntilReadAsync(broker, "range", step);
        else
            Assert.True(await step);
        long offset = messages.Current.Offset.Value;
        Assert.True(policy == OutOfRangePolicy.Begin ? offset == 0 : offset >= 3);
    }

    [Fact]
    public async Task GivenCancelledToken_WhenTheReaderWaits_ThenTheLoopEnds()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["quiet"]);
        await consumer.JoinAsync(Token);
        using var cancellation = new CancellationTokenSource();
        await using IAsyncEnumerator<ReceivedMessage> messages =
            consumer.ReadAllAsync(cancellation.Token).GetAsyncEnumerator(Token);
        ValueTask<bool> step = messages.MoveNextAsync();
        await cancellation.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await step);
    }

    [Fact]
    public async Task GivenWaitingReader_WhenTheConsumerIsDisposed_ThenTheLoopEndsTyped()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        Consumer consumer = broker.Client.CreateConsumer("g", ["quiet"]);
        await consumer.JoinAsync(Token);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        ValueTask<bool> step = messages.MoveNextAsync();
        await consumer.DisposeAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(async () => await step);
    }

    [Fact]
    public async Task GivenTopicsAndQueues_WhenAdministered_ThenTheyAreAsAsked()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        EQueueAdmin admin = broker.Client.Admin;
        TopicDescription made = await admin.CreateTopicAsync("made", new TopicSettings { QueueCount = 2 }, Token);
        Assert.Equal(2, made.Queues.Count);
        EQueueException twice = await Assert.ThrowsAsync<EQueueException>(
            async () => await admin.CreateTopicAsync("made", cancellationToken: Token));
        Assert.Equal(ErrorCode.TopicExists, twice.Code);
        TopicDescription grown = await admin.AlterTopicAsync("made", new TopicSettings { QueueCount = 3 }, Token);
        Assert.Equal(3, grown.Queues.Count);
        List<string> names = [];
        await foreach (TopicListing topic in admin.ListTopicsAsync(Token))
            names.Add(topic.Topic);
        Assert.Equal(["made"], names);
        Assert.Equal(0, (await admin.FindOffsetAsync("made", 0, StartPosition.End, Token)).Value);
        await admin.DeleteTopicAsync("made", Token);
        EQueueException gone = await Assert.ThrowsAsync<EQueueException>(
            async () => await admin.DescribeTopicAsync("made", Token));
        Assert.Equal(ErrorCode.UnknownTopic, gone.Code);
        Assert.True((await admin.ReadFiguresAsync(Token)).All.Count > 0);
        Assert.True((await admin.DescribeBrokerAsync(Token)).MaxMessageBytes > 0);
    }

    [Fact]
    public async Task GivenDeletedTopic_WhenSentToAgain_ThenANewOneTakesTheMessages()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        await producer.SendAsync("again", "old"u8, cancellationToken: Token);
        await broker.Client.Admin.DeleteTopicAsync("again", Token);

        EQueueException refusal = await Assert.ThrowsAsync<EQueueException>(
            async () => await producer.SendAsync("again", "lost"u8, cancellationToken: Token));
        SendReceipt receipt = await producer.SendAsync("again", "new"u8, cancellationToken: Token);

        Assert.Equal(ErrorCode.UnknownQueue, refusal.Code);
        Assert.Equal(0, receipt.Offset.Value);
    }

    private static async Task SendUntilReadAsync(TestBroker broker, string topic, ValueTask<bool> step)
    {
        Task<bool> read = step.AsTask();
        await Eventually.TrueAsync(async () =>
        {
            await SendAsync(broker, topic, 1);
            return read.IsCompleted;
        });
        Assert.True(await read);
    }

    private static async Task SendAsync(TestBroker broker, string topic, int count)
    {
        await using Producer producer = broker.Client.CreateProducer();
        Message[] messages = Enumerable.Range(0, count).Select(i => new Message(BitConverter.GetBytes(i))).ToArray();
        await producer.SendBatchAsync(topic, messages, Token);
    }

    private static async Task<List<int>> ReadGroupAsync(TestBroker broker, string group, string topic)
    {
        await using Consumer consumer = broker.Client.CreateConsumer(group, [topic], ToTheEnd);
        List<int> read = [];
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            read.Add(BitConverter.ToInt32(message.Body.Span));
        return read;
    }

    private static IEnumerable<int> Bodies(IEnumerable<DetachedMessage> messages) =>
        messages.Select(message => BitConverter.ToInt32(message.Body!));
}
