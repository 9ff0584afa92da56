using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Queues of a real broker that are drained while it is sent to and read from.</summary>
public sealed class DrainTests
{
    private const string Topic = "orders";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenSendersAndAGroup_WhenQueuesAreDrainedAndTakenOut_ThenNothingIsLostAndAllGoesOnElsewhere()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 4);
        EQueueAdmin admin = broker.Client.Admin;
        await admin.CreateTopicAsync(Topic, cancellationToken: Token);
        await using var first = new GroupReader(broker.Address, Topic);
        await using var second = new GroupReader(broker.Address, Topic);
        await Eventually.TrueAsync(() => first.Queues.Length == 2 && second.Queues.Length == 2);
        await using Producer producer = broker.Client.CreateProducer(new ProducerOptions { BatchBytes = 1024 });
        int sent = 0;
        bool isEnough = false;
        var sending = Task.Run(
            async () =>
            {
                while (!Volatile.Read(ref isEnough))
                    await producer.SendAsync(Topic, BitConverter.GetBytes(sent++), cancellationToken: Token);
            },
            Token);

        await Eventually.TrueAsync(() => first.Read.Count > 100 && second.Read.Count > 100);
        await admin.AlterQueuesAsync(Topic, [1, 2], isWritable: false, cancellationToken: Token);
        await Eventually.TrueAsync(async () => (await StatesAsync(admin))[1..3].All(
            static state => state.HasFlag(QueueState.Drained)));
        await admin.AlterQueuesAsync(Topic, [1, 2], isReadable: false, cancellationToken: Token);
        await Eventually.TrueAsync(
            () => first.Queues.Concat(second.Queues).Order().SequenceEqual([0, 3])
                && first.Queues.Length == 1 && second.Queues.Length == 1);
        (int one, int other) = (first.Read.Count, second.Read.Count);
        await Eventually.TrueAsync(() => first.Read.Count > one + 100 && second.Read.Count > other + 100);
        Volatile.Write(ref isEnough, true);
        await sending;

        await Eventually.TrueAsync(() => first.Values.Concat(second.Values).Distinct().Count() == sent);
        Assert.Equal(sent, first.Read.Count + second.Read.Count);
        await admin.AlterQueuesAsync(Topic, null, isWritable: true, isReadable: true, cancellationToken: Token);
        await Eventually.TrueAsync(() => first.Queues.Length == 2 && second.Queues.Length == 2);
        Assert.All(await StatesAsync(admin), static state => Assert.Equal(
            QueueState.Writable | QueueState.Readable, state));
    }

    [Fact]
    public async Task GivenAReaderOfNamedQueues_WhenOneIsNotReadableForAWhile_ThenItReadsTheOthersAndThenThatOne()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 2);
        await broker.Client.Admin.CreateTopicAsync(Topic, cancellationToken: Token);
        await using var sender = new QueueSender(broker.Address, Topic);
        await sender.SendAsync(0, null, "hidden", Token);
        await sender.SendAsync(1, null, "seen", Token);
        await broker.Client.Admin.AlterQueuesAsync(Topic, [0], isReadable: false, cancellationToken: Token);
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = broker.Address,
            ReconnectBackoffMax = TimeSpan.FromMilliseconds(50),
        });
        await using QueueReader reader = client.CreateReader();
        await reader.AssignAllAsync(Topic, StartPosition.Begin, Token);
        await using IAsyncEnumerator<ReceivedMessage> messages = reader.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        Assert.True(await messages.MoveNextAsync());
        Assert.Equal(1, messages.Current.Queue);

        Task<bool> next = messages.MoveNextAsync().AsTask();
        await broker.Client.Admin.AlterQueuesAsync(Topic, [0], isReadable: true, cancellationToken: Token);
        Assert.True(await next);
        Assert.Equal((0, 0L), (messages.Current.Queue, messages.Current.Offset.Value));
    }

    [Fact]
    public async Task GivenAReaderThatStopsAtTheEnd_WhenAQueueIsNotReadable_ThenItSaysSoInsteadOfWaiting()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        EQueueAdmin admin = broker.Client.Admin;
        await admin.CreateTopicAsync(Topic, cancellationToken: Token);
        await using var sender = new QueueSender(broker.Address, Topic);
        await sender.SendAsync(0, null, "hidden", Token);
        await admin.AlterQueuesAsync(Topic, [0], isReadable: false, cancellationToken: Token);
        await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync(Topic, StartPosition.Begin, Token);
        EQueueException failure = await Assert.ThrowsAsync<EQueueException>(async () =>
        {
            await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
                Assert.Fail($"{message.Offset} was read.");
        });
        Assert.Equal(ErrorCode.QueueNotReadable, failure.Code);
        failure = await Assert.ThrowsAsync<EQueueException>(
            async () => await admin.ReadMessageAsync(Topic, 0, 0, Token));
        Assert.Equal(ErrorCode.QueueNotReadable, failure.Code);
    }

    [Fact]
    public async Task GivenAGroupThatStopsAtTheEnd_WhenAQueueIsNotReadable_ThenItReadsTheOthersAndEnds()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 2);
        await broker.Client.Admin.CreateTopicAsync(Topic, cancellationToken: Token);
        await using var sender = new QueueSender(broker.Address, Topic);
        await sender.SendAsync(0, null, "hidden", Token);
        await sender.SendAsync(1, null, "seen", Token);
        await broker.Client.Admin.AlterQueuesAsync(Topic, [0], isReadable: false, cancellationToken: Token);
        await using Consumer consumer = broker.Client.CreateConsumer(
            "g", [Topic], new ConsumerOptions { StopAtEnd = true });
        List<int> queues = [];
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            queues.Add(message.Queue);
        Assert.Equal([1], queues);
    }

    private static async Task<QueueState[]> StatesAsync(EQueueAdmin admin) =>
        [.. (await admin.DescribeTopicAsync(Topic, Token)).Queues.Select(static queue => queue.State)];
}
