using System.Buffers.Binary;
using System.Text;
using EQueue.Protocol;
using EQueue.Support.Stores;

namespace EQueue.MessageStore.Tests;

/// <summary>Offsets beyond 32 bits, in one segment too: a few bytes that are compressed may hold any number of
/// records, so one segment may hold more of them than a uint counts.</summary>
public sealed class LargeOffsetTests : StoreTest
{
    private const int Rounds = 6;
    private const int Claimed = int.MaxValue;
    private const int LogIdOffset = 40;

    private readonly ManualTime _time = new(1_700_000_000_000);

    public LargeOffsetTests() => Time = _time;

    /// <summary>Where the queue begins: 0, and just below 2^32 and 2^63.</summary>
    public static TheoryData<long> Begins => [0, uint.MaxValue - 5L, long.MaxValue - (Rounds * (long)Claimed) - 100];

    private StoreOptions Options => SmallSegments with { ScrubBytesPerSecond = 0 };

    [Theory]
    [MemberData(nameof(Begins))]
    public async Task GivenASegmentOfMoreThanFourBillionRecords_WhenItIsReadStartedAnewAndSealed_ThenAllIsFound(
        long begin)
    {
        QueueId queue = await BeginAtAsync(begin);
        var expected = new List<Placed>();
        await using (QueueStore store = await OpenAsync(Options))
        {
            for (int round = 0; round < Rounds; round++)
            {
                expected.Add(await PlaceAsync(store, queue, Claiming(), Claimed, null));
                expected.Add(await PlaceAsync(store, queue, TestBatch.OfKeys(10, $"key-{round}"), 1, $"key-{round}"));
            }

            Assert.Equal(begin + 1, expected[0].Offset);
            Assert.True(expected[^1].Offset - expected[0].Offset > 2L * uint.MaxValue);
            Assert.Equal(1, store.Figures.Segments);
            await AssertAllAsync(store, queue, expected);
        }

        foreach (bool isReplayed in (bool[])[false, true])
        {
            Restart(forgetState: isReplayed);
            await using QueueStore store = await OpenAsync(Options);
            await AssertAllAsync(store, queue, expected);
        }

        Restart();
        await using (QueueStore store = await OpenAsync(Options))
        {
            QueueId other = await OpenQueueAsync(store);
            for (int i = 0; i < 60; i++)
                await store.AppendAsync(other, TestBatch.OfSize(4_000, i), Durability.Policy, Cancel);
            await Eventually(() => Indexes().Length > 1);
            await AssertAllAsync(store, queue, expected);
        }

        Restart();
        foreach (string index in Indexes())
            File.Delete(index);
        await using (QueueStore store = await OpenAsync(Options))
            await AssertAllAsync(store, queue, expected);
        Assert.Empty(LogVerifier.Verify(Disk, Folder, Cancel).BadRanges);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenASegmentOfMoreThanFourBillionRecords_WhenRetentionTakesSome_ThenTheLimitsAreKeptExactly(
        bool isSealed)
    {
        QueueId queue = await BeginAtAsync(0);
        await using QueueStore store = await OpenAsync(Options);
        var expected = new List<Placed>();
        for (int i = 0; i < Rounds; i++)
            expected.Add(await PlaceAsync(store, queue, Claiming(), Claimed, null));
        long end = expected[^1].Offset + Claimed;
        QueueId other = await OpenQueueAsync(store);
        for (int i = 0; isSealed && i < 60; i++)
            await store.AppendAsync(other, TestBatch.OfSize(4_000, i), Durability.Policy, Cancel);
        await Eventually(() => !isSealed || Indexes().Length > 1);
        long size = View(store, queue).Bytes / (Rounds + 1);

        await ApplyAsync(store, new RetentionLimits(Count: (long)uint.MaxValue + 7));
        Assert.Equal(end - uint.MaxValue - 7, View(store, queue).Start.Value);
        Assert.Equal(
            Enumerable.Range(3, 3).Select(i => expected[i].Offset),
            (await ReadAllAsync(store, queue, end - uint.MaxValue - 7)).Select(entry => entry.FirstOffset));
        await ApplyAsync(store, new RetentionLimits(Bytes: size + (size / 2)));
        Assert.Equal(expected[^1].Offset, View(store, queue).Start.Value);
        _time.UnixMs += 1_000;
        await ApplyAsync(store, new RetentionLimits(Age: TimeSpan.FromMilliseconds(1)));
        Assert.Equal(end, View(store, queue).Start.Value);
        Assert.Equal(end, await AppendAsync(store, queue, "next"));
    }

    [Fact]
    public async Task GivenAQueueAtTheLastOffset_WhenABatchWouldPassIt_ThenItIsRefusedAndTheQueueStays()
    {
        QueueId queue = await BeginAtAsync(long.MaxValue - 3);
        await using QueueStore store = await OpenAsync(Options);

        await FailsAsync(ErrorCode.QueueNotWritable, AppendAsync(store, queue, "a", "b", "c"));
        Assert.Equal(long.MaxValue - 2, await AppendAsync(store, queue, "a", "b"));
        await FailsAsync(ErrorCode.QueueNotWritable, AppendAsync(store, queue, "c"));
        Assert.Equal(["a", "b"], (await ReadAllAsync(store, queue, long.MaxValue - 2))[0].Bodies);
        Assert.Equal(long.MaxValue, View(store, queue).End.Value);
    }

    [Fact]
    public async Task GivenABatchOfMoreRecordsThanAnIntCounts_WhenAppending_ThenItIsInvalid()
    {
        await using QueueStore store = await OpenAsync(Options);
        QueueId queue = await OpenQueueAsync(store);
        byte[] batch = TestBatch.Of("a");
        BinaryPrimitives.WriteInt32BigEndian(batch.AsSpan(RecordBatchLayout.LastOffsetDelta), int.MaxValue);
        BrokenBatches.FixCrc(batch);

        await FailsAsync(ErrorCode.InvalidBatch, store.AppendAsync(queue, batch, Durability.Policy, Cancel).AsTask());
        Assert.Equal(0, await AppendAsync(store, queue, "b"));
    }

    private static byte[] Claiming() =>
        [.. BrokenBatches.Unreadable["a gzip batch that claims 2^31-1 records"]];

    private static QueueView View(QueueStore store, QueueId queue)
    {
        Assert.True(store.TryGetQueue(queue, out QueueView view));
        return view;
    }

    private static Task<int> ApplyAsync(QueueStore store, RetentionLimits limits) =>
        store.ApplyRetentionAsync(_ => limits, Cancel);

    private async Task<Placed> PlaceAsync(QueueStore store, QueueId queue, byte[] batch, int count, string? key)
    {
        _time.UnixMs += 1_000;
        AppendResult placed = await store.AppendAsync(queue, batch, Durability.Policy, Cancel);
        return new Placed(placed.FirstOffset.Value, count, placed.StoredTimeMs, key);
    }

    /// <summary>Every way to a record: in order, by offset, by time, by key.</summary>
    private static async Task AssertAllAsync(QueueStore store, QueueId queue, List<Placed> expected)
    {
        long first = expected[0].Offset, end = expected[^1].Offset + expected[^1].Count;
        Assert.Equal(end, View(store, queue).End.Value);
        Assert.Equal(
            expected.Select(one => (one.Offset, one.Count)),
            (await ReadAllAsync(store, queue, first)).Select(entry => (entry.FirstOffset, entry.Count)));
        foreach (Placed one in expected)
        {
            long last = one.Offset + one.Count - 1;
            (ReadResult read, List<TestBatch.Entry> entries) = await ReadAsync(store, queue, last, maxBytes: 1);
            Assert.Equal((one.Offset, one.Count), (entries[0].FirstOffset, entries[0].Count));
            Assert.Equal(last + 1, read.NextOffset.Value);
            Assert.Equal(one.Offset, (await store.FindOffsetAsync(queue, one.StoredTimeMs, Cancel)).Value);
            Assert.Equal(one.StoredTimeMs, await store.FindStoredTimeAsync(queue, new QueueOffset(last), Cancel));
            if (one.Key is not { } key)
                continue;
            KeyMatches found = await store.FindByKeyAsync(
                new KeyQuestion(
                    queue,
                    Encoding.UTF8.GetBytes(key),
                    new QueueOffset(first),
                    new QueueOffset(end),
                    MaxCount: 100,
                    MaxBytes: 64 << 20),
                Cancel);
            Assert.Equal([one.Offset], found.Offsets.Select(offset => offset.Value));
            Assert.Equal(end, found.NextOffset.Value);
        }
    }

    /// <summary>Makes a queue whose only record, of another log's making, has that offset.</summary>
    private async Task<QueueId> BeginAtAsync(long offset)
    {
        QueueId queue;
        await using (QueueStore store = await OpenAsync(Options))
        {
            queue = await OpenQueueAsync(store);
            await AppendAsync(store, queue, "first");
        }

        string path = LogFiles.Segment(LogFiles.LogDirectory(Folder), default);
        byte[] bytes = File.ReadAllBytes(path);
        var logId = new Guid(bytes.AsSpan(LogIdOffset, 16), bigEndian: true);
        uint seed = EntryHeader.SeedOf(logId);
        using (var scanner = new SegmentScanner(Disk.Open(path, DiskOpen.ReadOnly), path, default, seed))
        {
            while (scanner.Next() == ScanVerdict.Entry)
            {
                if (scanner.Header.Kind != EntryKind.Messages)
                    continue;
                EntryHeader header = scanner.Header;
                Span<byte> entry = bytes.AsSpan((int)scanner.FileOffset, header.Size);
                RecordBatch.Stamp(entry[EntryHeader.Length..], new QueueOffset(offset), header.Epoch);
                EntryHeader.Write(entry, header, seed, entry[EntryHeader.Length..]);
            }
        }

        File.WriteAllBytes(path, bytes);
        Restart(forgetState: true);
        return queue;
    }

    /// <summary>Makes the next opening read everything anew.</summary>
    private void Restart(bool forgetState = false)
    {
        State = new MemoryState();
        if (!forgetState)
            return;
        File.Delete(LogFiles.CleanFile(Folder));
        foreach (string snapshot in Directory.GetFiles(LogFiles.LogDirectory(Folder), "*" + LogFiles.SnapshotSuffix))
            File.Delete(snapshot);
    }

    private string[] Indexes() =>
        Directory.GetFiles(LogFiles.LogDirectory(Folder), "*" + LogFiles.IndexSuffix);

    private sealed record Placed(long Offset, int Count, long StoredTimeMs, string? Key);
}
