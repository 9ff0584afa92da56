using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests;

public sealed class RetentionTests
{
    private const int Bodies = 10;

    [Fact]
    public async Task GivenACount_WhenTheRoundComes_ThenEachQueueKeepsItsNewest()
    {
        await using TestBroker broker = await StartAsync(new ManualTime());
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] queues = await FillAsync(peer, new TopicSettings { QueueCount = 2, RetentionCount = 3 });

        await Eventually.TrueAsync(async () => (await BeginsAsync(peer, queues)).All(begin => begin == Bodies - 3));
    }

    [Fact]
    public async Task GivenAnAge_WhenMessagesAreOlder_ThenTheyGoAndOtherTopicsKeepTheirs()
    {
        var time = new ManualTime();
        await using TestBroker broker = await StartAsync(time);
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] old = await FillAsync(peer, new TopicSettings { RetentionAge = TimeSpan.FromMinutes(5) });
        QueueId[] kept = await FillAsync(peer, new TopicSettings { RetentionAge = TimeSpan.Zero }, "kept");

        time.Jump(TimeSpan.FromDays(30));

        await Eventually.TrueAsync(async () => (await BeginsAsync(peer, old)).All(begin => begin == Bodies));
        Assert.All(await BeginsAsync(peer, kept), begin => Assert.Equal(0, begin));
    }

    [Fact]
    public async Task GivenBytesOfATopic_WhenItHoldsMore_ThenItsQueuesShareThem()
    {
        await using TestBroker broker = await StartAsync(new ManualTime());
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] queues = await FillAsync(peer, new TopicSettings { QueueCount = 2, RetentionBytes = 1_500 });

        await Eventually.TrueAsync(
            async () => (await BeginsAsync(peer, queues)).All(begin => begin is > 0 and < Bodies));
        long[] begins = await BeginsAsync(peer, queues);
        Assert.InRange(Math.Abs(begins[0] - begins[1]), 0, 1);
    }

    [Fact]
    public async Task GivenABrokerThatNeverLivesForAnInterval_WhenItStarts_ThenTheRoundComesSoon()
    {
        await using TestBroker first = await StartAsync(new ManualTime(), TimeSpan.FromHours(1));
        QueueId[] queues;
        await using (TestPeer peer = await first.ConnectAsync())
            queues = await FillAsync(peer, new TopicSettings { QueueCount = 2, RetentionCount = 3 });

        await using TestBroker again = await first.RestartAsync();

        await using TestPeer reader = await again.ConnectAsync();
        await Eventually.TrueAsync(async () => (await BeginsAsync(reader, queues)).All(begin => begin == Bodies - 3));
    }

    private static Task<TestBroker> StartAsync(ManualTime time, TimeSpan? interval = null)
    {
        BrokerOptions options = TestBroker.SmallOptions();
        TopicOptions topics = options.Topics with { RetentionInterval = interval ?? TimeSpan.FromMilliseconds(100) };
        return TestBroker.StartAsync(options with { Topics = topics }, time);
    }

    private static async Task<QueueId[]> FillAsync(TestPeer peer, TopicSettings settings, string topic = "orders")
    {
        TopicDescription made = await peer.InvokeAsync(new CreateTopicRequest(topic, settings));
        QueueId[] queues = [.. made.Queues.Select(queue => queue.Id)];
        foreach (QueueId queue in queues)
        {
            for (int i = 0; i < Bodies; i++)
                await peer.ProduceAsync(queue, $"message {i}");
        }

        return queues;
    }

    private static async Task<long[]> BeginsAsync(TestPeer peer, QueueId[] queues)
    {
        FindOffsetsResponse found = await peer.InvokeAsync(new FindOffsetsRequest(
            [.. queues.Select(queue => new OffsetQuestion(new QueueKey(0, queue), OffsetQuestion.Begin))]));
        return [.. found.Answers.Select(answer => answer.Offset.Value)];
    }
}
