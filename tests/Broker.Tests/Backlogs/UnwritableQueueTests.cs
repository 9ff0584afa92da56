using EQueue.Protocol;

namespace EQueue.Broker.Tests.Backlogs;

/// <summary>A full topic one of whose queues takes no messages any more.</summary>
public sealed class UnwritableQueueTests : BacklogTest
{
    [Fact]
    public async Task GivenSendersInLine_WhenTheirQueueBecomesUnwritable_ThenTheyAreRefusedAndTheOthersGoOn()
    {
        QueueId[] queues = await CreateAsync(Bound(2, queues: 2));
        await FillAsync(queues[0], 2);
        await CommitAsync(queues[0], 0);
        await using TestPeer first = await Broker.ConnectAsync();
        await using TestPeer second = await Broker.ConnectAsync();
        Task<ProduceResult[]> leaving = SendAsync(
            first, 0, (queues[0], Messages.Batch("x")), (queues[0], Messages.Batch("y")));
        await ParkedAsync(2);
        Task<ProduceResult> staying = second.ProduceAsync(queues[1], "z");
        await ParkedAsync(3);

        await AlterAsync(isWritable: false, 0);
        Assert.All(await leaving, result => Assert.Equal(ErrorCode.QueueNotWritable, result.Error));
        Assert.Equal((1L, 2L), (await BacklogAsync("parked"), await BacklogAsync()));

        // A batch that comes now does not stand in line either.
        Assert.Equal(ErrorCode.QueueNotWritable, (await first.ProduceAsync(queues[0], "late")).Error);
        await CommitAsync(queues[0], 1);
        Assert.Equal(ErrorCode.None, (await staying).Error);
        Assert.Equal((2L, 2L), (await EndAsync(queues[0]), await BacklogAsync()));
        await CommitAsync(queues[0], 2);
        await CommitAsync(queues[1], 1);
        await AlterAsync(isWritable: true, 0);
        Assert.Equal(ErrorCode.None, (await first.ProduceAsync(queues[0], "again")).Error);
        Assert.Equal((1L, 0L), (await BacklogAsync(), await BacklogAsync("parked")));
    }

    [Fact]
    public async Task GivenARepetitionOfWhatWasLetInMeanwhile_WhenItsQueueBecomesUnwritable_ThenItIsStillADuplicate()
    {
        QueueId queue = (await CreateAsync(Bound(2)))[0];
        await FillAsync(queue, 2);
        await CommitAsync(queue, 0);
        ProducerSession session = await InitAsync();
        byte[] batch = Messages.Batch(session, 0, "once");
        byte[] large = Messages.Batch("l1", "l2");
        await using TestPeer first = await Broker.ConnectAsync();
        await using TestPeer second = await Broker.ConnectAsync();
        await using TestPeer third = await Broker.ConnectAsync();
        Task<ProduceResult[]> sent = SendAsync(first, 0, (queue, batch));
        await ParkedAsync(1);
        Task<ProduceResult[]> between = SendAsync(second, 0, (queue, large));
        await ParkedAsync(2);
        Task<ProduceResult[]> again = SendAsync(third, 0, (queue, batch));
        await ParkedAsync(3);
        await CommitAsync(queue, 1);
        Assert.Equal(ErrorCode.None, Assert.Single(await sent).Error);

        await AlterAsync(isWritable: false, 0);
        Assert.Equal(ErrorCode.QueueNotWritable, Assert.Single(await between).Error);
        ProduceResult repeated = Assert.Single(await again);
        Assert.Equal((ErrorCode.DuplicateSequence, 2L), (repeated.Error, repeated.FirstOffset.Value));
        Assert.Equal((2L, 0L, 3L), (await BacklogAsync(), await BacklogAsync("parked"), await EndAsync(queue)));
    }

    [Theory]
    [InlineData(BacklogPolicy.Block)]
    [InlineData(BacklogPolicy.Reject)]
    public async Task GivenAnUnwritableQueue_WhenItsTopicGetsABound_ThenItSaysThatAndNotThatItIsFull(
        BacklogPolicy policy)
    {
        QueueId queue = (await CreateAsync(new TopicSettings { QueueCount = 1 }))[0];
        await FillAsync(queue, 3);
        await AlterAsync(isWritable: false, 0);
        await AlterAsync(Bound(2, policy));
        Assert.Equal(ErrorCode.QueueNotWritable, (await Peer.ProduceAsync(queue, "a")).Error);
        Assert.Equal((0L, 0L), (await BacklogAsync("parked"), await BacklogAsync("rejected")));
    }

    private Task<TopicDescription> AlterAsync(bool isWritable, params int[] numbers) => Peer.InvokeAsync(new AlterQueuesRequest(
        "orders", numbers, QueueState.Writable, isWritable ? QueueState.Writable : QueueState.None));
}
