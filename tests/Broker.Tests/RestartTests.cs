using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>
/// What was acknowledged is there again: after an orderly stop, and from what lies on disk while the broker runs.
/// </summary>
public sealed class RestartTests
{
    [Theory]
    [InlineData(FlushPolicy.Async, true)]
    [InlineData(FlushPolicy.Async, false)]
    [InlineData(FlushPolicy.Sync, true)]
    [InlineData(FlushPolicy.Sync, false)]
    public async Task GivenEverythingABrokerKeeps_WhenItStartsAgain_ThenItIsAllThere(FlushPolicy flush, bool isClean)
    {
        await using TestBroker first = await TestBroker.StartAsync(TestBroker.SmallOptions(flush));
        QueueId queue;
        TopicDescription topic;
        ProducerSession session;
        byte[] last;
        long epoch;
        await using (TestPeer peer = await first.ConnectAsync())
        {
            await peer.CreateTopicAsync("gone");
            topic = await peer.CreateTopicAsync("orders", 3);
            topic = await peer.InvokeAsync(
                new AlterTopicRequest("orders", new TopicSettings { QueueCount = 5, RetentionCount = 9 }));
            await peer.InvokeAsync(new DeleteTopicRequest("gone"));
            queue = topic.Queues[4].Id;
            session = (await peer.InvokeAsync(new InitProducerRequest(null, ProducerSession.None))).Session;
            await peer.ProduceAsync(Durability.Policy, (queue, Messages.Batch(session, 0, "a", "b")));
            last = Messages.Batch(session, 2, "c");
            await peer.ProduceAsync(Durability.Policy, (queue, last));
            await peer.InvokeAsync(Commit(queue, 2));
            epoch = (long)peer.Hello.Incarnation;
        }

        await using TestBroker again = isClean ? await first.RestartAsync() : await first.StartFromCopyAsync();
        await using TestPeer reader = await again.ConnectAsync();
        Assert.Equal(first.Broker.StoreId, again.Broker.StoreId);
        Assert.True((long)reader.Hello.Incarnation > epoch);
        TopicDescription kept = await reader.InvokeAsync(new DescribeTopicRequest("orders"));
        Assert.Equal((topic.Id, topic.CreatedMs, topic.Settings), (kept.Id, kept.CreatedMs, kept.Settings));
        Assert.Equal(topic.Queues.Select(one => one.Id), kept.Queues.Select(one => one.Id));
        Assert.Equal(
            ["orders"], (await reader.InvokeAsync(new ListTopicsRequest(null, 9))).Topics.Select(one => one.Topic));
        Assert.Equal(["a", "b", "c"], (await reader.FetchAsync(Messages.Open(0, Messages.From(queue, 0)))).Bodies);
        Assert.Equal(2, (await ReadAsync(reader, queue)).Next.Value);

        ProduceResult[] results = await reader.ProduceAsync(
            Durability.Policy, (queue, last), (queue, Messages.Batch(session, 3, "d")));
        Assert.Equal([ErrorCode.DuplicateSequence, ErrorCode.None], results.Select(result => result.Error));
        Assert.Equal([2L, 3], results.Select(result => result.FirstOffset.Value));
        Assert.NotEqual(
            session.Id, (await reader.InvokeAsync(new InitProducerRequest(null, ProducerSession.None))).Session.Id);
        TopicDescription made = await reader.CreateTopicAsync("next");
        Assert.DoesNotContain(made.Queues[0].Id, kept.Queues.Select(one => one.Id));
    }

    [Fact]
    public async Task GivenProgressInATopicThatWasDeleted_WhenTheBrokerStartsAgain_ThenItIsForgotten()
    {
        await using TestBroker first = await TestBroker.StartAsync();
        QueueId queue;
        await using (TestPeer peer = await first.ConnectAsync())
        {
            queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
            await peer.ProduceAsync(queue, "a");
            await peer.InvokeAsync(Commit(queue, 1));
            await peer.InvokeAsync(new DeleteTopicRequest("orders"));
        }

        await using TestBroker again = await first.RestartAsync();
        await using TestPeer reader = await again.ConnectAsync();
        Assert.Equal(-1, (await ReadAsync(reader, queue)).Next.Value);
        Assert.Equal(0, await reader.FigureAsync("broker.groups"));
    }

    [Fact]
    public async Task GivenAParkedFetch_WhenTheBrokerStops_ThenItIsAnsweredAndTheBrokerStopsInOrder()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        Task<Fetched> fetch = peer.FetchAsync(Messages.Open(60_000, Messages.From(queue, 0)));
        await peer.UntilParkedAsync(1);
        await broker.Broker.StopAsync(CancellationToken.None);
        Assert.Empty((await fetch).Queues);
        await broker.Broker.Completion;
    }

    [Fact]
    public async Task GivenProduceRequestsUnderWay_WhenTheBrokerStops_ThenWhatWasAcknowledgedIsThereAgain()
    {
        await using TestBroker broker = await TestBroker.StartAsync(TestBroker.SmallOptions(FlushPolicy.Sync));
        int acknowledged = 0;
        QueueId queue;
        await using (TestPeer peer = await broker.ConnectAsync())
        {
            queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
            Task[] sends = [.. Enumerable.Range(0, 200).Select(async i =>
            {
                try
                {
                    if ((await peer.ProduceAsync(queue, $"m{i}")).IsStored)
                        Interlocked.Increment(ref acknowledged);
                }
                catch (Remoting.RemotingException)
                {
                    // The broker had stopped reading: not acknowledged.
                }
            })];
            await Eventually.TrueAsync(() =>
                Task.FromResult(Volatile.Read(ref acknowledged) > 0), "Some should be stored.");
            broker.OwnsDirectory = false;
            await broker.Broker.StopAsync(CancellationToken.None);
            await peer.DisposeAsync();
            await Task.WhenAll(sends);
        }

        await using TestBroker again = await TestBroker.StartAsync(broker.Options);
        await using TestPeer reader = await again.ConnectAsync();
        Fetched fetched = await reader.FetchAsync(Messages.Open(0, Messages.From(queue, 0)));
        Assert.True(fetched.Bodies.Count() >= acknowledged);
        Assert.Equal(Enumerable.Range(0, fetched.Bodies.Count()).Select(i => $"m{i}"), fetched.Bodies);
    }

    [Fact]
    public async Task GivenARunningBroker_WhenASecondOneWantsItsFolderOrItsPort_ThenItIsRefusedAndTheFirstGoesOn()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        DiskException locked = await Assert.ThrowsAsync<DiskException>(() => EQueueBroker.StartAsync(broker.Options));
        Assert.Equal(DiskFault.Locked, locked.Fault);
        BrokerOptions other = TestBroker.SmallOptions() with { Listen = broker.EndPoint.ToString()! };
        await Assert.ThrowsAsync<System.Net.Sockets.SocketException>(() => EQueueBroker.StartAsync(other));

        // The folder of the one that could not listen is free again.
        await using (await TestBroker.StartAsync(other with { Listen = "127.0.0.1:0" }))
        await using (TestPeer peer = await broker.ConnectAsync())
            await peer.CreateTopicAsync("orders");
    }

    private static CommitOffsetsRequest Commit(QueueId queue, long next) => new(
        "billing",
        Guid.Empty,
        [new OffsetCommit(new QueueKey(0, queue), GroupGeneration.None, new QueueOffset(next), -1, null)]);

    private static async Task<CommittedOffset> ReadAsync(TestPeer peer, QueueId queue) => Assert.Single(
        (await peer.InvokeAsync(new ReadOffsetsRequest("billing", [new QueueKey(0, queue)]))).Offsets);
}
