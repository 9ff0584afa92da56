using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Backlogs;

/// <summary>A bounded topic over a store that has no room itself.</summary>
public sealed class StoreRoomTests : BacklogTest
{
    /// <summary>Three quarters of the tail memory of the tests' store may be unseen, less what is there
    /// already.</summary>
    private const int MegabytesThatFit = 11;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    /// <summary>All of it lies in one segment: a batch that waited for the next one would wait for the disk as
    /// well.</summary>
    private protected override BrokerOptions Prepare(BrokerOptions options)
    {
        options = base.Prepare(options);
        return options with { Store = options.Store with { SegmentSizeBytes = 64 << 20 } };
    }

    [Fact]
    public async Task GivenABatchThatTheStoreHasNoRoomFor_WhenTheNextOfItsRequestWaits_ThenItDoesNotOvertake()
    {
        QueueId queue = (await CreateAsync(Bound(2)))[0];
        await FillAsync(queue, 1);
        await using TestPeer filler = await Broker.ConnectAsync("filler");
        await HoldAndFillStoreAsync(filler);
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult[]> send = SendAsync(
            sender,
            0,
            (queue, Messages.Batch(ProducerSession.None, -1, new byte[4_000_000])),
            (queue, Messages.Batch("second")));
        await Eventually.TrueAsync(
            async () => await BacklogAsync() == 2, "The first batch should have its room.");
        await Peer.SendOnewayAsync(Opcode.CommitOffsets, TestPeer.Encode(Commit(queue, 1)));
        await Eventually.TrueAsync(
            async () => await Peer.FigureAsync("broker.commits") == 1, "The commit should come.");
        for (int i = 0; i < 20; i++)
            await BacklogAsync();
        Disk.ReleaseWrites();
        Assert.Equal([1L, 2L], (await send).Select(result => result.FirstOffset.Value));
    }

    [Fact]
    public async Task GivenABatchWhoseTurnItIs_WhenTheStoreHasNoRoom_ThenItWaitsForItOrItsDeadline()
    {
        QueueId queue = (await CreateAsync(Bound(1)))[0];
        await FillAsync(queue, 1);
        await using TestPeer late = await Broker.ConnectAsync();
        await using TestPeer patient = await Broker.ConnectAsync();
        byte[] large = Messages.Batch(ProducerSession.None, -1, new byte[4_000_000]);
        Task<ProduceResult[]> first = SendAsync(late, (int)Patience.TotalMilliseconds, (queue, large));
        await ParkedAsync(1);
        Task<ProduceResult[]> second = SendAsync(patient, 0, (queue, large));
        await ParkedAsync(2);
        await using TestPeer filler = await Broker.ConnectAsync("filler");
        await HoldAndFillStoreAsync(filler);
        await Peer.SendOnewayAsync(Opcode.CommitOffsets, TestPeer.Encode(Commit(queue, 1)));
        await ParkedAsync(1);
        Assert.False(first.IsCompleted);
        Time.Advance(Patience + TimeSpan.FromSeconds(1));
        Assert.Equal(ErrorCode.Timeout, Assert.Single(await first).Error);
        Assert.False(second.IsCompleted);
        Disk.ReleaseWrites();
        Assert.Equal(1, Assert.Single(await second).FirstOffset.Value);
        Assert.Equal(1, await BacklogAsync());
    }

    /// <summary>Nothing more of 4 MB gets into the store, until the disk works again.</summary>
    private async Task HoldAndFillStoreAsync(TestPeer filler)
    {
        QueueId queue = (await CreateAsync(TopicSettings.None with { QueueCount = 1 }, "filler"))[0];
        long parked = await BacklogAsync("parked");
        Disk.HoldWrites();
        byte[] batch = Messages.Batch(ProducerSession.None, -1, new byte[1 << 20]);
        for (int i = 0; i < MegabytesThatFit; i++)
        {
            long stored = await Peer.FigureAsync("store.appendedBatches");
            await filler.SendOnewayAsync(Opcode.Produce, Request(0, (queue, batch)));
            await Eventually.TrueAsync(
                async () => await Peer.FigureAsync("store.appendedBatches") > stored, "The batch should be stored.");
        }

        await filler.SendOnewayAsync(Opcode.Produce, Request(0, (queue, batch)));
        await Eventually.TrueAsync(
            async () => await Peer.FigureAsync("broker.parkedProduces") > parked, "The store should be full.");
    }
}
