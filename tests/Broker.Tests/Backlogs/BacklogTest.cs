using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests.Backlogs;

/// <summary>A broker of its own with topics that bound their backlog, and what a test asks of them.</summary>
public abstract class BacklogTest : IAsyncLifetime
{
    private protected FaultyDisk Disk { get; } = new();

    private protected ManualTime Time { get; } = new();

    private protected TestBroker Broker { get; set; } = null!;

    private protected TestPeer Peer { get; set; } = null!;

    public async ValueTask InitializeAsync()
    {
        Broker = await TestBroker.StartAsync(Prepare(TestBroker.SmallOptions()), Time);
        Peer = await Broker.ConnectAsync("admin");
    }

    public async ValueTask DisposeAsync()
    {
        Disk.ReleaseWrites();
        await Peer.DisposeAsync();
        await Broker.DisposeAsync();
        GC.SuppressFinalize(this);
    }

    private protected virtual BrokerOptions Prepare(BrokerOptions options) =>
        options with { Store = options.Store with { Disk = Disk } };

    private protected static TopicSettings Bound(
        long messages = 0, BacklogPolicy policy = BacklogPolicy.Block, int queues = 1, long bytes = 0) => new()
        {
            QueueCount = queues,
            MaxBacklogMessages = messages,
            MaxBacklogBytes = bytes,
            BacklogPolicy = policy,
        };

    private protected async Task<QueueId[]> CreateAsync(TopicSettings settings, string topic = "orders") =>
        [.. (await Peer.InvokeAsync(new CreateTopicRequest(topic, settings))).Queues.Select(queue => queue.Id)];

    private protected Task AlterAsync(TopicSettings changes, string topic = "orders") =>
        Peer.InvokeAsync(new AlterTopicRequest(topic, changes));

    private protected Task<long> BacklogAsync(string what = "messages", string topic = "orders") =>
        Peer.FigureAsync($"backlog.{what}{{{topic}}}");

    private protected Task ParkedAsync(int batches, string topic = "orders") => Eventually.TrueAsync(
        async () => await BacklogAsync("parked", topic) == batches, $"{batches} batches of {topic} should wait");

    private protected static CommitOffsetsRequest Commit(QueueId queue, long next, string group = "billing") => new(
        group,
        Guid.Empty,
        [new OffsetCommit(
            new QueueKey(0, queue), GroupGeneration.None, new QueueOffset(next), -1, null)]);

    private protected async Task CommitAsync(QueueId queue, long next, string group = "billing") =>
        Assert.Equal([ErrorCode.None], (await Peer.InvokeAsync(Commit(queue, next, group))).Errors);

    /// <summary>Puts batches of one message into a queue that has room for them.</summary>
    private protected async Task FillAsync(QueueId queue, int messages)
    {
        for (int i = 0; i < messages; i++)
            Assert.Equal(ErrorCode.None, (await Peer.ProduceAsync(queue, $"fill{i}")).Error);
    }

    private protected static async Task<ProduceResult[]> SendAsync(
        TestPeer peer, int deadlineMs, params (QueueId Queue, byte[] Batch)[] batches) => Messages.ReadProduced(
        await peer.SendAsync(Opcode.Produce, Request(deadlineMs, batches)));

    private protected static FrameBuffer Request(int deadlineMs, params (QueueId Queue, byte[] Batch)[] batches) =>
        Messages.Produce(new ProduceRequestHeader(Durability.Policy, deadlineMs, 0, batches.Length), batches);

    private protected async Task<long> EndAsync(QueueId queue, string topic = "orders") =>
        (await Peer.InvokeAsync(new DescribeTopicRequest(topic))).Queues.Single(one => one.Id == queue).End.Value;

    private protected async Task<ProducerSession> InitAsync() =>
        (await Peer.InvokeAsync(new InitProducerRequest(null, ProducerSession.None))).Session;

    /// <summary>All bodies of a queue, from its start.</summary>
    private protected async Task<string[]> BodiesAsync(QueueId queue)
    {
        var bodies = new List<string>();
        FetchRequest request = Messages.Open(0, Messages.From(queue, 0));
        while (await Peer.FetchAsync(request) is { } fetched && fetched.Bodies.Any())
        {
            bodies.AddRange(fetched.Bodies);
            request = fetched.Next();
        }

        return [.. bodies];
    }
}
