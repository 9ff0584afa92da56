using System.Globalization;
using System.Text;
using EQueue.Protocol;

namespace EQueue.MessageStore.Tests;

/// <summary>The key filters of sealed segments: what they promise, and that nobody is told less because of
/// them.</summary>
public sealed class KeyFilterTests : KeyStoreTest
{
    private const int Batches = 200;

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(12)]
    [InlineData(100)]
    [InlineData(5_000)]
    [InlineData(200_000)]
    public void GivenKeys_WhenGatheredAndFolded_ThenEachIsFoundAndFewOthersAre(int keys)
    {
        foreach (int room in new[] { keys, 4 * keys, 1 << 20 })
        {
            var filter = new KeyFilter(room);
            for (int i = 0; i < keys; i++)
                filter.Add(HashOf($"customer-{i}"));
            filter.Fold();
            Assert.True(filter.IsUseful);
            Assert.True(filter.SizeBytes <= Math.Max(KeyFilter.SmallestBlock, keys * 20 / 8 * 2), $"{filter.SizeBytes}");
            for (int i = 0; i < keys; i++)
                Assert.True(MayHold(filter, $"customer-{i}"));
            int wrong = Enumerable.Range(0, 20_000).Count(i => MayHold(filter, $"other-{i}"));
            Assert.InRange(wrong, 0, 400);
        }
    }

    [Fact]
    public void GivenKeysOfOneQueueOfSixteen_WhenGathered_ThenFewOthersOfThatQueueAreFound()
    {
        string[] keys = [.. Enumerable.Range(0, 400_000).Select(i => $"{i}")
            .Where(key => Murmur2.QueueOf(Encoding.UTF8.GetBytes(key), 16) == 3)];
        var filter = new KeyFilter(keys.Length / 2);
        foreach (string key in keys[..(keys.Length / 2)])
            filter.Add(HashOf(key));
        filter.Fold();
        Assert.InRange(keys[(keys.Length / 2)..].Count(key => MayHold(filter, key)), 0, keys.Length / 2 / 50);
    }

    [Fact]
    public void GivenMoreKeysThanFit_WhenGathered_ThenTheFilterIsNotWorthKeeping()
    {
        var filter = new KeyFilter(10);
        for (int i = 0; i < 1_000; i++)
            filter.Add(HashOf($"{i}"));
        Assert.False(filter.IsUseful);
        Assert.Equal(KeyFilter.LargestBytes, new KeyFilter(long.MaxValue).SizeBytes);
    }

    [Fact]
    public async Task GivenALookUpThatHadToRead_WhenAskedAgain_ThenLittleIsReadAlsoAfterARestart()
    {
        QueueId[] queues;
        await using (QueueStore store = await OpenAsync(Options))
        {
            queues = await FillAsync(store);
            Assert.Empty((await FindAsync(store, queues[0], "absent")).Offsets);
            await FiltersAsync(store, queues[0]);
        }
        State = new MemoryState();
        await using (QueueStore store = await OpenAsync(Options))
        {
            Assert.True((await FindAsync(store, queues[0], "absent")).ReadBytes < 150_000);
            foreach (QueueId queue in queues)
                await AssertModelAsync(store, queue);
            Assert.Empty(LogVerifier.Verify(Disk, Folder, Cancel).BadRanges);
            Assert.All(LogInspector.Open(Disk, Folder).Segments, segment => Assert.NotEqual(false, segment.IsIndexWhole));
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(8)]
    [InlineData(-10)]
    public async Task GivenADamagedFilter_WhenLookedUp_ThenTheEntriesAreReadAndTheFilterIsMadeAgain(int damagedByte)
    {
        QueueId[] queues;
        await using (QueueStore store = await OpenAsync(Options))
        {
            queues = await FillAsync(store);
            await FindAsync(store, queues[0], "absent");
            await FiltersAsync(store, queues[0]);
        }
        int damaged = 0;
        foreach (string path in Indexes())
        {
            byte[] bytes = File.ReadAllBytes(path);
            Assert.Equal(FileVerdict.Valid, SectionFileReader.TryOpen(
                Disk, path, SealedIndexWriter.Magic, out SectionFileReader? reader));
            using (reader)
            {
                if (!reader!.TryFind(KeyFilterSection.Type, out FileSection section))
                    continue;
                Span<byte> filters = bytes.AsSpan((int)section.FileOffset, (int)section.Length);
                if (damagedByte == 0)
                    filters[(int)(section.ItemCount * KeyFilterRow.RowSize)..].Clear();
                else
                    filters[damagedByte < 0 ? filters.Length + damagedByte : damagedByte] ^= 0x40;
                damaged++;
            }
            File.WriteAllBytes(path, bytes);
        }
        Assert.True(damaged > 5);

        State = new MemoryState();
        await using (QueueStore store = await OpenAsync(Options with { ScrubBytesPerSecond = 0 }))
        {
            foreach (QueueId queue in queues)
                await AssertModelAsync(store, queue);
            await FiltersAsync(store, queues[0]);
            await FiltersAsync(store, queues[1]);
            foreach (QueueId queue in queues)
                await AssertModelAsync(store, queue);
        }
    }

    [Fact]
    public async Task GivenAnIndexThatIsRebuilt_WhenLookedUpAgain_ThenItGetsItsFiltersAgain()
    {
        await using QueueStore store = await OpenAsync(Options with { ScrubBytesPerSecond = 0 });
        QueueId[] queues = await FillAsync(store);
        await FindAsync(store, queues[0], "absent");
        await FiltersAsync(store, queues[0]);
        string path = Indexes().First(HasFilters);
        SectionFileReader.TryOpen(Disk, path, SealedIndexWriter.Magic, out SectionFileReader? reader);
        using (reader)
        using (FileStream file = new(path, FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite))
        {
            Assert.True(reader!.TryFind(SealedIndexWriter.DirectorySection, out FileSection directory));
            file.Position = directory.FileOffset;
            file.Write(new byte[directory.Length]);
        }
        await AssertModelAsync(store, queues[0]);
        long deadline = Environment.TickCount64 + 30_000;
        while (!HasFilters(path))
        {
            await FindAsync(store, queues[0], "absent");
            Assert.True(Environment.TickCount64 < deadline, "no filters in 30 s");
        }
        await AssertModelAsync(store, queues[0]);
        await AssertModelAsync(store, queues[1]);
    }

    [Fact]
    public async Task GivenAPack_WhenLookedUp_ThenItHasFiltersTooAndNothingIsMissing()
    {
        StoreOptions options =
            Options with { SnapshotInterval = TimeSpan.FromSeconds(1), PackBytesPerSecond = 1L << 40 };
        QueueId[] queues;
        await using (QueueStore store = await OpenAsync(options))
        {
            queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 2, [], Cancel);
            for (int i = 0; i < 400; i++)
                await AppendKeysAsync(store, queues[i % 8 == 0 ? 0 : 1], 6_000, $"{i % 16}");
            await FindAsync(store, queues[0], "absent");
            await store.MoveStartsAsync([(queues[1], new QueueOffset(350))], Cancel);
            await Eventually(() => store.Figures.SegmentsPacked > 5);
            await AssertKeptAsync(store);
            // Packs may be packed again: whoever looks next has their filters made again.
            long deadline = Environment.TickCount64 + 30_000;
            while (!Indexes().Any(path => path.Contains(".pack.", StringComparison.Ordinal) && HasFilters(path)))
            {
                Assert.Empty((await FindAsync(store, queues[0], "absent")).Offsets);
                Assert.True(Environment.TickCount64 < deadline, "no filters in 30 s");
            }
            await AssertKeptAsync(store);
        }
        State = new MemoryState();
        await using (QueueStore store = await OpenAsync(options))
        {
            await AssertKeptAsync(store);
        }

        async Task AssertKeptAsync(QueueStore store)
        {
            Assert.Equal(Enumerable.Range(0, 25).Select(i => 2L * i), Values(await FindAsync(store, queues[0], "0")));
            Assert.Equal(Enumerable.Range(0, 25).Select(i => (2L * i) + 1), Values(await FindAsync(store, queues[0], "8")));
            Assert.Empty((await FindAsync(store, queues[0], "3")).Offsets);
            Assert.Empty((await FindAsync(store, queues[1], "0")).Offsets);
        }
    }

    [Fact]
    public async Task GivenADamagedSegment_WhenLookedUpAgainAndAgain_ThenWhatCannotBeReadIsStillCounted()
    {
        await using QueueStore store = await OpenAsync(Options with { ScrubBytesPerSecond = 0 });
        QueueId[] queues = await FillAsync(store);
        TestBatch.Entry rotten = (await ReadAllAsync(store, queues[0]))[5];
        using (FileStream file = File.OpenWrite(Directory.GetFiles(Logs, "*.log").Order().First()))
        {
            file.Position = Segment.HeaderSize + rotten.Position + 500;
            file.WriteByte((byte)(rotten.Batch[500 - 48] ^ 0x10));
        }
        await Eventually(() => Indexes().Length == Directory.GetFiles(Logs, "*.log").Length - 1);
        long deadline = Environment.TickCount64 + 30_000;
        do
        {
            Assert.Equal(rotten.Count, (await FindAsync(store, queues[0], "absent")).UnreadableCount);
            Assert.True(Environment.TickCount64 < deadline, "no filters in 30 s");
        }
        while (Indexes().Count(HasFilters) < Indexes().Length - 1);
        Assert.Equal(rotten.Count, (await FindAsync(store, queues[0], "absent")).UnreadableCount);
        Assert.False(HasFilters(Indexes()[0]));
    }

    [Fact]
    public async Task GivenMessagesWithoutKeysOrInAnUnknownCodec_WhenLookedUpAgain_ThenOnlyTheLatterAreReadAndCounted()
    {
        await using QueueStore store = await OpenAsync(Options);
        QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 2, [], Cancel);
        for (int i = 0; i < Batches; i++)
        {
            await AppendKeysAsync(store, queues[0], 2_000, null, null);
            byte[] foreign = TestBatch.OfKeys(2_000, "a");
            foreign[RecordBatchLayout.Attributes + 1] |= (byte)RecordCodec.Lz4;
            KeyTests.Seal(foreign);
            await store.AppendAsync(queues[1], foreign, Durability.Policy, Cancel);
        }
        Assert.Empty((await FindAsync(store, queues[0], "a")).Offsets);
        await FiltersAsync(store, queues[0]);
        Assert.Equal(0, (await FindAsync(store, queues[0], "a")).UnreadableCount);
        KeyMatches unknown = await FindAsync(store, queues[1], "a");
        Assert.Equal((0, Batches), (unknown.Offsets.Count, unknown.UnreadableCount));
    }

    [Fact]
    public async Task GivenAFilterThatIsAdded_WhenWritten_ThenTheIndexIsTheSameBesideIt()
    {
        var index = new EQueue.Support.SimulatedDisk();
        index.CreateDirectory("/g");
        byte[] before = File.ReadAllBytes(Path.Combine(GoldenFile.Folder, "index-v1.bin"));
        using (IDiskFile file = index.Open("/g/i", DiskOpen.CreateNew))
        {
            file.Write(before, 0);
            file.Sync();
        }
        var filter = new KeyFilter(3);
        filter.Add(HashOf("customer-7"));
        var filters = new SortedDictionary<uint, KeyFilter> { [2] = filter, [5] = new KeyFilter(1) };
        for (int i = 0; i < 2; i++)
        {
            KeyFilterSection.AddTo(index, "/g/i", filters);
            GoldenFile.Check("index-keys-v1.bin", index.ReadAll("/g/i"));
        }
        Assert.Equal(FileVerdict.Valid, SealedIndex.TryOpen(
            index,
            "/g/i",
            new Guid("00112233-4455-6677-8899-aabbccddeeff"),
            new LogPosition(1_000),
            out SealedIndex? read));
        using (read)
        {
            Assert.True(read!.VerifyAll());
            Assert.Equal(KeyVerdict.Maybe, read.LookUpKey(new QueueId(2), HashOf("customer-7")));
            Assert.Equal(KeyVerdict.Absent, read.LookUpKey(new QueueId(2), HashOf("customer-8")));
            Assert.Equal(KeyVerdict.Absent, read.LookUpKey(new QueueId(5), HashOf("customer-7")));
            Assert.Equal(KeyVerdict.Unknown, read.LookUpKey(new QueueId(3), HashOf("customer-7")));
            Assert.Equal(3, read.TryFind(new QueueId(2), out SealedQueue row) ? row.EntryCount : 0);
        }
        await Task.CompletedTask;
    }

    private static ulong HashOf(string key) => KeyFilter.HashOf(Encoding.UTF8.GetBytes(key));

    private static bool MayHold(KeyFilter filter, string key)
    {
        ulong hash = HashOf(key);
        return !filter.IsEmpty && KeyFilter.MayHold(hash, filter.Block(KeyFilter.BlockOf(hash, filter.BlockCount)));
    }

    private string[] Indexes() => [.. Directory.GetFiles(Logs, "*.index").Order(StringComparer.Ordinal)];

    private bool HasFilters(string path)
    {
        try
        {
            SectionFileReader.TryOpen(Disk, path, SealedIndexWriter.Magic, out SectionFileReader? reader);
            using (reader)
                return reader is not null && reader.TryFind(KeyFilterSection.Type, out _);
        }
        catch (DiskException)
        {
            return false; // just removed by the cleaner
        }
    }

    /// <summary>Looks up until filters spare most of the reading.</summary>
    private static async Task FiltersAsync(QueueStore store, QueueId queue)
    {
        long deadline = Environment.TickCount64 + 30_000;
        while ((await FindAsync(store, queue, "absent")).ReadBytes > 150_000)
            Assert.True(Environment.TickCount64 < deadline, "no filters in 30 s");
    }

    /// <summary>Two queues; key i of queue q is in every 50th batch.</summary>
    private static async Task<QueueId[]> FillAsync(QueueStore store)
    {
        QueueId[] queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 2, [], Cancel);
        for (int i = 0; i < Batches; i++)
        {
            foreach (QueueId queue in queues)
                await AppendKeysAsync(store, queue, 1_000, $"{i % 50}", null, $"{queue.Value}-{i}");
        }
        return queues;
    }

    private static async Task AssertModelAsync(QueueStore store, QueueId queue)
    {
        for (int key = 0; key < 50; key += 7)
        {
            KeyMatches found = await FindAsync(store, queue, key.ToString(CultureInfo.InvariantCulture));
            Assert.Equal(Enumerable.Range(0, Batches / 50).Select(i => 3L * ((i * 50) + key)), Values(found));
        }
        Assert.Equal([3 * 77 + 2], Values(await FindAsync(store, queue, $"{queue.Value}-77")));
        Assert.Empty((await FindAsync(store, queue, $"{queue.Value + 1}-{Batches}")).Offsets);
    }
}
