using System.Buffers;
using System.Collections.Concurrent;
using System.Diagnostics;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

public sealed class ColdReadTests : StoreTest
{
    [Fact]
    public async Task GivenARottenEntryInASealedSegment_WhenRead_ThenDamagedDataNamesWhereItGoesOn()
    {
        StoreOptions options =
            SmallSegments with { FlushPolicy = FlushPolicy.Async, FlushInterval = TimeSpan.FromMilliseconds(1) };
        await using QueueStore store = await OpenAsync(options);
        QueueId queue = await FillAsync(store);
        string logs = Path.Combine(Folder, "logs", "0");
        await Eventually(() => Directory.GetFiles(logs, "*.index").Length >= 3);
        List<TestBatch.Entry> entries = await ReadAllAsync(store, queue);
        using (FileStream file = File.OpenWrite(Directory.GetFiles(logs, "*.log").Order().First()))
        {
            file.Position = Segment.HeaderSize + entries[5].Position + 2_000;
            file.WriteByte((byte)(entries[5].Batch[2_000 - 48] ^ 0x10));
        }

        (ReadResult before, List<TestBatch.Entry> good) = await ReadAsync(store, queue, 0);
        Assert.Equal((ErrorCode.None, 5), (before.Error, before.NextOffset.Value));
        Assert.Equal(5, good.Count);
        (ReadResult damaged, List<TestBatch.Entry> none) = await ReadAsync(store, queue, 5);
        Assert.Equal((ErrorCode.DamagedData, 6), (damaged.Error, damaged.NextOffset.Value));
        Assert.Empty(none);
        Assert.Equal(54, (await ReadAllAsync(store, queue, 6)).Count);
    }

    [Fact]
    public async Task GivenABadSectorInASealedSegment_WhenRead_ThenItsEntryAloneIsDamagedAndReadersGetPastIt()
    {
        await using QueueStore store = await OpenAsync(SmallSegments);
        QueueId queue = await FillAsync(store);
        string first = Directory.GetFiles(Path.Combine(Folder, "logs", "0"), "*.log").Order().First();
        long sector = Segment.HeaderSize + (await ReadAllAsync(store, queue))[5].Position + 2_000;
        Break(first, sector);

        (ReadResult before, List<TestBatch.Entry> good) = await ReadAsync(store, queue, 0);
        Assert.Equal((ErrorCode.None, 5, 5), (before.Error, before.NextOffset.Value, good.Count));
        (ReadResult damaged, List<TestBatch.Entry> none) = await ReadAsync(store, queue, 5);
        Assert.Equal((ErrorCode.DamagedData, 6), (damaged.Error, damaged.NextOffset.Value));
        Assert.Empty(none);
        Assert.Equal(54, (await ReadAllAsync(store, queue, 6)).Count);
    }

    [Fact]
    public async Task GivenASegmentTakenBetweenLookUpAndOpening_WhenRead_ThenTheReaderLooksAgain()
    {
        await using QueueStore store = await OpenAsync(SmallSegments);
        QueueId queue = await FillAsync(store);

        // A segment whose entries are still in memory is not lost: its disk has failed.
        string logs = Path.Combine(Folder, "logs", "0");
        await Eventually(() => Directory.GetFiles(logs, "*.index").Length == Directory.GetFiles(logs, "*.log").Length - 1);
        int missing = 1;
        Disk.OnOpen = path =>
        {
            if (path.EndsWith(".log", StringComparison.Ordinal) && Interlocked.Decrement(ref missing) >= 0)
                throw new DiskException(DiskFault.NotFound, path, "open", "taken away");
        };
        (ReadResult read, List<TestBatch.Entry> entries) = await ReadAsync(store, queue, 0);
        Assert.True(missing < 0);
        Assert.Equal(ErrorCode.None, read.Error);
        Assert.NotEmpty(entries);

        missing = int.MaxValue;
        // Gone for good, it is told as damage of its queue, as after a restart.
        Assert.Equal(ErrorCode.DamagedData, (await ReadAsync(store, queue, 30)).Item1.Error);
    }

    [Fact]
    [EffectOf("Store:ColdReadBytesPerSecond")]
    public async Task GivenABudgetOfColdReads_WhenMessagesAreAppended_ThenReadersKeepToItAndElseDoNot()
    {
        const int LogMiB = 4;
        var leastWithBudget = TimeSpan.FromSeconds(LogMiB - 2);
        StoreOptions options = Small with
        {
            SegmentSizeBytes = 1 << 20,
            MaxBatchBytes = 80 << 10,
            TailMemoryBytes = 256 << 10,
            ColdReadBytesPerSecond = 1 << 20,
        };
        await using QueueStore store = await OpenAsync(options);
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < LogMiB * 16; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(64 << 10, i), Durability.Policy, Cancel);

        TimeSpan beside = await TimeReadsAsync(
            store,
            queue,
            LogMiB - 1,
            async () => await store.AppendAsync(queue, TestBatch.OfSize(100, 1), Durability.Policy, Cancel));
        Assert.True(beside > leastWithBudget, $"{beside}");
        await EQueue.Support.Eventually.TrueAsync(async () =>
            await TimeReadsAsync(store, queue, LogMiB - 1, () => Task.CompletedTask) < leastWithBudget);
    }

    [Theory]
    [InlineData(64 << 10, 3)]
    [InlineData(64 << 20, 0)]
    public async Task GivenQueuesInTurns_WhenOneIsReadCold_ThenWhatItsNextReadWantsIsFetchedAheadUnlessThePagesAreKept(
        long pageCacheBytes, int expected)
    {
        const int BatchBytes = 40 << 10;
        await using QueueStore store = await OpenAsync(
            Small with { PageCacheBytes = pageCacheBytes, ReaderThreads = 1 });
        QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 2, [], Cancel);
        for (int i = 0; i < 40; i++)
            await store.AppendAsync(queues[i % 2], TestBatch.OfSize(BatchBytes, i), Durability.Policy, Cancel);

        var ahead = new ConcurrentQueue<(long FileOffset, long Bytes)>();
        Disk.OnAdvise = (fileOffset, bytes, advice) =>
        {
            if (advice == DiskAdvice.WillNeed)
                ahead.Enqueue((fileOffset, bytes));
        };
        (ReadResult read, List<TestBatch.Entry> first) = await ReadAsync(store, queues[0], 0, 3 * BatchBytes);
        Assert.Equal(2, first.Count);

        // The reader's one thread has seen to what comes next before it reads again.
        (_, List<TestBatch.Entry> next) = await ReadAsync(store, queues[0], read.NextOffset.Value, 4 * BatchBytes);
        Assert.Equal(3, next.Count);
        Assert.Equal(
            next.Take(expected)
                .Select(entry => (Segment.HeaderSize + entry.Position, (long)EntryHeader.Length + entry.Batch.Length)),
            ahead.Take(3));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(4096)]
    [InlineData(-1)]
    public async Task GivenADamagedIndexFile_WhenRead_ThenItIsRebuiltFromItsSegmentAndEverythingIsServed(
        int damagedByte)
    {
        QueueId queue;
        await using (QueueStore store = await OpenAsync(SmallSegments))
            queue = await FillAsync(store);
        State = new MemoryState();
        await using QueueStore again = await OpenAsync(SmallSegments);
        string index = Directory.GetFiles(Path.Combine(Folder, "logs", "0"), "*.index").Order().First();
        byte[] good = File.ReadAllBytes(index);
        if (damagedByte < 0)
        {
            File.Delete(index);
        }
        else
        {
            byte[] bad = [.. good];
            bad[damagedByte] ^= 0xFF;
            File.WriteAllBytes(index, bad);
        }

        Assert.Equal(60, (await ReadAllAsync(again, queue)).Count);
        Assert.Equal(0, (await again.FindOffsetAsync(queue, 0, Cancel)).Value);
        Assert.Equal(good.Length, new FileInfo(index).Length);
    }

    [Fact]
    public async Task GivenADamagedBlockOfAnIndex_WhenReadUpToIt_ThenWhatLiesBeforeIsGivenAndTheNextReadRebuildsIt()
    {
        StoreOptions options = SmallSegments with
        {
            FlushPolicy = FlushPolicy.Async,
            FlushInterval = TimeSpan.FromMilliseconds(1),
        };
        await using QueueStore store = await OpenAsync(options);
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 1_500; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(10, i), Durability.Policy, Cancel);
        string logs = Path.Combine(Folder, "logs", "0");
        await Eventually(() => Directory.GetFiles(logs, "*.index").Length >= 2);
        string index = Directory.GetFiles(logs, "*.index").Order().First();
        byte[] good = File.ReadAllBytes(index);

        // Behind the rows of the blocks, each of which has 7 to 14 bytes for an entry: within the second or third.
        byte[] bad = [.. good];
        bad[4096 + 200 + 2_200] ^= 0xFF;
        ReadResult first;
        List<TestBatch.Entry> entries;
        int attempts = 0;
        do
        {
            // The keeper, which takes a snapshot now, may meet the damage first and mend it: once.
            File.WriteAllBytes(index, bad);
            (first, entries) = await ReadAsync(store, queue, 0);
            Assert.Equal(ErrorCode.None, first.Error);
            attempts++;
        }
        while (entries.Count > 2 * SealedBlock.MaxEntries && attempts < 3);
        Assert.InRange(entries.Count, SealedBlock.MaxEntries, 2 * SealedBlock.MaxEntries);
        Assert.Equal(entries.Count, first.NextOffset.Value);

        Assert.Equal(1_500 - entries.Count, (await ReadAllAsync(store, queue, first.NextOffset.Value)).Count);
        Assert.NotEqual(bad, File.ReadAllBytes(index));
    }

    [Fact]
    public async Task GivenManyReadersOfColdAndHot_WhileAppendsRun_ThenEveryReaderSeesEveryMessageOnce()
    {
        StoreOptions options = Small with
        {
            FlushPolicy = FlushPolicy.Async,
            SegmentSizeBytes = 256 << 10,
            MaxBatchBytes = 16 << 10,
            TailMemoryBytes = 64 << 10,
            FlushInterval = TimeSpan.FromMilliseconds(1),
        };
        await using QueueStore store = await OpenAsync(options);
        QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 4, [], Cancel);
        const int Batches = 3_000;
        var producing = Task.Run(async () =>
        {
            for (int i = 0; i < Batches; i++)
                await store.AppendAsync(queues[i % 4], TestBatch.OfSize((i * 37) % 1500, i), Durability.Policy, Cancel);
        }, Cancel);

        await Task.WhenAll(queues.Select((queue, which) => Task.Run(async () =>
        {
            int seen = 0;
            while (seen < Batches / 4)
            {
                (ReadResult result, List<TestBatch.Entry> entries) = await ReadAsync(store, queue, seen, 20_000);
                Assert.Equal(ErrorCode.None, result.Error);
                foreach (TestBatch.Entry entry in entries)
                {
                    Assert.Equal(seen, entry.FirstOffset);
                    byte[] expected = TestBatch.OfSize(((seen * 4) + which) * 37 % 1500, (seen * 4) + which);
                    Assert.Equal(expected.AsSpan(RecordBatchLayout.Magic), entry.Batch.AsSpan(RecordBatchLayout.Magic));
                    seen++;
                }
                if (entries.Count == 0)
                {
                    var signal = new TestSignal();
                    if (store.Watch(queue, new QueueOffset(seen), signal))
                        await signal.Task.WaitAsync(TimeSpan.FromSeconds(30), Cancel);
                }
            }
        }, Cancel)));

        await producing;
        Assert.True(store.Figures.Segments > 3);
    }

    /// <summary>A queue of 60 messages of 4,000 bytes, most of them in sealed segments.</summary>
    private static async Task<QueueId> FillAsync(QueueStore store)
    {
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 60; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(4_000, i), Durability.Policy, Cancel);
        return queue;
    }

    private async Task<TimeSpan> TimeReadsAsync(QueueStore store, QueueId queue, int mib, Func<Task> beside)
    {
        long began = Stopwatch.GetTimestamp();
        QueueOffset next = default;
        for (int served = 0; served < mib << 20;)
        {
            await beside();
            var bytes = new ArrayBufferWriter<byte>();
            ReadResult read = await store.ReadFromDiskAsync(queue, next, 128 << 10, bytes, Cancel);
            Assert.Equal(ErrorCode.None, read.Error);
            next = read.NextOffset;
            served += read.Size;
        }
        return Stopwatch.GetElapsedTime(began);
    }
}
