using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Progress of readers of some tags: it moves over what the broker never sends them.</summary>
public sealed class TagProgressTests
{
    private const string Wanted = "paid";
    private const string Other = "open";

    private static readonly ConsumerOptions Live = new()
    {
        Tags = [Wanted],
        MaxFetchWait = TimeSpan.FromMilliseconds(100),
        AutoCommitInterval = TimeSpan.FromMilliseconds(20),
    };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenATailWithoutTheTag_WhenReadToTheEnd_ThenTheLoopEndsAndTheGroupIsThere()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, "tail", Other, 50);
        await SendAsync(broker, "tail", Wanted, 3);
        await SendAsync(broker, "tail", Other, 50);
        long before = await FetchedBytesAsync(broker);
        var toTheEnd = new ConsumerOptions { Tags = [Wanted], StopAtEnd = true };
        Assert.Equal([50, 51, 52], await ReadGroupAsync(broker, "tail", toTheEnd));
        Assert.Equal(103, await CommittedAsync(broker, "tail"));
        Assert.InRange(await FetchedBytesAsync(broker) - before, 3 * 100, 3 * 200);

        // The next member begins behind it all, also over a restart.
        await broker.RestartAsync();
        await SendAsync(broker, "tail", Other, 1);
        Assert.Empty(await ReadGroupAsync(broker, "tail", toTheEnd));
        Assert.Equal(104, await CommittedAsync(broker, "tail"));
    }

    [Fact]
    public async Task GivenAWaitingMember_WhenOnlyOtherTagsCome_ThenTheyAreCommittedWithoutAStepOfTheLoop()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 2);
        await SendAsync(broker, "live", Other, 1);
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["live"], Live);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        ValueTask<bool> first = messages.MoveNextAsync();
        for (int round = 1; round <= 3; round++)
        {
            await SendAsync(broker, "live", Other, 20);
            int total = 1 + (20 * round);
            await Eventually.TrueAsync(async () => await CommittedAsync(broker, "live") == total);
            Assert.Equal(total, consumer.GetProgress().Sum(queue => queue.Next.Value));
            Assert.Equal(total, consumer.GetProgress().Sum(queue => Math.Max(0, queue.End.Value)));
        }

        GroupDescription group = await broker.Client.Admin.DescribeGroupAsync("g", cancellationToken: Token);
        Assert.All(group.Queues, queue => Assert.Equal(0, queue.Lag));
        Assert.False(first.IsCompleted);
        await SendAsync(broker, "live", Wanted, 1);
        Assert.True(await first);
        Assert.Equal(Wanted, messages.Current.Tag);
    }

    [Fact]
    public async Task GivenAMessageInHand_WhenOthersArePassedOverBehindIt_ThenNothingIsCommittedBeforeItsStepEnds()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, "hand", Wanted, 1);
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["hand"], Live);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        Assert.True(await messages.MoveNextAsync());
        await SendAsync(broker, "hand", Other, 30);
        await Eventually.TrueAsync(() => consumer.GetProgress()[0].End.Value == 31);
        await consumer.CommitAsync(Token);
        Assert.Equal(0, consumer.GetProgress()[0].Next.Value);
        Assert.Equal(0, await CommittedAsync(broker, "hand"));
        ValueTask<bool> next = messages.MoveNextAsync();
        await Eventually.TrueAsync(async () => await CommittedAsync(broker, "hand") == 31);
        Assert.False(next.IsCompleted);
        await SendAsync(broker, "hand", Wanted, 1);
        Assert.True(await next);
    }

    [Fact]
    public async Task GivenAFreeReaderWithTags_WhenItPulls_ThenItsProgressMovesOverTheOthersAndCanBeCommitted()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await SendAsync(broker, "free", Other, 10);
        await SendAsync(broker, "free", Wanted, 2);
        await SendAsync(broker, "free", Other, 10);
        await using QueueReader reader = broker.Client.CreateReader(
            new ReaderOptions { Tags = [Wanted], MaxFetchWait = Live.MaxFetchWait });
        await reader.AssignAsync("free", 0, StartPosition.Begin, Token);
        IReadOnlyList<DetachedMessage> pulled = await reader.PullAsync(2, TimeSpan.FromSeconds(30), Token);
        Assert.Equal([10, 11], pulled.Select(message => (int)message.Offset.Value));
        await Eventually.TrueAsync(async () =>
        {
            Assert.Empty(await reader.PullAsync(1, TimeSpan.FromMilliseconds(50), Token));
            return reader.GetProgress()[0].Next.Value == 22;
        });
        await reader.CommitAsync("byhand", Token);
        Assert.Equal(22, await CommittedAsync(broker, "free", "byhand"));
    }

    /// <summary>One batch for each message, so that each has only its own tag's bit.</summary>
    private static async Task SendAsync(TestBroker broker, string topic, string tag, int count)
    {
        Assert.NotEqual(TagBits.Of("paid"u8), TagBits.Of("open"u8));
        await using Producer producer = broker.Client.CreateProducer();
        for (int i = 0; i < count; i++)
            await producer.SendAsync(topic, "x"u8.ToArray(), tag: tag, cancellationToken: Token);
    }

    private static async Task<List<int>> ReadGroupAsync(TestBroker broker, string topic, ConsumerOptions options)
    {
        List<int> offsets = [];
        await using Consumer consumer = broker.Client.CreateConsumer("g", [topic], options);
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            offsets.Add((int)message.Offset.Value);
        return offsets;
    }

    private static async Task<long> CommittedAsync(TestBroker broker, string topic, string group = "g") =>
        (await broker.Client.Admin.ReadGroupOffsetsAsync(group, topic, Token)).Sum(offset => Math.Max(0, offset.Value));

    private static async Task<long> FetchedBytesAsync(TestBroker broker) =>
        (await broker.Client.Admin.ReadFiguresAsync(Token)).Find("broker.fetchedBytes")!.Value;
}
