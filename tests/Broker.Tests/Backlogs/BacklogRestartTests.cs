using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker.Tests.Backlogs;

/// <summary>The bound after a restart, from what the log holds.</summary>
public sealed class BacklogRestartTests : BacklogTest
{
    [Theory]
    [InlineData(FlushPolicy.Async, true)]
    [InlineData(FlushPolicy.Async, false)]
    [InlineData(FlushPolicy.Sync, false)]
    public async Task GivenAFullTopic_WhenTheBrokerStartsAgain_ThenItIsFullStill(FlushPolicy flush, bool isClean)
    {
        await using TestBroker first = await TestBroker.StartAsync(TestBroker.SmallOptions(flush));
        QueueId[] queues;
        await using (TestPeer peer = await first.ConnectAsync())
        {
            queues = [.. (await peer.InvokeAsync(new CreateTopicRequest("orders", Bound(5, queues: 2)))).Queues
                .Select(queue => queue.Id)];
            await peer.ProduceAsync(queues[0], "a", "b", "c");
            await peer.ProduceAsync(queues[1], "d", "e");
            await peer.InvokeAsync(Commit(queues[0], 2));
            await peer.ProduceAsync(queues[1], "f", "g");
            await peer.InvokeAsync(Commit(queues[1], 1, "quick"));
            await peer.InvokeAsync(new DeleteGroupRequest("quick", null));
        }

        await using TestBroker again = isClean ? await first.RestartAsync() : await first.StartFromCopyAsync();
        await using TestPeer reader = await again.ConnectAsync();
        Assert.Equal(5, await reader.FigureAsync("backlog.messages{orders}"));
        Assert.Equal(
            ErrorCode.Timeout, Assert.Single(await SendAsync(reader, 50, (queues[0], Messages.Batch("x")))).Error);
        await reader.InvokeAsync(Commit(queues[1], 1));
        Assert.Equal(ErrorCode.None, Assert.Single(await SendAsync(reader, 0, (queues[0], Messages.Batch("y")))).Error);
        Assert.Equal(
            ErrorCode.Timeout, Assert.Single(await SendAsync(reader, 50, (queues[0], Messages.Batch("z")))).Error);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenABoundOfBytes_WhenTheBrokerStartsAgain_ThenTheBytesAreMeasuredAndNeverTooLittle(bool isClean)
    {
        const int Most = 2_000_000;
        QueueId[] queues = await CreateAsync(Bound(0, queues: 2, bytes: Most));
        var batches = new List<(long End, long Bytes)>[] { [], [] };
        var random = new Random(7);
        for (int i = 0; i < 120; i++)
        {
            byte[][] bodies = [.. Enumerable.Range(0, random.Next(1, 40)).Select(_ => new byte[random.Next(400)])];
            byte[] batch = Messages.Batch(ProducerSession.None, -1, bodies);
            ProduceResult result = Assert.Single(await SendAsync(Peer, 0, (queues[i % 2], batch)));
            batches[i % 2].Add((result.FirstOffset.Value + bodies.Length, 48 + batch.Length));
        }

        long all = batches.Sum(queue => queue.Sum(batch => batch.Bytes));
        Assert.Equal(all, await BacklogAsync("bytes"));
        await using TestBroker again = isClean ? await RestartAsync() : await Broker.StartFromCopyAsync();
        await using TestPeer reader = await again.ConnectAsync();
        Assert.Equal(all, await reader.FigureAsync("backlog.bytes{orders}"));
        long[] next = [0, 0];
        for (int step = 0; step < 40; step++)
        {
            int queue = step % 2;
            next[queue] = Math.Min(next[queue] + random.Next(60), batches[queue][^1].End);
            await reader.InvokeAsync(Commit(queues[queue], next[queue]));
            long truth = Enumerable.Range(0, 2).Sum(
                one => batches[one].Where(batch => batch.End > next[one]).Sum(batch => batch.Bytes));
            Assert.InRange(await reader.FigureAsync("backlog.bytes{orders}"), truth, truth + (all / 10));
        }

        for (int queue = 0; queue < 2; queue++)
            await reader.InvokeAsync(Commit(queues[queue], batches[queue][^1].End));
        Assert.Equal(0, await reader.FigureAsync("backlog.bytes{orders}"));
    }

    [Fact]
    public async Task GivenABoundOfBytes_WhenSent_ThenItHoldsToTheByte()
    {
        byte[] batch = Messages.Batch(ProducerSession.None, -1, new byte[500]);
        int size = 48 + batch.Length;
        QueueId queue = (await CreateAsync(Bound(0, BacklogPolicy.Reject, bytes: size * 3)))[0];
        for (int i = 0; i < 3; i++)
            Assert.Equal(ErrorCode.None, Assert.Single(await SendAsync(Peer, 0, (queue, batch))).Error);
        Assert.Equal((size * 3L, 3L), (await BacklogAsync("bytes"), await BacklogAsync()));
        Assert.Equal(ErrorCode.QueueFull, (await Peer.ProduceAsync(queue, "")).Error);
        await CommitAsync(queue, 1);
        Assert.Equal(size * 2, await BacklogAsync("bytes"));
        byte[] larger = Messages.Batch(ProducerSession.None, -1, new byte[501]);
        Assert.Equal(ErrorCode.QueueFull, Assert.Single(await SendAsync(Peer, 0, (queue, larger))).Error);
        Assert.Equal(ErrorCode.None, Assert.Single(await SendAsync(Peer, 0, (queue, batch))).Error);
    }

    private async Task<TestBroker> RestartAsync()
    {
        Broker = await Broker.RestartAsync();
        await Peer.DisposeAsync();
        Peer = await Broker.ConnectAsync("admin");
        return Broker;
    }
}
