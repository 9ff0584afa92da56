using System.Buffers;
using EQueue.Protocol;

namespace EQueue.MessageStore.Tests;

/// <summary>Reads with a tag mask: what it leaves out is passed over by the index alone.</summary>
public sealed class TagReadTests : StoreTest
{
    private const uint Wanted = 1u << 3;
    private const uint Other = 1u << 20;

    private StoreOptions Segmented => Small with
    {
        SegmentSizeBytes = 128 << 10,
        SnapshotInterval = TimeSpan.FromSeconds(1),
        PackBytesPerSecond = 1L << 40,
    };

    [Fact]
    public async Task GivenRandomTags_WhenReadLiveSealedPackedAndReopened_ThenAllThatIsWantedComesAndNothingElse()
    {
        int seed = Environment.TickCount;
        TestContext.Current.TestOutputHelper?.WriteLine($"seed {seed}");
        var random = new Random(seed);
        var sent = new List<(uint Bits, byte[] Batch)>();
        QueueId kept;
        await using (QueueStore store = await OpenAsync(Segmented))
        {
            kept = await OpenQueueAsync(store);
            QueueId gone = await OpenQueueAsync(store);
            for (int i = 0; i < 1_200; i++)
            {
                uint bits = random.Next(20) == 0 ? TagBits.Unknown : 1u << random.Next(32);
                byte[] batch = TestBatch.OfSize(random.Next(400), i);
                await AppendAsync(store, kept, bits, batch);
                sent.Add((bits, batch));
                await AppendAsync(store, gone, bits, TestBatch.OfSize(4_000, i));
            }

            await CheckAsync(store, kept, sent, random);
            Assert.True(store.TryGetQueue(gone, out QueueView view));
            await store.MoveStartsAsync([(gone, view.End)], Cancel);
            await Eventually(() => store.Figures.SegmentsPacked > 10);
            await CheckAsync(store, kept, sent, random);
        }

        await using (QueueStore store = await OpenAsync(Segmented))
            await CheckAsync(store, kept, sent, random);
    }

    [Fact]
    public async Task GivenFewWantedEntriesOnDisk_WhenRead_ThenOnlyTheirBytesAreRead()
    {
        await using QueueStore store = await OpenAsync(Segmented);
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 100; i++)
            await AppendAsync(store, queue, i % 10 == 4 ? Wanted : Other, TestBatch.OfSize(8_000, i));
        string logs = Path.Combine(Folder, "logs", "0");
        await Eventually(() => Directory.GetFiles(logs, "*.index").Length >= 5);
        long logBytes = 0;
        Disk.OnRead = (path, _, size) =>
        {
            if (path.EndsWith(".log", StringComparison.Ordinal))
                Interlocked.Add(ref logBytes, size);
        };

        Assert.Empty((await ReadToEndAsync(store, queue, 0, 1 << 20, mask: 1u << 7)).Entries);
        Assert.Equal(0, logBytes);
        List<TestBatch.Entry> wanted = (await ReadToEndAsync(store, queue, 0, 1 << 20, Wanted)).Entries;
        Assert.Equal(Enumerable.Range(0, 10).Select(i => (long)(4 + (10 * i))), wanted.Select(one => one.FirstOffset));
        Assert.InRange(logBytes, 5 * 8_000, 10 * 8_200);
    }

    [Theory]
    [InlineData(0u)]
    [InlineData(uint.MaxValue)]
    public async Task GivenAMaskThatAsksForEverything_WhenRead_ThenEntriesWithoutBitsComeToo(uint mask)
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, 0, TestBatch.Of("without"));
        await AppendAsync(store, queue, Other, TestBatch.Of("other"));
        var bytes = new ArrayBufferWriter<byte>();
        ReadResult memory = store.Read(queue, default, 1 << 20, mask, bytes);
        ReadResult disk = await store.ReadFromDiskAsync(queue, default, 1 << 20, mask, bytes, Cancel);
        Assert.Equal((2, 2), (memory.NextOffset.Value, disk.NextOffset.Value));
        Assert.Equal(4, TestBatch.Split(bytes.WrittenSpan, queue).Count);
    }

    [Fact]
    public async Task GivenALongRunOfUnwanted_WhenReadFromMemory_ThenOneReadPassesOverSoManyAndSaysHowFarItCame()
    {
        const int Run = TailReader.MaxPassed + 500;
        await using QueueStore store = await OpenAsync(Small with { FlushPolicy = FlushPolicy.Async });
        QueueId queue = await OpenQueueAsync(store);
        await AppendManyAsync(store, queue, Run);
        long last = await AppendAsync(store, queue, Wanted, TestBatch.Of("wanted"));
        var bytes = new ArrayBufferWriter<byte>();
        ReadResult first = store.Read(queue, default, 1 << 20, Wanted, bytes);
        Assert.Equal((0, TailReader.MaxPassed), (first.Size, (int)first.NextOffset.Value));
        Assert.False(first.NeedsDisk);
        Assert.Equal(last + 1, first.VisibleEnd.Value);
        ReadResult second = store.Read(queue, first.NextOffset, 1 << 20, Wanted, bytes);
        Assert.Equal(last + 1, second.NextOffset.Value);
        Assert.Equal(last, Assert.Single(TestBatch.Split(bytes.WrittenSpan, queue)).FirstOffset);
        ReadResult atEnd = store.Read(queue, default, 1 << 20, 1u << 7, bytes);
        atEnd = store.Read(queue, atEnd.NextOffset, 1 << 20, 1u << 7, bytes);
        Assert.Equal((0, last + 1), (atEnd.Size, atEnd.NextOffset.Value));
    }

    [Fact]
    public async Task GivenALongRunOfUnwanted_WhenReadFromASealedIndex_ThenOneReadPassesOverSoManyAndSaysHowFarItCame()
    {
        const int Run = FoundEntries.MaxPassed + 500;
        await using QueueStore store = await OpenAsync(
            Small with { FlushPolicy = FlushPolicy.Async, SegmentSizeBytes = 4 << 20 });
        QueueId queue = await OpenQueueAsync(store);
        await AppendManyAsync(store, queue, Run);
        long wanted = await AppendAsync(store, queue, Wanted, TestBatch.Of("wanted"));
        string logs = Path.Combine(Folder, "logs", "0");
        for (int i = 0; Directory.GetFiles(logs, "*.index").Length == 0; i++)
            await AppendAsync(store, queue, Other, TestBatch.OfSize(60_000, i));
        await Eventually(() => store.Read(queue, default, 1, new ArrayBufferWriter<byte>()).NeedsDisk);

        var bytes = new ArrayBufferWriter<byte>();
        ReadResult first = await store.ReadFromDiskAsync(queue, default, 1 << 20, Wanted, bytes, Cancel);
        Assert.Equal(
            (ErrorCode.None, 0, FoundEntries.MaxPassed), (first.Error, first.Size, (int)first.NextOffset.Value));
        ReadResult second = await store.ReadFromDiskAsync(queue, first.NextOffset, 1 << 20, Wanted, bytes, Cancel);
        Assert.True(second.NextOffset.Value > wanted);
        Assert.Equal(wanted, Assert.Single(TestBatch.Split(bytes.WrittenSpan, queue)).FirstOffset);
    }

    [Fact]
    public async Task GivenRotAmongTheUnwanted_WhenPassedOver_ThenOnlyAWantedOneIsToldToBeDamaged()
    {
        await using QueueStore store = await OpenAsync(Segmented);
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 60; i++)
            await AppendAsync(store, queue, i % 10 == 4 ? Wanted : Other, TestBatch.OfSize(8_000, i));
        string logs = Path.Combine(Folder, "logs", "0");
        await Eventually(() => Directory.GetFiles(logs, "*.index").Length >= 3);
        List<TestBatch.Entry> entries = await ReadAllAsync(store, queue);
        foreach (int rotten in (int[])[2, 4])
        {
            using FileStream file = File.OpenWrite(Directory.GetFiles(logs, "*.log").Order().First());
            file.Position = Segment.HeaderSize + entries[rotten].Position + 2_000;
            file.WriteByte((byte)(entries[rotten].Batch[2_000 - EntryHeader.Length] ^ 0x10));
        }

        (ReadResult damaged, List<TestBatch.Entry> none) = await ReadToEndAsync(store, queue, 0, 1 << 20, Wanted);
        Assert.Equal((ErrorCode.DamagedData, 5), (damaged.Error, damaged.NextOffset.Value));
        Assert.Empty(none);
        (ReadResult end, List<TestBatch.Entry> rest) = await ReadToEndAsync(store, queue, 5, 1 << 20, Wanted);
        Assert.Equal((ErrorCode.None, 60, 5), (end.Error, end.NextOffset.Value, rest.Count));
    }

    private static async Task CheckAsync(
        QueueStore store, QueueId queue, List<(uint Bits, byte[] Batch)> sent, Random random)
    {
        for (int i = 0; i < 24; i++)
        {
            uint mask = (1u << random.Next(32)) | (random.Next(2) == 0 ? 0 : 1u << random.Next(32));
            int from = random.Next(sent.Count + 1);
            (ReadResult end, List<TestBatch.Entry> entries) =
                await ReadToEndAsync(store, queue, from, 1 + random.Next(i % 2 == 0 ? 600 : 20_000), mask);
            Assert.Equal((ErrorCode.None, sent.Count), (end.Error, (int)end.NextOffset.Value));
            Assert.Equal(
                Enumerable.Range(from, sent.Count - from).Where(k => (sent[k].Bits & mask) != 0),
                entries.Select(entry => (int)entry.FirstOffset));
            Assert.All(entries, entry => Assert.Equal(
                sent[(int)entry.FirstOffset].Batch.AsSpan(RecordBatchLayout.Magic),
                entry.Batch.AsSpan(RecordBatchLayout.Magic)));
        }
    }

    /// <summary>Reads on, from memory where it can be, until the visible end or an error.</summary>
    private static async Task<(ReadResult Last, List<TestBatch.Entry> Entries)> ReadToEndAsync(
        QueueStore store, QueueId queue, long from, int maxBytes, uint mask)
    {
        var entries = new List<TestBatch.Entry>();
        var next = new QueueOffset(from);
        while (true)
        {
            var bytes = new ArrayBufferWriter<byte>();
            ReadResult result = store.Read(queue, next, maxBytes, mask, bytes);
            if (result.NeedsDisk)
                result = await store.ReadFromDiskAsync(queue, result.NextOffset, maxBytes, mask, bytes, Cancel);
            entries.AddRange(TestBatch.Split(bytes.WrittenSpan, queue));
            if (result.Error != ErrorCode.None || result.NextOffset == result.VisibleEnd)
                return (result, entries);
            Assert.True(result.NextOffset.Value > next.Value, $"no way beyond {next}");
            next = result.NextOffset;
        }
    }

    private static async Task<long> AppendAsync(QueueStore store, QueueId queue, uint tagBits, byte[] batch)
    {
        AppendItem[] items = [new AppendItem { Queue = queue, Batch = batch, TagBits = tagBits }];
        await AppendAsync(store, items);
        return items[0].FirstOffset.Value;
    }

    private static async Task AppendManyAsync(QueueStore store, QueueId queue, int count)
    {
        byte[] batch = TestBatch.Of("x");
        for (int done = 0; done < count;)
        {
            var items = new AppendItem[Math.Min(500, count - done)];
            Array.Fill(items, new AppendItem { Queue = queue, Batch = batch, TagBits = Other });
            await AppendAsync(store, items);
            done += items.Length;
        }
    }

    private static async Task AppendAsync(QueueStore store, AppendItem[] items)
    {
        var waiter = new TestWaiter();
        while (store.Append(items, Durability.Policy, waiter) == AppendStatus.NoRoom)
            await store.WaitForRoomAsync(Cancel);
        await waiter.Task.WaitAsync(TimeSpan.FromSeconds(30), Cancel);
        Assert.All(items, item => Assert.Equal(ErrorCode.None, item.Error));
    }
}
