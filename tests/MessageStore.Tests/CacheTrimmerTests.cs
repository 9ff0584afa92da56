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
        Disk.OnAdvise = (_, length, advice) => letGo += advice == DiskAdvice.DontNeed ? length : 0;
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
    public async Task GivenARareFlush_WhenMuchMoreThanThePageCacheMayHoldIsDurableAtOnce_ThenAllOldPagesAreLetGo()
    {
        long letGo = 0;
        Disk.OnAdvise = (_, length, advice) => letGo += advice == DiskAdvice.DontNeed ? length : 0;
        string body = new('x', 60_000);
        await using QueueStore store = await OpenAsync(
            Small with
            {
                SegmentSizeBytes = 1 << 30,
                PageCacheBytes = Kept,
                FlushPolicy = FlushPolicy.Async,
                FlushInterval = TimeSpan.FromHours(1),
            });
        QueueId queue = await OpenQueueAsync(store);
        while (store.Figures.BytesWritten < 320 << 20)
            await AppendAsync(store, queue, body);
        Assert.Equal(0, letGo);

        await store.AppendAsync(queue, TestBatch.Of(body), Durability.Durable, Cancel);
        long written = store.Figures.BytesWritten;
        Assert.InRange(letGo, written - Kept - (9 << 20), written - Kept);
    }

    [Fact]
    public async Task GivenAReaderThatFallsBehind_WhenMuchIsWritten_ThenWhatItHasNotReadStaysUntilItStopsOrIsFarBehind()
    {
        const int Most = 8;
        var time = new SteppedTime();
        Time = time;
        long letGo = 0;
        // What was read is let go of in small pieces, by others.
        Disk.OnAdvise = (_, length, advice) => letGo += advice == DiskAdvice.DontNeed && length >= 8 << 20 ? length : 0;
        string body = new('x', 60_000);
        await using QueueStore store = await OpenAsync(
            Small with { SegmentSizeBytes = 128 << 20, PageCacheBytes = 10 * Kept, FlushPolicy = FlushPolicy.Sync });
        QueueId queue = await OpenQueueAsync(store);
        while (store.Figures.BytesWritten < Most * 10 * Kept)
        {
            await AppendAsync(store, queue, body);
            await ReadAsync(store, queue, 0, maxBytes: 1);
        }

        Assert.Equal(0, letGo);
        while (letGo == 0)
        {
            Assert.True(store.Figures.BytesWritten < (Most + 1) * 10 * Kept, "it keeps no more than that");
            await AppendAsync(store, queue, body);
            await ReadAsync(store, queue, 0, maxBytes: 1);
        }

        time.MoveTo(TimeSpan.FromMilliseconds(300));
        for (int i = 0; i < 10; i++)
            await AppendAsync(store, queue, body);
        Assert.InRange(store.Figures.BytesWritten - letGo, 10 * Kept, (10 * Kept) + (9 << 20));
    }

    [Theory]
    [InlineData(256L << 20)]
    [InlineData(long.MaxValue)]
    [InlineData(long.MaxValue / 4)]
    public async Task GivenLessThanThePageCacheMayHold_WhenItIsDurable_ThenNothingIsLetGo(long kept)
    {
        Disk.OnAdvise = (_, _, advice) => Assert.NotEqual(DiskAdvice.DontNeed, advice);
        await using QueueStore store = await OpenAsync(Small with { PageCacheBytes = kept });
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 200; i++)
            await AppendAsync(store, queue, new string('x', 60_000));
        Assert.Equal(200, (await ReadAllAsync(store, queue)).Count);
    }

    [Theory]
    [InlineData(4 << 20)]
    [InlineData(128 << 20)]
    public async Task GivenMuchReadFromDisk_WhenRead_ThenOldReadsLeaveThePageCacheAndTheLastOnesAndTheNewestStay(
        int segmentBytes)
    {
        const long Newest = 8 << 20;
        const long LastReads = 32 << 20;
        const long StepAndEdges = 3 << 20;
        const int Batches = 1_000;
        await using QueueStore store = await OpenAsync(
            Small with { SegmentSizeBytes = segmentBytes, PageCacheBytes = Newest, FlushPolicy = FlushPolicy.Sync });
        QueueId queue = await OpenQueueAsync(store);
        string body = new('x', 60_000);
        for (int i = 0; i < Batches; i++)
            await AppendAsync(store, queue, body);

        long letGo = 0;
        Disk.OnAdvise = (_, length, advice) => letGo += advice == DiskAdvice.DontNeed ? length : 0;
        Assert.Equal(Batches, (await ReadAllAsync(store, queue)).Count);
        long expected = store.Figures.BytesWritten - Newest - LastReads;
        Assert.InRange(letGo, expected - StepAndEdges, expected + StepAndEdges);
        Assert.Equal(Batches, (await ReadAllAsync(store, queue)).Count);
    }
}
