using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Backlogs;

/// <summary>The broker's own limits of what waits.</summary>
public sealed class BacklogLimitTests : BacklogTest
{
    [Fact]
    [EffectOf("Limits:MaxBacklogWait")]
    public async Task GivenNoDeadline_WhenTheBrokersLongestWaitPasses_ThenTimeoutIsAnswered()
    {
        QueueId queue = (await CreateAsync(Bound(1)))[0];
        await FillAsync(queue, 1);
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult[]> unlimited = SendAsync(sender, 0, (queue, Messages.Batch("a")));
        Task<ProduceResult[]> longer = SendAsync(sender, 3_600_000, (queue, Messages.Batch("b")));
        await ParkedAsync(2);
        Time.Advance(TimeSpan.FromSeconds(110));
        Assert.Equal(2, await BacklogAsync("parked"));
        Time.Advance(TimeSpan.FromSeconds(20));
        Assert.Equal(ErrorCode.Timeout, Assert.Single(await unlimited).Error);
        Assert.Equal(ErrorCode.Timeout, Assert.Single(await longer).Error);
        Assert.Equal(1, await EndAsync(queue));
    }

    [Fact]
    [EffectOf("Limits:ParkedBytes")]
    public async Task GivenMoreThanMayWait_WhenSent_ThenItsConnectionIsNotReadUntilThereIsRoomAndOthersAre()
    {
        const int Sent = 40;
        QueueId queue = (await CreateAsync(Bound(1)))[0];
        QueueId free = (await CreateAsync(TopicSettings.None, "free"))[0];
        await FillAsync(queue, 1);
        long before = await Peer.FigureAsync("broker.produceRequests");
        using RawConnection raw = await RawConnection.ConnectAsync(Broker.EndPoint);
        await raw.SayHelloAsync();
        byte[] frame = RawConnection.Frame(Opcode.Produce, Messages.Produce(
            Durability.Policy,
            (queue, Messages.Batch(ProducerSession.None, -1, new byte[100_000]))).WrittenSpan);
        var sending = Task.Run(async () =>
        {
            for (int i = 0; i < Sent; i++)
                await raw.SendAsync(frame);
        });
        await Eventually.TrueAsync(
            async () => await Peer.FigureAsync("broker.parkedBytes") > 1 << 20, "More than may wait should.");
        long read = await Peer.FigureAsync("broker.produceRequests") - before;
        Assert.InRange(read, 8, 11);
        for (int i = 0; i < 50; i++)
            Assert.Equal(read, await Peer.FigureAsync("broker.produceRequests") - before);
        Assert.Equal(ErrorCode.None, (await Peer.ProduceAsync(free, "x")).Error);
        for (int i = 0; i < Sent; i++)
        {
            await Eventually.TrueAsync(async () => await EndAsync(queue) > i, "The next one should be let in.");
            await CommitAsync(queue, i + 1);
            Assert.Equal((Opcode.Produce, ErrorCode.None), await raw.ReceiveAsync());
        }

        await sending;
        Assert.Equal(0, await Peer.FigureAsync("broker.parkedBytes"));
        Assert.Equal(Sent + 1, await EndAsync(queue));
    }

    [Fact]
    public async Task GivenAConnectionThatIsNotRead_WhenItEnds_ThenItsMemoryIsBack()
    {
        QueueId queue = (await CreateAsync(Bound(1)))[0];
        await FillAsync(queue, 1);
        RawConnection raw = await RawConnection.ConnectAsync(Broker.EndPoint);
        await raw.SayHelloAsync();
        byte[] frame = RawConnection.Frame(Opcode.Produce, Messages.Produce(
            Durability.Policy,
            (queue, Messages.Batch(ProducerSession.None, -1, new byte[300_000]))).WrittenSpan);
        for (int i = 0; i < 5; i++)
            await raw.SendAsync(frame);
        await Eventually.TrueAsync(
            async () => await Peer.FigureAsync("broker.parkedBytes") > 1 << 20, "More than may wait should.");
        raw.Dispose();
        await Eventually.TrueAsync(
            async () => await Peer.FigureAsync("broker.parkedBytes") == 0, "Its batches should be dropped.");
        await ParkedAsync(0);
        Assert.Equal(1, await EndAsync(queue));
    }

    private protected override BrokerOptions Prepare(BrokerOptions options) => base.Prepare(options) with
    {
        Limits = options.Limits with { ParkedBytes = 1 << 20, MaxBacklogWait = TimeSpan.FromMinutes(2) },
    };
}
