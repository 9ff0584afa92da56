using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>A store with the settings that a server has by itself, on volumes from small to usual.</summary>
public sealed class VolumeTests : StoreTest
{
    private const long Mega = 1 << 20;

    private readonly CollectedLog _log = new();

    [Theory]
    [InlineData(64)]
    [InlineData(512)]
    [InlineData(1_024)]
    [InlineData(3_072)]
    [InlineData(10_240)]
    public async Task GivenAVolume_WhenTheStoreOpens_ThenItTakesMessagesAndItsReserveIsAFifthAtMost(long megabytes)
    {
        var volume = new VolumeDisk(megabytes * Mega);
        await using QueueStore store = await OpenAsync(volume);
        QueueId queue = await OpenQueueAsync(store);

        Assert.Equal(0, await AppendAsync(store, queue, "a"));

        Assert.False(store.Figures.IsReadOnly);
        Assert.InRange(volume.LargestFileBytes, 1, megabytes * Mega / 8);
    }

    [Fact]
    public async Task GivenASmallVolume_WhenItFills_ThenTheOldestGoAtTheBoundAndItNeverStops()
    {
        var volume = new VolumeDisk(64 * Mega);
        await using QueueStore store = await OpenAsync(volume);
        QueueId queue = await OpenQueueAsync(store);
        long mostBytes = 0;

        for (int i = 0; i < 150; i++)
        {
            await AppendMegabyteAsync(store, queue, i);
            await store.ApplyBoundAsync(Cancel);
            mostBytes = Math.Max(mostBytes, View(store, queue).Bytes);
        }

        Assert.InRange(View(store, queue).Start.Value, 80, 130);
        Assert.InRange(mostBytes, 30 * Mega, 52 * Mega);
    }

    [Fact]
    public async Task GivenANeighbourThatFillsTheVolume_WhenBoundsAreApplied_ThenItRefusesAndNothingGoes()
    {
        var volume = new VolumeDisk(64 * Mega);
        await using QueueStore store = await OpenAsync(volume);
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 20; i++)
            await AppendMegabyteAsync(store, queue, i);

        IDiskFile neighbour = volume.Open("/neighbour", DiskOpen.CreateNew);
        neighbour.Preallocate(0, volume.FreeBytes("/") - Mega);
        await Eventually(() => store.Figures.IsReadOnly);
        await FailsAsync(ErrorCode.StorageFull, AppendAsync(store, queue, "refused"));
        Assert.Equal(0, await store.ApplyBoundAsync(Cancel));
        Assert.Equal(0, View(store, queue).Start.Value);

        neighbour.Dispose();
        volume.Delete("/neighbour");
        await Eventually(() => !store.Figures.IsReadOnly);
        Assert.Equal(20, await AppendAsync(store, queue, "taken"));
    }

    [Fact]
    public async Task GivenAVolumeThatIsTooSmall_WhenTheAdviceIsFollowed_ThenTheStoreOpens()
    {
        var volume = new VolumeDisk(16 * Mega);
        StoreFitException refused = await Assert.ThrowsAsync<StoreFitException>(() => OpenAsync(volume));
        Assert.Equal(nameof(StoreOptions.MaxBatchBytes), refused.ParamName);
        Assert.Contains("Set Limits:MaxMessageBytes to", refused.Message, StringComparison.Ordinal);
        int advised = int.Parse(refused.Message.Split("Set Limits:MaxMessageBytes to ")[1].Split(' ')[0]);

        await using QueueStore store = await OpenAsync(volume, advised + (64 << 10));

        Assert.Equal(0, await AppendAsync(store, await OpenQueueAsync(store), "a"));
    }

    [Fact]
    [Follows("Lessen it, or give the data directory a larger volume.")]
    public async Task GivenAReserveThatDoesNotFit_WhenTheAdviceIsFollowed_ThenTheStoreOpens()
    {
        var volume = new VolumeDisk(64 * Mega);
        StoreFitException refused = await Assert.ThrowsAsync<StoreFitException>(
            () => OpenAsync(volume, reserve: 60 * Mega));
        Assert.Equal(nameof(StoreOptions.ReserveBytes), refused.ParamName);
        Assert.Contains("ReserveBytes 62914560. Lessen it", refused.Message, StringComparison.Ordinal);

        await using (QueueStore lessened = await OpenAsync(volume, reserve: 30 * Mega))
            Assert.Equal(0, await AppendAsync(lessened, await OpenQueueAsync(lessened), "a"));
        await using QueueStore larger = await OpenAsync(new VolumeDisk(128 * Mega), reserve: 60 * Mega);
        Assert.Equal(0, await AppendAsync(larger, await OpenQueueAsync(larger), "a"));
    }

    [Fact]
    public async Task GivenAVolumeThatOthersHaveFilled_WhenTheStoreOpens_ThenItWaitsForRoomInsteadOfRefusing()
    {
        var volume = new VolumeDisk(64 * Mega);
        await using (QueueStore first = await OpenAsync(volume))
            await OpenQueueAsync(first);
        IDiskFile neighbour = volume.Open("/neighbour", DiskOpen.CreateNew);
        neighbour.Preallocate(0, volume.FreeBytes("/") - Mega);

        State = new MemoryState();
        await using QueueStore store = await OpenAsync(volume);
        await Eventually(() => store.Figures.IsReadOnly);
        neighbour.Dispose();
        volume.Delete("/neighbour");
        await Eventually(() => !store.Figures.IsReadOnly);
        await AppendAsync(store, store.Queues.Single().Id, "taken");
    }

    private static QueueView View(QueueStore store, QueueId queue)
    {
        Assert.True(store.TryGetQueue(queue, out QueueView view));
        return view;
    }

    private static async Task AppendMegabyteAsync(QueueStore store, QueueId queue, int seed)
    {
        byte[] batch = TestBatch.OfSize(1 << 20, seed);
        for (int tries = 0; ; tries++)
        {
            try
            {
                await store.AppendAsync(queue, batch, Durability.Policy, Cancel);
                return;
            }
            catch (EQueueException full) when (full.Code == ErrorCode.StorageFull && tries < 1_000)
            {
                // As a producer does: until there is room, or its patience is over.
                await store.ApplyBoundAsync(Cancel);
                await Task.Yield();
            }
        }
    }

    private Task<QueueStore> OpenAsync(
        IDisk volume, int? maxBatchBytes = null, long? reserve = null) => QueueStore.OpenAsync(
        new StoreOptions
        {
            DataDirectory = "/data",
            Disk = volume,
            FlushPolicy = FlushPolicy.Async,
            ReserveBytes = reserve,
            MaxBatchBytes = maxBatchBytes ?? new StoreOptions { DataDirectory = "/data" }.MaxBatchBytes,
        },
        State,
        _log,
        Time,
        Cancel);

    /// <summary>A volume of a size, in memory.</summary>
    private sealed class VolumeDisk(long bytes) : ForwardingDisk(new MemoryDisk(bytes))
    {
        public long LargestFileBytes => List("/data/logs/0").Max(file => file.Size);

        public override long CapacityBytes(string directory) => bytes;
    }
}
