using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>A producer of topics with a bounded backlog: what it sends, over which way, and who waits for whom.</summary>
public sealed class BacklogSendTests
{
    private static readonly ProducerOptions LittleMemory = new()
    {
        BatchBytes = 4096,
        BufferMemoryBytes = 64 * 1024,
        RequestTimeout = TimeSpan.FromMilliseconds(100),
        RouteRefreshInterval = TimeSpan.FromMilliseconds(20),
    };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(64, 0)]
    [InlineData(0, 4096)]
    [InlineData(64, 4096)]
    public async Task GivenABound_WhenMuchIsSent_ThenBatchesKeepToAQuarterAndTravelWithNoOtherTopic(
        int messages, int bytes)
    {
        await using FakeBroker fake = await FakeBroker.StartAsync(queueCount: 3);
        fake.Settings["bounded"] = new TopicSettings { MaxBacklogMessages = messages, MaxBacklogBytes = bytes };
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(
            new ProducerOptions { RouteRefreshInterval = TimeSpan.FromDays(1) });
        List<Task> sends = [];
        for (int i = 0; i < 3000; i++)
        {
            sends.Add(SendAsync(producer, "bounded", i, key: $"k{i % 9}"));
            sends.Add(SendAsync(producer, "free", i));
        }

        await Task.WhenAll(sends);

        IReadOnlyList<FakeRequest> bounded = fake.RequestsFor("bounded");
        IReadOnlyList<FakeRequest> free = fake.RequestsFor("free");
        Assert.DoesNotContain(bounded, request => request.IsFor("free"));
        Assert.Single(bounded.Select(request => request.Connection).Distinct());
        Assert.NotSame(bounded[0].Connection, Assert.Single(free.Select(request => request.Connection).Distinct()));
        Assert.NotEqual(bounded[0].Batches[0].Session.Id, free[0].Batches[0].Session.Id);
        foreach (FakeRequest request in bounded)
        {
            Assert.InRange(request.Records, 1, messages > 0 ? messages / 4 : int.MaxValue);
            Assert.InRange(request.Batches.Sum(batch => batch.Bytes), 1, bytes > 0 ? bytes / 4 : int.MaxValue);
        }

        Assert.Contains(free, request => request.Batches.Any(batch => batch.Records > 64 && batch.Bytes > 1024));
        Assert.Equal(3000, fake.Bodies("bounded").Count);
    }

    [Fact]
    public async Task GivenFullTopics_WhenAnotherIsSentTo_ThenItIsHeldUpByNoneAndAllGoOnInOrderWhenThereIsRoom()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        string[] full = [.. Enumerable.Range(0, 6).Select(i => $"full{i}")];
        foreach (string topic in full)
            fake.Settings[topic] = new TopicSettings { MaxBacklogMessages = 1000 };
        fake.Judge = request => request.IsFor("free") ? Verdict.Store : Verdict.Hold;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(LittleMemory);
        List<Task<SendReceipt>> waiting = [];
        for (int i = 0; i < 300; i++)
            waiting.AddRange(full.Select(topic => SendAsync(producer, topic, i, new byte[200])));
        await Eventually.TrueAsync(() => producer.BufferedBytes > 40 * 1024);

        for (int i = 0; i < 300; i++)
            await SendAsync(producer, "free", i, new byte[200]);

        Assert.All(waiting, static send => Assert.False(send.IsCompleted));
        Assert.True(producer.BufferedBytes <= 48 * 1024, $"{producer.BufferedBytes} bytes are held");
        Assert.True(ThreadPool.ThreadCount < 500, $"{ThreadPool.ThreadCount} threads");
        Task flush = producer.FlushAsync(Token).AsTask();
        await SendAsync(producer, "free", 300);
        Assert.False(flush.IsCompleted, "a flush waits for what waits for room too");

        fake.Release();
        await Task.WhenAll(waiting);
        await flush;
        foreach (string topic in full)
            Assert.Equal(Enumerable.Range(0, 300), fake.Bodies(topic));
        Assert.Equal(0, producer.BufferedBytes);
    }

    [Fact]
    public async Task GivenOneFullTopic_WhenItIsSentTo_ThenItHoldsAQuarterOfTheMemoryAndTheWaitEndsTyped()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Settings["full"] = new TopicSettings { MaxBacklogMessages = 1000 };
        fake.Judge = static _ => Verdict.Hold;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(
            LittleMemory with { DeliveryTimeout = TimeSpan.FromSeconds(30) });
        await using Producer hasty = client.CreateProducer(
            LittleMemory with { DeliveryTimeout = TimeSpan.FromMilliseconds(300) });
        Task<SendReceipt>[] waiting =
            Enumerable.Range(0, 300).Select(i => SendAsync(producer, "full", i, new byte[200])).ToArray();
        await Eventually.TrueAsync(() => producer.BufferedBytes > 10 * 1024);
        using var gaveUp = new CancellationTokenSource();
        Task<SendReceipt> given = producer.SendAsync("full", new byte[200], cancellationToken: gaveUp.Token).AsTask();
        Task<SendReceipt>[] late =
            Enumerable.Range(0, 300).Select(i => SendAsync(hasty, "full", i, new byte[200])).ToArray();

        await gaveUp.CancelAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => given);
        Assert.Equal(ErrorCode.Timeout, (await Assert.ThrowsAsync<EQueueException>(() => late[^1])).Code);
        Assert.InRange(producer.BufferedBytes, 1, 16 * 1024);
        Assert.InRange(hasty.BufferedBytes, 1, 16 * 1024);
        fake.Release();
        SendReceipt[] receipts = await Task.WhenAll(waiting);
        Assert.Equal(receipts.Select(one => one.Offset.Value).Order(), receipts.Select(one => one.Offset.Value));
        await hasty.AbortAsync();
    }

    [Fact]
    public async Task GivenATopicThatLetsWait_WhenRequestTimeoutsPass_ThenTheRequestIsSentOnceForAsLongAsItsMessagesHave()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Settings["full"] = new TopicSettings { MaxBacklogMessages = 1000 };
        fake.Judge = request => request.IsFor("full") ? Verdict.Hold : Verdict.Ignore;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(
            LittleMemory with { DeliveryTimeout = TimeSpan.FromSeconds(100) });
        Task<SendReceipt> send = SendAsync(producer, "full", 1);
        await Eventually.TrueAsync(() => fake.RequestsFor("full").Count == 1);

        Task<SendReceipt> other = SendAsync(producer, "silent", 2);
        await Eventually.TrueAsync(() => fake.RequestsFor("silent").Count == 4);

        Assert.InRange(Assert.Single(fake.RequestsFor("full")).DeadlineMs, 30_000, 100_000);
        Assert.All(fake.RequestsFor("silent"), static request => Assert.InRange(request.DeadlineMs, 1, 100));
        fake.Release();
        await send;
        fake.Judge = null;
        await other;
    }

    [Fact]
    public async Task GivenATopicThatBecomesBoundedAndFreeAgain_WhenItIsSentTo_ThenOrderIsKeptAndNothingIsLost()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync(queueCount: 2);
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(LittleMemory);
        int next = 0;
        List<Task<SendReceipt>> sends = [];
        for (int turn = 0; turn < 6; turn++)
        {
            int seen = fake.Requests.Count;
            bool isBounded = turn % 2 == 1;
            if (isBounded)
                fake.Settings["t"] = new TopicSettings { MaxBacklogMessages = 64 };
            else
                fake.Settings.TryRemove("t", out _);
            while (fake.Requests.Count < seen + 20
                || fake.Requests[^1].DeadlineMs > LittleMemory.RequestTimeout.TotalMilliseconds != isBounded)
            {
                for (int i = 0; i < 50; i++, next++)
                    sends.Add(SendAsync(producer, "t", next, key: $"k{next % 7}"));
                await sends[^40];
            }
        }

        await Task.WhenAll(sends);

        IReadOnlyList<int> stored = fake.Bodies("t");
        Assert.Equal(Enumerable.Range(0, next), stored.Order());
        Assert.All(stored.GroupBy(static value => value % 7), static key => Assert.Equal(key.Order(), key));
        Assert.Equal(2, fake.Requests.Select(request => request.Connection).Distinct().Count());
    }

    [Fact]
    public async Task GivenAnUnansweredMessage_WhenItsTopicBecomesBounded_ThenTheNextGoesTheNewWayBehindIt()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        fake.Judge = request => request.IsFor("t") ? Verdict.Hold : Verdict.Store;
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(
            LittleMemory with { RequestTimeout = TimeSpan.FromSeconds(30) });
        await using Producer bystander = client.CreateProducer();
        Task<SendReceipt> first = SendAsync(producer, "t", 1);
        await Eventually.TrueAsync(() => fake.RequestsFor("t").Count == 1);
        fake.Settings["t"] = new TopicSettings { MaxBacklogMessages = 64 };
        await Eventually.TrueAsync(() => fake.InitCount == 2);

        // The new way is there before the move stands in the topic's line: only what comes later goes behind it.
        await Eventually.TrueAsync(() => ((ISendLevels)producer).WaitingSends().Any(static topic => topic.Value > 0));
        fake.Judge = null;

        Task<SendReceipt> second = SendAsync(producer, "t", 2);
        for (int i = 0; i < 100; i++)
            await SendAsync(bystander, "other", i);
        Assert.Single(fake.RequestsFor("t"));
        fake.Release();
        await Task.WhenAll(first, second);

        Assert.Equal([1, 2], fake.Bodies("t"));
        IReadOnlyList<FakeRequest> requests = fake.RequestsFor("t");
        Assert.NotSame(requests[0].Connection, requests[1].Connection);
    }

    [Fact]
    public async Task GivenATopicThatGetsABound_WhenBatchesExceedIt_ThenTheyFailAndTheNextOnesFit()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(fake.Address);
        await using Producer producer = client.CreateProducer(
            LittleMemory with { RouteRefreshInterval = TimeSpan.FromDays(1) });
        await SendAsync(producer, "t", -1);
        fake.Settings["t"] = new TopicSettings { MaxBacklogMessages = 8 };
        fake.MeetBatch = static batch => batch.Records > 8 ? ErrorCode.BatchExceedsBacklog : ErrorCode.None;
        List<int> kept = [-1];
        int failed = 0;
        for (int round = 0; failed == 0 || fake.Requests[^1].Connection == fake.Requests[0].Connection; round++)
        {
            (int i, Task<SendReceipt>)[] sends =
                Enumerable.Range(round * 100, 100).Select(i => (i, SendAsync(producer, "t", i))).ToArray();
            foreach ((int i, Task<SendReceipt> send) in sends)
            {
                try
                {
                    await send;
                    kept.Add(i);
                }
                catch (EQueueException exception)
                {
                    Assert.Equal(ErrorCode.BatchExceedsBacklog, exception.Code);
                    failed++;
                }
            }
        }

        Assert.Equal(kept, fake.Bodies("t"));
        FakeRequest[] moved =
            fake.Requests.Where(request => request.Connection != fake.Requests[0].Connection).ToArray();
        Assert.All(moved.SelectMany(request => request.Batches), static batch => Assert.InRange(batch.Records, 1, 2));
    }

    private static Task<SendReceipt> SendAsync(
        Producer producer, string topic, int number, byte[]? body = null, string? key = null)
    {
        body = body is null ? BitConverter.GetBytes(number) : [.. BitConverter.GetBytes(number), .. body];
        return producer.SendAsync(topic, body, key, cancellationToken: Token).AsTask();
    }
}
