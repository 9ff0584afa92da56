using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>A broker wholly in memory, at its bound.</summary>
public sealed class MemoryTests
{
    private readonly MemoryDisk _memory = new(64 << 20);

    [Fact]
    public async Task GivenABrokerInMemory_WhenUsedAndStopped_ThenItServesAndItsFolderWasNeverMade()
    {
        BrokerOptions options = InMemory(MemoryFull.Reject);
        await using TestBroker broker = await TestBroker.StartAsync(options);
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        Assert.True((await peer.ProduceAsync(queue, "a", "b")).IsStored);
        Assert.Equal(["a", "b"], (await peer.FetchAsync(Messages.Open(0, Messages.From(queue, 0)))).Bodies);

        await using TestBroker again = await broker.RestartAsync();
        await using TestPeer reader = await again.ConnectAsync();
        Assert.Equal(["a", "b"], (await reader.FetchAsync(Messages.Open(0, Messages.From(queue, 0)))).Bodies);
        Assert.False(Directory.Exists(options.DataDirectory));
    }

    [Fact]
    public async Task GivenMemoryThatIsFull_WhenRejecting_ThenStorageFullIsAnsweredAndReadersAreServed()
    {
        await using TestBroker broker = await TestBroker.StartAsync(InMemory(MemoryFull.Reject));
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        int stored = 0;
        ProduceResult result;
        while ((result = await peer.ProduceAsync(queue, new string('x', 1 << 20))).IsStored)
            stored++;
        Assert.Equal(ErrorCode.StorageFull, result.Error);
        Assert.True(result.RetryAfterMs > 0);
        Assert.InRange(stored, 40, 60);
        Assert.InRange(_memory.UsedBytes, 0, _memory.LimitBytes);
        Assert.NotEmpty((await peer.FetchAsync(Messages.Open(0, Messages.From(queue, stored - 1)))).Bodies);
    }

    [Fact]
    public async Task GivenMemoryThatIsFull_WhenBlocking_ThenProducersWaitForRoomOrForTheirDeadline()
    {
        await using TestBroker broker = await TestBroker.StartAsync(InMemory(MemoryFull.Block));
        await using TestPeer peer = await broker.ConnectAsync();
        await using TestPeer early = await broker.ConnectAsync("early");
        await using TestPeer late = await broker.ConnectAsync("late");
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        IDiskFile other = TakeAll();
        await Eventually.TrueAsync(
            async () => await peer.FigureAsync("store.isReadOnly") == 1, "The store should see that it is full.");

        Task<ProduceResult> waits = SendAsync(late, queue, "waits", deadlineMs: 60_000);
        ProduceResult ended = await SendAsync(early, queue, "ends", deadlineMs: 200);
        Assert.Equal((ErrorCode.StorageFull, new QueueOffset(-1)), (ended.Error, ended.FirstOffset));
        Assert.True(ended.RetryAfterMs > 0);
        Assert.False(waits.IsCompleted);
        Assert.Equal(2, await peer.FigureAsync("broker.produceRequests"));

        other.Dispose();
        Assert.True((await waits).IsStored);
        Assert.Equal(["waits"], (await peer.FetchAsync(Messages.Open(0, Messages.From(queue, 0)))).Bodies);
    }

    private static async Task<ProduceResult> SendAsync(TestPeer peer, QueueId queue, string body, int deadlineMs)
    {
        FrameBuffer request = Messages.Produce(
            new ProduceRequestHeader(Durability.Policy, deadlineMs, 0, 1), (queue, Messages.Batch(body)));
        return Assert.Single(Messages.ReadProduced(await peer.SendAsync(Opcode.Produce, request)));
    }

    private BrokerOptions InMemory(MemoryFull full)
    {
        BrokerOptions options = TestBroker.SmallOptions();
        return options with
        {
            Store = options.Store with { Disk = _memory, MemoryFull = full, ReserveBytes = null },
        };
    }

    /// <summary>Another user holds what is left of the memory until the result is disposed.</summary>
    private IDiskFile TakeAll()
    {
        _memory.CreateDirectory("/other");
        IDiskFile file = _memory.Open("/other/file", DiskOpen.CreateNew);
        file.Preallocate(0, _memory.FreeBytes("/other"));
        return file;
    }
}
