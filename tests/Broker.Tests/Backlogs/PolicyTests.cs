using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests.Backlogs;

/// <summary>Topics that refuse at their bound, or let go of the oldest; and how readers of bounded ones are
/// told.</summary>
public sealed class PolicyTests : BacklogTest
{
    [Fact]
    public async Task GivenReject_WhenTheTopicIsFull_ThenQueueFullComesAtOnceWithATimeAndSmallerOnesStillFit()
    {
        QueueId queue = (await CreateAsync(Bound(3, BacklogPolicy.Reject)))[0];
        await FillAsync(queue, 2);
        ProduceResult refused = await Peer.ProduceAsync(queue, "a", "b");
        Assert.Equal((ErrorCode.QueueFull, -1L), (refused.Error, refused.FirstOffset.Value));
        Assert.True(refused.RetryAfterMs > 0);
        Assert.Equal(2, (await Peer.ProduceAsync(queue, "c")).FirstOffset.Value);
        Assert.Equal(ErrorCode.QueueFull, (await Peer.ProduceAsync(queue, "d")).Error);
        Assert.Equal(ErrorCode.BatchExceedsBacklog, (await Peer.ProduceAsync(queue, "a", "b", "c", "d")).Error);
        Assert.Equal(
            (3L, 2L, 0L), (await BacklogAsync(), await BacklogAsync("rejected"), await BacklogAsync("parked")));
        await CommitAsync(queue, 1);
        Assert.Equal(3, (await Peer.ProduceAsync(queue, "e")).FirstOffset.Value);
    }

    [Fact]
    public async Task GivenReject_WhenARefusedSequenceIsUsedAgain_ThenItIsTheNextOneAndRepetitionsAreNoRejections()
    {
        QueueId queue = (await CreateAsync(Bound(1, BacklogPolicy.Reject)))[0];
        ProducerSession session = await InitAsync();
        byte[] first = Messages.Batch(session, 0, "a");
        await SendAsync(Peer, 0, (queue, first));
        Assert.Equal(ErrorCode.DuplicateSequence, Assert.Single(await SendAsync(Peer, 0, (queue, first))).Error);
        Assert.Equal(0, await BacklogAsync("rejected"));
        Assert.Equal(
            ErrorCode.QueueFull,
            Assert.Single(await SendAsync(Peer, 0, (queue, Messages.Batch(session, 1, "b")))).Error);
        await CommitAsync(queue, 1);
        Assert.Equal(
            ErrorCode.None,
            Assert.Single(await SendAsync(Peer, 0, (queue, Messages.Batch(session, 1, "c")))).Error);
        Assert.Equal(1, await BacklogAsync("rejected"));
        Assert.Equal(["a", "c"], await BodiesAsync(queue));
    }

    [Fact]
    public async Task GivenDropOldest_WhenMoreIsSent_ThenTheNewestStayEvenlyOverTheQueues()
    {
        const int Most = 64;
        QueueId[] queues = await CreateAsync(Bound(Most, BacklogPolicy.DropOldest, 2));
        for (int i = 0; i < 200; i++)
            Assert.Equal(ErrorCode.None, (await Peer.ProduceAsync(queues[i % 4 == 0 ? 1 : 0], $"m{i}")).Error);
        await Eventually.TrueAsync(async () => await BacklogAsync() <= Most);
        string[] left = [.. (await TailAsync(queues[0])), .. (await TailAsync(queues[1]))];
        Assert.InRange(left.Length, Most - (Most / 16) - 1, Most);
        Assert.Equal(200 - left.Length, await BacklogAsync("dropped"));
        Assert.Equal(left.Length, await BacklogAsync());
        Assert.Contains("m199", left);
        Assert.Contains("m196", left);

        // As long as both are longer than their share they are cut to one length.
        TopicDescription topic = await Peer.InvokeAsync(new DescribeTopicRequest("orders"));
        long[] lengths = [.. topic.Queues.Select(queue => queue.End.Value - queue.Start.Value)];
        Assert.InRange(lengths[0], 28, 36);
        Assert.InRange(lengths[1], 26, 32);
        Assert.Equal(0, await BacklogAsync("rejected"));
    }

    [Fact]
    public async Task GivenDropOldest_WhenAReaderKeepsUp_ThenNothingGoes()
    {
        QueueId queue = (await CreateAsync(Bound(4, BacklogPolicy.DropOldest)))[0];
        await CommitAsync(queue, 0);
        for (int i = 0; i < 40; i++)
        {
            await Peer.ProduceAsync(queue, $"m{i}");
            await CommitAsync(queue, i + 1);
        }

        Assert.Equal((0L, 0L), (await BacklogAsync("dropped"), await BacklogAsync()));
        Assert.Equal(40, (await BodiesAsync(queue)).Length);
    }

    [Fact]
    public async Task GivenDropOldestInBytes_WhenMoreIsSent_ThenTheBytesComeBelowTheBound()
    {
        QueueId[] queues = await CreateAsync(Bound(0, BacklogPolicy.DropOldest, 2, bytes: 20_000));
        for (int i = 0; i < 100; i++)
            await Peer.ProduceAsync(queues[i % 2], $"m{i}-" + new string('x', 900));
        await Eventually.TrueAsync(async () => await BacklogAsync("bytes") <= 20_000);
        Assert.InRange(await BacklogAsync("bytes"), 20_000 * 7 / 8, 20_000);
        Assert.StartsWith("m99-", (await TailAsync(queues[1]))[^1], StringComparison.Ordinal);
        Assert.Equal(100 - await BacklogAsync(), await BacklogAsync("dropped"));
    }

    [Fact]
    public async Task GivenDropOldest_WhenNothingIsVisibleYet_ThenTheCutComesWithTheWrite()
    {
        QueueId queue = (await CreateAsync(Bound(4, BacklogPolicy.DropOldest)))[0];
        await using TestPeer sender = await Broker.ConnectAsync();
        Disk.HoldWrites();
        Task<ProduceResult[]>[] sends = [.. Enumerable.Range(0, 12).Select(
            i => SendAsync(sender, 0, (queue, Messages.Batch($"m{i}".PadRight(i == 0 ? 40_000 : 0)))))];
        await Eventually.TrueAsync(async () => await BacklogAsync() == 12);
        Disk.ReleaseWrites();
        await Task.WhenAll(sends);
        await Eventually.TrueAsync(async () => await BacklogAsync() <= 4);
        Assert.Equal("m11", (await TailAsync(queue))[^1]);
    }

    [Fact]
    public async Task GivenRetention_WhenItMovesStarts_ThenThatMakesRoom()
    {
        QueueId queue = (await CreateAsync(Bound(5) with { RetentionCount = 2 }))[0];
        await FillAsync(queue, 5);
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult> send = sender.ProduceAsync(queue, "a", "b");
        Assert.Equal(5, (await send).FirstOffset.Value);
    }

    [Fact]
    public async Task GivenTopicsWithAndWithoutABound_WhenRead_ThenOnlyAnswersWithBoundedMessagesAreMarked()
    {
        QueueId queue = (await CreateAsync(Bound(5)))[0];
        QueueId free = (await CreateAsync(TopicSettings.None, "free"))[0];
        await Peer.ProduceAsync(queue, "a");
        await Peer.ProduceAsync(free, "b");
        Assert.True(await IsMarkedAsync(Messages.From(queue, 0)));
        Assert.False(await IsMarkedAsync(Messages.From(queue, 1)));
        Assert.False(await IsMarkedAsync(Messages.From(free, 0)));
        Assert.True(await IsMarkedAsync(Messages.From(free, 0), Messages.From(queue, 0)));
        Assert.False(await IsMarkedAsync(Messages.From(free, 0), Messages.From(queue, 1)));
        await AlterAsync(new TopicSettings { MaxBacklogMessages = 0 });
        Assert.False(await IsMarkedAsync(Messages.From(queue, 0)));
        RouteResponse routes = await Peer.InvokeAsync(new RouteRequest(["orders", "free"], false));
        Assert.All(routes.Topics, topic => Assert.DoesNotContain(
            topic.Queues, route => route.State.HasFlag(QueueState.Bounded)));
        await AlterAsync(new TopicSettings { MaxBacklogBytes = 1_000 });
        routes = await Peer.InvokeAsync(new RouteRequest(["orders", "free"], false));
        Assert.Equal([true, false], routes.Topics.Select(topic => topic.Queues[0].State.HasFlag(QueueState.Bounded)));
    }

    private protected override BrokerOptions Prepare(BrokerOptions options)
    {
        options = base.Prepare(options);
        return options with
        {
            Topics = options.Topics with { RetentionInterval = TimeSpan.FromMilliseconds(200), QueueCount = 1 },
        };
    }

    private async Task<bool> IsMarkedAsync(params FetchQueue[] queues)
    {
        using ResponseFrame answer = await Peer.SendAsync(Opcode.Fetch, TestPeer.Encode(Messages.Open(0, queues)));
        Assert.Equal(0, answer.Header.Error);
        return answer.Header.Flags.HasFlag(FrameFlags.Marked);
    }

    /// <summary>What is left of a queue.</summary>
    private async Task<string[]> TailAsync(QueueId queue)
    {
        TopicDescription topic = await Peer.InvokeAsync(new DescribeTopicRequest("orders"));
        long start = topic.Queues.Single(one => one.Id == queue).Start.Value;
        return [.. (await Peer.FetchAsync(Messages.Open(0, Messages.From(queue, start)))).Bodies];
    }
}
