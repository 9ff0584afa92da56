namespace EQueue.MessageStore.Tests;

/// <summary>Zeros that are written over the next segment beside appends, with sync flush.</summary>
public sealed class ZerosTests : StoreTest
{
    private const long Size = 8 << 20;
    private const int BatchBytes = 64 << 10;
    private const int Step = 256 << 10;

    private StoreOptions Options => Small with
    {
        FlushPolicy = FlushPolicy.Sync,
        SegmentSizeBytes = Size,
        TailMemoryBytes = 4 << 20,
        MaxBatchBytes = 128 << 10,
    };

    [Fact]
    public async Task GivenSyncFlush_WhenASegmentFillsUp_ThenTheNextGetsItsZerosInPaceWithAppends()
    {
        // Begun at an eighth of the segment, done at seven: never more than the share that is appended between.
        long zeros = 0, staged = 0, ahead = 0;
        int appended = 0;
        Disk.OnWrite = (path, size) =>
        {
            if (!path.EndsWith("-1.next", StringComparison.Ordinal))
                return;
            double share = (Volatile.Read(ref staged) - (Size / 8.0)) / (Size / 8 * 6);
            long due = (long)(Math.Min(1, share) * (Size + Segment.HeaderSize));
            ahead = Math.Max(ahead, Interlocked.Add(ref zeros, size) - due);
        };
        await using QueueStore store = await OpenAsync(Options);
        QueueId queue = await OpenQueueAsync(store);
        await AppendToAsync(Size / 16);
        Assert.Equal(0, Interlocked.Read(ref zeros));

        await AppendToAsync((Size / 8) + BatchBytes);
        await Eventually(() => Interlocked.Read(ref zeros) > 0);
        await AppendToAsync(Size / 2);
        await Eventually(() => Interlocked.Read(ref zeros) > Size / 3);
        await AppendToAsync((Size / 8 * 7) - BatchBytes);
        await Eventually(() => Interlocked.Read(ref zeros) >= Size / 8 * 7);
        Assert.InRange(ahead, 1, Step);

        await AppendToAsync(Size * 3);
        Assert.InRange(store.Figures.Segments, 3, 4);
        Assert.Equal(appended, (await ReadAllAsync(store, queue)).Count);

        async Task AppendToAsync(long position)
        {
            while (store.Watermarks.Staged.Value < position)
            {
                // What this append stages is seen by the preparer before the append returns.
                Volatile.Write(ref staged, store.Watermarks.Staged.Value + (2 * BatchBytes));
                await store.AppendAsync(queue, TestBatch.OfSize(BatchBytes - 200, 0), Durability.Policy, Cancel);
                appended++;
            }
        }
    }

    [Fact]
    public async Task GivenSyncFlush_WhenANewLogGrows_ThenEachSegmentIsTwiceTheOneBeforeUpToTheConfiguredSize()
    {
        const long first = 64 << 20;
        await using QueueStore store = await OpenAsync(Options with
        {
            SegmentSizeBytes = 160 << 20,
            TailMemoryBytes = 16 << 20,
            MaxBatchBytes = 2 << 20,
        });
        QueueId queue = await OpenQueueAsync(store);
        string logs = Path.Combine(Folder, "logs", "0");
        byte[] batch = TestBatch.OfSize(2_000_000, 0);
        var sizes = new List<long>();
        while (sizes.Count < 3)
        {
            await store.AppendAsync(queue, batch, Durability.Policy, Cancel);
            FileInfo newest = new DirectoryInfo(logs).GetFiles("*.log").MaxBy(file => file.Name)!;
            if (store.Figures.Segments > sizes.Count)
                sizes.Add(newest.Length - Segment.HeaderSize);
        }
        Assert.Equal([first, 2 * first, 160 << 20], sizes);
    }

    [Fact]
    public async Task GivenSyncFlush_WhenTheStoreStopsWhileZerosWaitForAppends_ThenItStopsAtOnceAndOpensAgain()
    {
        long zeros = 0;
        Disk.OnWrite = (path, size) =>
        {
            if (path.EndsWith("-1.next", StringComparison.Ordinal))
                Interlocked.Add(ref zeros, size);
        };
        QueueId queue;
        await using (QueueStore store = await OpenAsync(Options))
        {
            queue = await OpenQueueAsync(store);
            while (store.Watermarks.Staged.Value < Size / 4)
                await store.AppendAsync(queue, TestBatch.OfSize(BatchBytes, 0), Durability.Policy, Cancel);
            await Eventually(() => Interlocked.Read(ref zeros) > 0);
        }
        Assert.InRange(zeros, 1, Size / 2);

        await using QueueStore again = await OpenAsync(Options);
        Assert.NotEmpty(await ReadAllAsync(again, queue));
    }
}
