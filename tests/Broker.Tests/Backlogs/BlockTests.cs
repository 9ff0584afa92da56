using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Backlogs;

/// <summary>A full topic whose senders wait: the bound, the line, and all that ends a wait.</summary>
public sealed class BlockTests : BacklogTest
{
    [Fact]
    public async Task GivenManySenders_WhenTheyRaceAtTheBound_ThenItIsNeverPassedAndAllIsStored()
    {
        const int Most = 16;
        const int Senders = 8;
        const int Each = 40;
        QueueId[] queues = await CreateAsync(Bound(Most, queues: 2));
        await CommitAsync(queues[0], 0);
        Task<int>[] senders = [.. Enumerable.Range(0, Senders).Select(async sender =>
        {
            await using TestPeer peer = await Broker.ConnectAsync($"s{sender}");
            int sent = 0;
            for (int i = 0; i < Each; i++)
            {
                string[] bodies =
                    [.. Enumerable.Range(0, 1 + ((sender + i) % 3)).Select(part => $"{sender}.{i}.{part}")];
                ProduceResult result = await peer.ProduceAsync(queues[(sender + i) % 2], bodies);
                Assert.Equal(ErrorCode.None, result.Error);
                sent += bodies.Length;
            }

            return sent;
        })];
        Task<int[]> all = Task.WhenAll(senders);
        long[] committed = [0, 0];
        long fullest = 0;
        while (!all.IsCompleted || committed[0] + committed[1] < (await all).Sum())
        {
            // Figures taken after the commits were asked for: whatever they hold had room by then.
            TopicDescription topic = await Peer.InvokeAsync(new DescribeTopicRequest("orders"));
            long held = topic.Queues.Sum(queue => queue.End.Value) - committed.Sum();
            long told = await BacklogAsync();
            Assert.InRange(held, 0, Most);
            Assert.InRange(told, 0, Most);
            fullest = Math.Max(fullest, Math.Max(held, told));
            for (int queue = 0; queue < 2; queue++)
            {
                long end = topic.Queues[queue].End.Value;
                if (end == committed[queue])
                    continue;
                committed[queue] += Math.Max(1, (end - committed[queue]) / 2);
                await CommitAsync(queues[queue], committed[queue]);
            }
        }

        Assert.InRange(fullest, Most - 2, Most);
        Assert.Equal(
            (0L, 0L, 0L), (await BacklogAsync(), await BacklogAsync("parked"), await BacklogAsync("rejected")));
        Assert.Equal(0, await Peer.FigureAsync("broker.parkedBytes"));
        Assert.Equal(0, await Peer.FigureAsync("broker.parkedProduces"));
    }

    [Fact]
    public async Task GivenALine_WhenRoomComesBitByBit_ThenNobodyOvertakesNotEvenASmallBatch()
    {
        QueueId queue = (await CreateAsync(Bound(4)))[0];
        await FillAsync(queue, 4);
        await CommitAsync(queue, 0);
        var peers = new List<TestPeer>();
        var sends = new List<Task<ProduceResult>>();
        string[][] waiting = [["a1", "a2", "a3"], ["b"], ["c1", "c2"], ["d"]];
        foreach (string[] bodies in waiting)
        {
            peers.Add(await Broker.ConnectAsync());
            sends.Add(peers[^1].ProduceAsync(queue, bodies));
            await ParkedAsync(sends.Count);
        }

        await CommitAsync(queue, 2);
        await ParkedAsync(4);
        Assert.Equal((2L, 4L), (await BacklogAsync(), await EndAsync(queue)));
        await CommitAsync(queue, 3);
        Assert.Equal(4, (await sends[0]).FirstOffset.Value);
        await CommitAsync(queue, 4);
        Assert.Equal(7, (await sends[1]).FirstOffset.Value);
        await CommitAsync(queue, 8);
        Assert.Equal((8L, 10L), ((await sends[2]).FirstOffset.Value, (await sends[3]).FirstOffset.Value));
        Assert.Equal(["a1", "a2", "a3", "b", "c1", "c2", "d"], (await BodiesAsync(queue))[4..]);
        foreach (TestPeer peer in peers)
            await peer.DisposeAsync();
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenManyParkedRequestsOfOneSender_WhenRoomComes_ThenTheirOrderHolds(bool isIdempotent)
    {
        const int Count = 12;
        QueueId queue = (await CreateAsync(Bound(2)))[0];
        ProducerSession session = isIdempotent ? await InitAsync() : ProducerSession.None;
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult[]>[] sends = [.. Enumerable.Range(0, Count).Select(i => SendAsync(
            sender, 0, (queue, Messages.Batch(session, isIdempotent ? i : -1, $"m{i}"))))];
        for (int next = 1; next <= Count - 2; next++)
        {
            await ParkedAsync(Count - 1 - next);
            await CommitAsync(queue, next);
        }

        Assert.Equal(Enumerable.Range(0, Count), (await Task.WhenAll(sends)).Select(
            result => (int)Assert.Single(result).FirstOffset.Value));
        Assert.Equal(Enumerable.Range(0, Count).Select(i => $"m{i}"), await BodiesAsync(queue));
    }

    [Fact]
    public async Task GivenBatchesOfSeveralTopics_WhenOneIsFull_ThenTheOthersAreStoredAtOnceAndOneAnswerTellsAll()
    {
        QueueId full = (await CreateAsync(Bound(1)))[0];
        QueueId roomy = (await CreateAsync(Bound(10), "roomy"))[0];
        QueueId free = (await CreateAsync(TopicSettings.None, "free"))[0];
        await FillAsync(full, 1);
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult[]> send = SendAsync(
            sender,
            0,
            (free, Messages.Batch("f1")),
            (full, Messages.Batch("w1")),
            (new QueueId(9_999), Messages.Batch("x")),
            (roomy, Messages.Batch("r1", "r2")),
            (full, Messages.Batch("w2")),
            (free, Messages.Batch("f2")));
        await ParkedAsync(2);
        await Eventually.TrueAsync(async () => await EndAsync(free, "free") == 2 && await EndAsync(roomy, "roomy") == 2);
        Assert.Equal(["f1", "f2"], await BodiesAsync(free));
        Assert.Equal(["r1", "r2"], await BodiesAsync(roomy));
        await CommitAsync(full, 1);
        await ParkedAsync(1);
        Assert.False(send.IsCompleted);
        await Eventually.TrueAsync(async () => await EndAsync(full) == 2, "The first that waited should be stored.");
        await CommitAsync(full, 2);
        ProduceResult[] results = await send;
        Assert.Equal(
            [ErrorCode.None, ErrorCode.None, ErrorCode.UnknownQueue, ErrorCode.None, ErrorCode.None, ErrorCode.None],
            results.Select(result => result.Error));
        Assert.Equal([0L, 1, -1, 0, 2, 1], results.Select(result => result.FirstOffset.Value));
    }

    [Fact]
    public async Task GivenARequestThatWaitsElsewhere_WhenItsOtherTopicIsRead_ThenThatOneCountsWhatItHolds()
    {
        QueueId full = (await CreateAsync(Bound(1), "full"))[0];
        QueueId queue = (await CreateAsync(Bound(2)))[0];
        await Peer.ProduceAsync(full, "x");
        await using TestPeer first = await Broker.ConnectAsync();
        Task<ProduceResult[]> half = SendAsync(first, 0, (queue, Messages.Batch("a")), (full, Messages.Batch("y")));
        await ParkedAsync(1, "full");
        Assert.Equal(ErrorCode.None, (await Peer.ProduceAsync(queue, "b")).Error);
        Assert.Equal(2, await BacklogAsync());
        await CommitAsync(queue, 2);
        Assert.Equal(0, await BacklogAsync());
        Assert.Equal(ErrorCode.None, (await SendAsync(Peer, 5_000, (queue, Messages.Batch("c", "d"))))[0].Error);
        Assert.False(half.IsCompleted);
        await CommitAsync(full, 1);
        Assert.All(await half, result => Assert.Equal(ErrorCode.None, result.Error));
    }

    [Fact]
    public async Task GivenAFullTopic_WhenABatchIsLargerThanTheBound_ThenItIsToldSoAtOnce()
    {
        QueueId queue = (await CreateAsync(Bound(3, bytes: 400)))[0];
        await FillAsync(queue, 3);
        Assert.Equal(ErrorCode.BatchExceedsBacklog, (await Peer.ProduceAsync(queue, "a", "b", "c", "d")).Error);
        Assert.Equal(ErrorCode.BatchExceedsBacklog, (await Peer.ProduceAsync(queue, new string('x', 400))).Error);
        Assert.Equal(3, await EndAsync(queue));
    }

    [Fact]
    public async Task GivenAFullTopic_WhenARepetitionOrAReplacedProducerSends_ThenItIsAnsweredAtOnce()
    {
        QueueId queue = (await CreateAsync(Bound(2)))[0];
        ProducerSession session = await InitAsync();
        byte[] first = Messages.Batch(session, 0, "a", "b");
        await SendAsync(Peer, 0, (queue, first));
        ProduceResult again = Assert.Single(await SendAsync(Peer, 0, (queue, first)));
        Assert.Equal((ErrorCode.DuplicateSequence, 0L), (again.Error, again.FirstOffset.Value));
        ProducerSession renewed = (await Peer.InvokeAsync(new InitProducerRequest(null, session))).Session;
        Assert.NotEqual(session, renewed);
        Assert.Equal(
            ErrorCode.ProducerFenced,
            Assert.Single(await SendAsync(Peer, 0, (queue, Messages.Batch(session, 2, "c")))).Error);
        Assert.Equal(
            ErrorCode.UnknownProducer,
            Assert.Single(await SendAsync(
                Peer, 0, (queue, Messages.Batch(new ProducerSession(99_999, 0), 1, "c")))).Error);
        Assert.Equal(2, await BacklogAsync());
    }

    [Fact]
    public async Task GivenRepetitionsWithRoom_WhenAnswered_ThenTheyTakeNone()
    {
        QueueId queue = (await CreateAsync(Bound(4)))[0];
        ProducerSession session = await InitAsync();
        byte[] first = Messages.Batch(session, 0, "a");
        await SendAsync(Peer, 0, (queue, first));
        for (int i = 0; i < 10; i++)
        {
            Assert.Equal(
                ErrorCode.DuplicateSequence, Assert.Single(await SendAsync(Peer, 0, (queue, first))).Error);
            Assert.Equal(
                ErrorCode.OutOfOrderSequence,
                Assert.Single(await SendAsync(Peer, 0, (queue, Messages.Batch(session, 7, "h")))).Error);
        }

        Assert.Equal(1, await BacklogAsync());
        Assert.Equal(ErrorCode.None, (await SendAsync(Peer, 0, (queue, Messages.Batch("x", "y", "z"))))[0].Error);
    }

    [Fact]
    public async Task GivenADeadline_WhenItPassesInLine_ThenTimeoutAndTheBatchIsNeverStored()
    {
        QueueId queue = (await CreateAsync(Bound(2)))[0];
        await FillAsync(queue, 2);
        ProduceResult late = Assert.Single(await SendAsync(Peer, 100, (queue, Messages.Batch("late"))));
        Assert.Equal((ErrorCode.Timeout, -1L), (late.Error, late.FirstOffset.Value));
        Assert.Equal((0L, 0L), (await BacklogAsync("parked"), await Peer.FigureAsync("broker.parkedBytes")));
        await CommitAsync(queue, 2);
        await Peer.ProduceAsync(queue, "after");
        Assert.Equal(["fill0", "fill1", "after"], await BodiesAsync(queue));
    }

    [Fact]
    public async Task GivenALargeBatchAtTheHead_WhenItsTimeIsOver_ThenThoseBehindItThatFitComeInAndNotBefore()
    {
        QueueId queue = (await CreateAsync(Bound(4)))[0];
        await FillAsync(queue, 3);
        await using TestPeer large = await Broker.ConnectAsync();
        Task<ProduceResult[]> head = SendAsync(large, 60_000, (queue, Messages.Batch("a", "b")));
        await ParkedAsync(1);
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult> small = sender.ProduceAsync(queue, "c");
        await ParkedAsync(2);
        Time.Advance(TimeSpan.FromSeconds(61));
        Assert.Equal(ErrorCode.Timeout, Assert.Single(await head).Error);
        Assert.Equal(3, (await small).FirstOffset.Value);
    }

    [Fact]
    public async Task GivenALineOfBatches_WhenTheirConnectionEnds_ThenNoneIsStoredAndTheRoomIsNotLost()
    {
        QueueId queue = (await CreateAsync(Bound(3)))[0];
        await FillAsync(queue, 3);
        await CommitAsync(queue, 0);
        TestPeer leaving = await Broker.ConnectAsync("leaving");
        for (int i = 0; i < 5; i++)
            await leaving.SendOnewayAsync(Opcode.Produce, Request(0, (queue, Messages.Batch($"gone{i}"))));
        await ParkedAsync(5);
        Task<ProduceResult[]> stays = SendAsync(Peer, 0, (queue, Messages.Batch("a", "b", "c")));
        await using TestPeer admin = await Broker.ConnectAsync();
        await leaving.DisposeAsync();
        await ParkedAsync(1);
        await CommitAsync(queue, 3);
        Assert.Equal(ErrorCode.None, (await stays)[0].Error);
        Assert.Equal(["fill0", "fill1", "fill2", "a", "b", "c"], await BodiesAsync(queue));
        Assert.Equal((3L, 0L), (await BacklogAsync(), await Peer.FigureAsync("broker.parkedBytes")));
    }

    [Fact]
    public async Task GivenALine_WhenTheTopicIsDeleted_ThenUnknownQueueIsAnsweredAndOthersGoOn()
    {
        QueueId queue = (await CreateAsync(Bound(1)))[0];
        QueueId other = (await CreateAsync(Bound(1), "other"))[0];
        await FillAsync(queue, 1);
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult[]> send = SendAsync(
            sender, 0, (queue, Messages.Batch("a")), (other, Messages.Batch("b")), (queue, Messages.Batch("c")));
        await ParkedAsync(2);
        await Peer.InvokeAsync(new DeleteTopicRequest("orders"));
        Assert.Equal(
            [ErrorCode.UnknownQueue, ErrorCode.None, ErrorCode.UnknownQueue],
            (await send).Select(result => result.Error));
        Assert.Equal(0, await Peer.FigureAsync("broker.parkedBytes"));
    }

    [Fact]
    public async Task GivenALine_WhenTheBrokerStops_ThenShuttingDownComesAtOnceAndTheStopIsOrderly()
    {
        QueueId queue = (await CreateAsync(Bound(1)))[0];
        await FillAsync(queue, 1);
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult[]> send = SendAsync(sender, 0, (queue, Messages.Batch("a")), (queue, Messages.Batch("b")));
        await ParkedAsync(2);
        await Broker.Broker.StopAsync(CancellationToken.None);
        Assert.All(await send, result => Assert.Equal(ErrorCode.ShuttingDown, result.Error));
        Broker = await Broker.RestartAsync();
        await Peer.DisposeAsync();
        Peer = await Broker.ConnectAsync();
        Assert.Equal((1L, 1L), (await EndAsync(queue), await BacklogAsync()));
    }
}
