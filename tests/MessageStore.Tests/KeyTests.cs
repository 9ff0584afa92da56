using System.IO.Compression;
using EQueue.Protocol;

namespace EQueue.MessageStore.Tests;

/// <summary>Look-up by key in one queue: everything that has the key, nothing else, in pieces of bounded work.</summary>
public sealed class KeyTests : KeyStoreTest
{
    [Fact]
    public async Task GivenKeysInAllOfTheLog_WhenLookedUp_ThenSealedAndNewestAreFoundAlsoAfterARestart()
    {
        QueueId[] queues;
        await using (QueueStore store = await OpenAsync(Options))
        {
            queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, 2, [], Cancel);
            for (int i = 0; i < 300; i++)
                await AppendKeysAsync(store, queues[i % 2], 900, i % 10 < 2 ? "seven" : $"k{i}", null, "", "other");
            await AssertFoundAsync(store);
        }
        await using (QueueStore store = await OpenAsync(Options))
            await AssertFoundAsync(store);

        async Task AssertFoundAsync(QueueStore store)
        {
            KeyMatches seven = await FindAsync(store, queues[0], "seven");
            Assert.Equal(Enumerable.Range(0, 30).Select(i => 20L * i), Values(seven));
            Assert.Equal((600, 600, 0), (seven.NextOffset.Value, seven.VisibleEnd.Value, seven.UnreadableCount));
            Assert.Equal(Enumerable.Range(0, 30).Select(i => 20L * i), Values(await FindAsync(store, queues[1], "seven")));
            Assert.Equal(150, (await FindAsync(store, queues[0], "")).Offsets.Count);
            Assert.Empty((await FindAsync(store, queues[0], "absent")).Offsets);
            Assert.Equal([48], Values(await FindAsync(store, queues[0], "k24")));
            Assert.Empty((await FindAsync(store, queues[1], "k24")).Offsets);
        }
    }

    [Fact]
    public async Task GivenBoundsOfOffsetsCountAndBytes_WhenLookedUpOnAndOn_ThenEachCallKeepsThemAndNothingIsLeftOut()
    {
        await using QueueStore store = await OpenAsync(Options);
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 200; i++)
            await AppendKeysAsync(store, queue, 900, "a", "b", "a");
        long[] all = [.. Enumerable.Range(0, 600).Where(i => i % 3 != 1).Select(i => (long)i)];

        Assert.Equal([8, 9, 11, 12], Values(await FindAsync(store, queue, "a", from: 8, to: 14)));
        Assert.Equal([8], Values(await FindAsync(store, queue, "a", from: 7, to: 9)));
        KeyMatches first = await FindAsync(store, queue, "a", from: 1, count: 3);
        Assert.Equal([2, 3, 5], Values(first));
        Assert.Equal(6, first.NextOffset.Value);
        KeyMatches beyond = await FindAsync(store, queue, "a", from: 10_000);
        Assert.Equal((0, 10_000, 600), (beyond.Offsets.Count, beyond.NextOffset.Value, beyond.VisibleEnd.Value));

        var found = new List<long>();
        int calls = 0;
        for (long from = 0; from < 600; calls++)
        {
            KeyMatches some = await FindAsync(store, queue, "a", from, bytes: 5_000);
            Assert.InRange(some.ReadBytes, 1, 5_000 + 2_900);
            Assert.True(some.NextOffset.Value > from);
            found.AddRange(Values(some));
            from = some.NextOffset.Value;
        }
        Assert.Equal(all, found);
        Assert.True(calls > 30);
    }

    [Fact]
    public async Task GivenCompressedBatches_WhenLookedUp_ThenGzipIsReadAndTheRestIsCounted()
    {
        await using QueueStore store = await OpenAsync(Options);
        QueueId queue = await OpenQueueAsync(store);
        await store.AppendAsync(queue, Gzip(TestBatch.OfKeys(10, "a", "b")), Durability.Policy, Cancel);
        byte[] foreign = TestBatch.OfKeys(10, "a", "a", "a");
        foreign[RecordBatchLayout.Attributes + 1] |= 4;
        Seal(foreign);
        await store.AppendAsync(queue, foreign, Durability.Policy, Cancel);
        byte[] broken = Gzip(TestBatch.OfKeys(10, "a"));
        broken[RecordBatchLayout.HeaderSize] ^= 0xFF;
        Seal(broken);
        await store.AppendAsync(queue, broken, Durability.Policy, Cancel);
        await AppendKeysAsync(store, queue, 10, "a");

        KeyMatches found = await FindAsync(store, queue, "a");
        Assert.Equal([0, 6], Values(found));
        Assert.Equal((4, 7), (found.UnreadableCount, found.NextOffset.Value));
    }

    [Fact]
    public async Task GivenABombOfABatch_WhenLookedUp_ThenTheBytesThatItGrowsToCount()
    {
        await using QueueStore store = await OpenAsync(Options);
        QueueId queue = await OpenQueueAsync(store);
        byte[] bomb = Gzip(TestBatch.OfKeys(2 << 20, "a"));
        Assert.True(bomb.Length < 16 << 10);
        for (int i = 0; i < 3; i++)
            await store.AppendAsync(queue, bomb, Durability.Policy, Cancel);
        KeyMatches found = await FindAsync(store, queue, "a", bytes: 1 << 20);
        Assert.Equal([0], Values(found));
        Assert.Equal(1, found.NextOffset.Value);
        Assert.True(found.ReadBytes > 2 << 20);
    }

    [Fact]
    public async Task GivenRot_WhenLookedUp_ThenItIsCountedAndTheRestFound()
    {
        await using QueueStore store = await OpenAsync(Options);
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 60; i++)
            await AppendKeysAsync(store, queue, 4_000, "a");
        await Eventually(() => Directory.GetFiles(Logs, "*.index").Length >= 2);
        List<TestBatch.Entry> entries = await ReadAllAsync(store, queue);
        using (FileStream file = File.OpenWrite(Directory.GetFiles(Logs, "*.log").Order().First()))
        {
            file.Position = Segment.HeaderSize + entries[5].Position + 2_000;
            file.WriteByte((byte)(entries[5].Batch[2_000 - 48] ^ 0x10));
        }

        KeyMatches found = await FindAsync(store, queue, "a");
        Assert.Equal(Enumerable.Range(0, 60).Where(i => i != 5).Select(i => (long)i), Values(found));
        Assert.Equal((1, 60), (found.UnreadableCount, found.NextOffset.Value));
    }

    [Fact]
    public async Task GivenAMovedStart_WhenLookedUp_ThenWhatIsGoneIsNotFound()
    {
        await using QueueStore store = await OpenAsync(Options);
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 60; i++)
            await AppendKeysAsync(store, queue, 4_000, "a");
        await store.MoveStartsAsync([(queue, new QueueOffset(55))], Cancel);
        KeyMatches found = await FindAsync(store, queue, "a");
        Assert.Equal((55, 60), (found.Start.Value, found.NextOffset.Value));
        Assert.Equal([55, 56, 57, 58, 59], Values(found));
    }

    [Fact]
    public async Task GivenWhatCannotBeAskedFor_WhenLookedUp_ThenItIsRefused()
    {
        await using QueueStore store = await OpenAsync(Options);
        QueueId queue = await OpenQueueAsync(store);
        Assert.Empty((await FindAsync(store, queue, "a")).Offsets);
        await FailsAsync(ErrorCode.UnknownQueue, FindAsync(store, new QueueId(99), "a"));
        await FailsAsync(ErrorCode.UnknownQueue, FindAsync(store, QueueId.State, "a"));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => FindAsync(store, queue, "a", count: 0));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => FindAsync(store, queue, "a", bytes: 0));
        await AppendKeysAsync(store, queue, 10, "a");
        var cancelled = new CancellationToken(canceled: true);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => store.FindByKeyAsync(
            new KeyQuestion(queue, "a"u8.ToArray(), default, new QueueOffset(9), 1, 1), cancelled).AsTask());
    }

    private static byte[] Gzip(byte[] batch)
    {
        using var records = new MemoryStream();
        using (var gzip = new GZipStream(records, CompressionLevel.SmallestSize))
            gzip.Write(batch.AsSpan(RecordBatchLayout.HeaderSize));
        byte[] compressed = [.. batch.AsSpan(0, RecordBatchLayout.HeaderSize), .. records.ToArray()];
        compressed[RecordBatchLayout.Attributes + 1] |= (byte)RecordCodec.Gzip;
        Seal(compressed);
        return compressed;
    }

    /// <summary>Makes length and checksum of a batch fit its bytes.</summary>
    internal static void Seal(byte[] batch)
    {
        System.Buffers.Binary.BinaryPrimitives.WriteInt32BigEndian(
            batch.AsSpan(RecordBatchLayout.Length), batch.Length - RecordBatchLayout.LengthPrefix);
        System.Buffers.Binary.BinaryPrimitives.WriteUInt32BigEndian(
            batch.AsSpan(RecordBatchLayout.Crc), Crc32C.Compute(batch.AsSpan(RecordBatchLayout.Attributes)));
    }
}
