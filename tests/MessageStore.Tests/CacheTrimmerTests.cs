using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

public sealed class CacheTrimmerTests : StoreTest
{
    private const long Kept = 2 << 20;

    [Fact]
    [EffectOf("Store:PageCacheBytes")]
    public async Task GivenMoreThanThePageCacheMayHold_WhenItIsDurable_ThenOldPagesAreLetGoAcrossSegmentsAndStayReadable()
    {
        long letGo = 0;
        Disk.OnAdvise = (length, advice) => letGo += advice == DiskAdvice.DontNeed ? length : 0;
        const int Batches = 700;
        string body = new('x', 60_000);
        await using QueueStore store = await OpenAsync(
            Small with { SegmentSizeBytes = 12 << 20, PageCacheBytes = Kept, FlushPolicy = FlushPolicy.Sync });
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < Batches; i++)
            await AppendAsync(store, queue, body);

        long written = store.Figures.BytesWritten;
        Assert.True(written > 3 * (12 << 20), "several segments");
        // Steps of 8 MiB: the last one is not full yet. Each call may name a page that the one before it named as well.
        Assert.InRange(letGo, written - Kept - (9 << 20), written - Kept);
        Assert.Equal(Batches, (await ReadAllAsync(store, queue)).Count);
    }

    [Fact]
    public async Task GivenLessThanThePageCacheMayHold_WhenItIsDurable_ThenNothingIsLetGo()
    {
        Disk.OnAdvise = (_, advice) => Assert.NotEqual(DiskAdvice.DontNeed, advice);
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 200; i++)
            await AppendAsync(store, queue, new string('x', 60_000));
        Assert.Equal(200, (await ReadAllAsync(store, queue)).Count);
    }

    [Fact]
    public async Task GivenMuchReadFromDisk_WhenReadOnceMore_ThenOldReadsLeaveThePageCacheAndTheLastOnesAndTheNewestStay()
    {
        const long KeptReads = 34L << 20;
        await using QueueStore store = await OpenAsync(
            Small with { SegmentSizeBytes = 4 << 20, PageCacheBytes = 8 << 20, FlushPolicy = FlushPolicy.Sync });
        QueueId queue = await OpenQueueAsync(store);
        string body = new('x', 60_000);
        const int Batches = 1_000;
        for (int i = 0; i < Batches; i++)
            await AppendAsync(store, queue, body);
        await Eventually(() => Directory.GetFiles(Folder, "*.index", SearchOption.AllDirectories).Length >= 10);

        long letGo = 0;
        Disk.OnAdvise = (length, advice) => letGo += advice == DiskAdvice.DontNeed ? length : 0;
        Assert.Equal(Batches, (await ReadAllAsync(store, queue)).Count);
        // The last segments count among the newest bytes; a page more for each read.
        long written = store.Figures.BytesWritten;
        Assert.InRange(letGo, written - KeptReads - (16 << 20), written - KeptReads + (4 << 20));
        Assert.Equal(Batches, (await ReadAllAsync(store, queue)).Count);
    }
}
