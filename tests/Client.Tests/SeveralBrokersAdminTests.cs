namespace EQueue.Client.Tests;

/// <summary>Administration of two brokers over one client: done at both, told as one.</summary>
public sealed class SeveralBrokersAdminTests
{
    private const string Topic = TwoBrokers.Topic;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenTwoBrokers_WhenATopicIsAlteredListedAndDeleted_ThenItIsSoAtBoth()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        EQueueAdmin admin = plant.Client.Admin;
        TopicDescription altered = await admin.AlterTopicAsync(Topic, new TopicSettings { QueueCount = 5 }, Token);
        Assert.Equal(Enumerable.Range(0, 10), altered.Queues.Select(static queue => queue.Number));
        TopicDescription closed =
            await admin.AlterQueuesAsync(Topic, [2, 3, 9], isWritable: false, cancellationToken: Token);
        Assert.Equal([2, 3, 9], Closed(closed));
        Assert.Equal([1], Closed(await plant.First.Client.Admin.DescribeTopicAsync(Topic, Token)));
        Assert.Equal([1, 4], Closed(await plant.Second.Client.Admin.DescribeTopicAsync(Topic, Token)));
        await plant.First.Client.Admin.CreateTopicAsync("alone", new TopicSettings { QueueCount = 2 }, Token);

        Assert.Equal(
            [("alone", 2), (Topic, 10)],
            await admin.ListTopicsAsync(Token).Select(static topic => (topic.Topic, topic.QueueCount)).ToListAsync(Token));
        Assert.Equal([0, 2], (await admin.DescribeTopicAsync("alone", Token)).Queues.Select(static queue => queue.Number));
        await admin.DeleteTopicAsync("alone", Token);
        await admin.DeleteTopicAsync(Topic, Token);
        Assert.Empty(await admin.ListTopicsAsync(Token).ToListAsync(Token));
        EQueueException gone =
            await Assert.ThrowsAsync<EQueueException>(() => admin.DeleteTopicAsync(Topic, Token).AsTask());
        Assert.Equal(ErrorCode.UnknownTopic, gone.Code);

        static IEnumerable<int> Closed(TopicDescription topic) => topic.Queues
            .Where(static queue => !queue.State.HasFlag(QueueState.Writable)).Select(static queue => queue.Number);
    }

    [Fact]
    public async Task GivenAGroupAtTwoBrokers_WhenDescribedResetAndDeleted_ThenBothSharesAreToldAndSet()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        EQueueAdmin admin = plant.Client.Admin;
        await SendAsync(plant.Client, 400);
        await using (Consumer member =
            plant.Client.CreateConsumer("g", [Topic], new ConsumerOptions { StopAtEnd = true }))
        {
            await foreach (ReceivedMessage _ in member.ReadAllAsync(Token))
            {
                // All of it is processed.
            }

            GroupDescription live = await admin.DescribeGroupAsync("g", cancellationToken: Token);
            MemberDescription only = Assert.Single(live.Members);
            Assert.Equal(8u, only.OwnedCount);
            Assert.Equal(Enumerable.Range(0, 8), live.Queues.Select(static queue => queue.Number));
            Assert.All(live.Queues, static queue => Assert.Equal(0, queue.Owner));
        }

        Assert.Equal(0, await LagAsync());
        Assert.Equal(["g"], await admin.ListGroupsAsync(Token).Select(static group => group.Group).ToListAsync(Token));
        IReadOnlyList<QueueOffset> committed = await admin.ReadGroupOffsetsAsync("g", Topic, Token);
        Assert.Equal(400, committed.Sum(static offset => offset.Value));
        IReadOnlyList<ResetQueue> reset =
            await admin.ResetGroupOffsetsAsync("g", ResetPosition.Begin, Topic, [3, 6], cancellationToken: Token);
        Assert.Equal([3, 6], reset.Select(static queue => queue.Number));
        Assert.Equal(committed[3].Value + committed[6].Value, await LagAsync());
        await admin.ResetGroupOffsetsAsync("g", ResetPosition.Begin, cancellationToken: Token);
        Assert.Equal(400, await LagAsync());
        await admin.DeleteGroupAsync("g", cancellationToken: Token);
        Assert.Empty(await admin.ListGroupsAsync(Token).ToListAsync(Token));

        async Task<long> LagAsync() =>
            (await admin.DescribeGroupAsync("g", cancellationToken: Token)).Queues.Sum(static queue => queue.Lag);
    }

    [Fact]
    public async Task GivenATopicAtOneBrokerAlone_WhenItsGroupIsDescribedAndReset_ThenTheOtherIsNoHindrance()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        EQueueAdmin admin = plant.Client.Admin;
        await plant.First.Client.Admin.CreateTopicAsync("alone", new TopicSettings { QueueCount = 2 }, Token);
        await admin.ResetGroupOffsetsAsync("g", ResetPosition.End, Topic, cancellationToken: Token);

        IReadOnlyList<ResetQueue> reset =
            await admin.ResetGroupOffsetsAsync("g", ResetPosition.End, "alone", cancellationToken: Token);
        Assert.Equal([0, 2], reset.Select(static queue => queue.Number));
        IReadOnlyList<ResetQueue> refused = await admin.ResetGroupOffsetsAsync(
            "g", ResetPosition.End, Topic, [9, -3, 3], cancellationToken: Token);
        Assert.Equal(
            [(-3, ErrorCode.UnknownQueue), (3, ErrorCode.None), (9, ErrorCode.UnknownQueue)],
            refused.Select(static queue => (queue.Number, queue.Error)));
        GroupDescription described = await admin.DescribeGroupAsync("g", "alone", cancellationToken: Token);
        Assert.Equal([0, 2], described.Queues.Select(static queue => queue.Number));
        await admin.DeleteGroupAsync("g", "alone", Token);
        EQueueException nobody = await Assert.ThrowsAsync<EQueueException>(
            () => admin.AlterQueuesAsync(Topic, [], isWritable: false, cancellationToken: Token).AsTask());
        Assert.Equal(ErrorCode.InvalidArgument, nobody.Code);
    }

    [Fact]
    public async Task GivenMessagesAtTwoBrokers_WhenLookedUp_ThenEachIsFoundByItsReceiptAndByItsKey()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        EQueueAdmin admin = plant.Client.Admin;
        SendReceipt[] receipts = await SendAsync(plant.Client, 200);
        foreach ((SendReceipt receipt, int number) in receipts.Select(static (receipt, number) => (receipt, number)))
        {
            DetachedMessage? found = await admin.ReadMessageAsync(Topic, receipt.Queue, receipt.Offset.Value, Token);
            Assert.Equal($"{number}", System.Text.Encoding.UTF8.GetString(found!.Body!));
            Assert.Equal(receipt.Queue, found.Queue);
        }

        for (int key = 0; key < 20; key++)
            Assert.Equal(10, (await admin.FindByKeyAsync(Topic, $"key-{key}", cancellationToken: Token)).Messages.Count);
        Assert.Equal(200, (await admin.ReadLatestAsync(Topic, 1000, cancellationToken: Token)).Messages.Count);
        QueueOffset end = await admin.FindOffsetAsync(Topic, 7, StartPosition.End, Token);
        Assert.Equal(receipts.Count(static receipt => receipt.Queue == 7), end.Value);
        EQueueException unknown = await Assert.ThrowsAsync<EQueueException>(
            () => admin.ReadMessageAsync(Topic, 8, 0, Token).AsTask());
        Assert.Equal(ErrorCode.UnknownQueue, unknown.Code);
    }

    [Fact]
    public async Task GivenABrokerThatIsAway_WhenAdministered_ThenItIsRefusedAndNothingIsDone()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        await plant.Second.StopAsync();
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = $"{plant.First.Address},{plant.Second.Address}",
            RequestTimeout = TimeSpan.FromSeconds(1),
        });
        EQueueException refused = await Assert.ThrowsAsync<EQueueException>(
            () => client.Admin.CreateTopicAsync("new", cancellationToken: Token).AsTask());
        Assert.Equal(ErrorCode.Unreachable, refused.Code);
        Assert.Contains(plant.Second.Address, refused.Message, StringComparison.Ordinal);
        Assert.Equal(
            [Topic],
            await plant.First.Client.Admin.ListTopicsAsync(Token).Select(static topic => topic.Topic).ToListAsync(Token));

        // What any broker can tell is told.
        Assert.NotNull(await client.Admin.ReadFiguresAsync(Token));
        await plant.First.StopAsync();
        EQueueException nobody =
            await Assert.ThrowsAsync<EQueueException>(() => client.Admin.ReadFiguresAsync(Token).AsTask());
        Assert.Equal(ErrorCode.Unreachable, nobody.Code);
    }

    [Fact]
    public async Task GivenTwoBrokers_WhenAQuotaIsSet_ThenEachHasIt()
    {
        await using TwoBrokers plant = await TwoBrokers.StartAsync();
        await plant.Client.Admin.SetQuotaAsync(new Quota(QuotaKind.Topic, Topic, 1000, 0, 0), Token);
        foreach (TestBroker broker in (TestBroker[])[plant.First, plant.Second])
            Assert.Equal(Topic, Assert.Single(await broker.Client.Admin.ListQuotasAsync(Token)).Name);
    }

    private static async Task<SendReceipt[]> SendAsync(EQueueClient client, int count)
    {
        await using Producer producer = client.CreateProducer(new ProducerOptions { BatchBytes = 1024 });
        return await Task.WhenAll(Enumerable.Range(0, count)
            .Select(i => TwoBrokers.SendAsync(producer, i, $"key-{i % 20}")));
    }
}
