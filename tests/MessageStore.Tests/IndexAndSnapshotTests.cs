using System.Text;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>What goes into an index, a snapshot or a state batch comes out of it.</summary>
public sealed class IndexAndSnapshotTests
{
    private const string Folder = "/f";
    private static readonly Guid LogId = new("00112233-4455-6677-8899-aabbccddeeff");

    private readonly SimulatedDisk _disk = new();

    public IndexAndSnapshotTests() => _disk.CreateDirectory(Folder);

    [Fact]
    public void GivenManyQueuesWithGaps_WhenLookedUpByOffsetAndTime_ThenEachEntryIsFound()
    {
        Dictionary<uint, List<SealedEntry>> queues = WriteIndex(new Random(5), queueCount: 300);
        Assert.Equal(
            FileVerdict.Valid,
            SealedIndex.TryOpen(_disk, IndexPath, LogId, new LogPosition(1_000), out SealedIndex? index));
        using (index)
        {
            Assert.True(index!.VerifyAll());
            Assert.Equal(queues.Count, index.QueueCount);
            Assert.Equal(queues.Values.Sum(entries => entries.Count), index.EntryCount);
            foreach ((uint id, List<SealedEntry> entries) in queues)
                CheckQueue(index, id, entries);
            Assert.False(index.TryFind(new QueueId(1), out _));
            Assert.False(index.TryFind(new QueueId(uint.MaxValue), out _));
        }
    }

    [Fact]
    public void GivenAnIndexOfAnotherLogOrPlace_WhenOpened_ThenItIsDamaged()
    {
        WriteIndex(new Random(1), queueCount: 2);
        Assert.Equal(
            FileVerdict.Damaged,
            SealedIndex.TryOpen(_disk, IndexPath, Guid.NewGuid(), new LogPosition(1_000), out _));
        Assert.Equal(FileVerdict.Damaged, SealedIndex.TryOpen(_disk, IndexPath, LogId, new LogPosition(1_001), out _));
        Assert.Equal(
            FileVerdict.Empty,
            SealedIndex.TryOpen(_disk, Folder + "/none", LogId, new LogPosition(1_000), out _));
    }

    [Fact]
    public void GivenAWriterThatIsGivenUp_WhenDisposed_ThenNothingIsLeft()
    {
        using (var writer = new SealedIndexWriter(_disk, IndexPath))
            writer.BeginQueue(new QueueId(1), new QueueOffset(3), 0);
        Assert.Empty(_disk.Files);
    }

    [Fact]
    public void GivenASnapshot_WhenLoaded_ThenQueuesProducersAndMachineAreAsTheyWere()
    {
        string path = Folder + "/00000000000000000777.state";
        var topic = TopicId.NewId();
        SequencedBatch[] batches = [new(0, 4, 10, 500, 1_000), new(5, 5, 15, 600, 1_001, Crc: 0xFEDC_BA98)];
        using (var writer = new SnapshotWriter(_disk, path))
        {
            writer.WriteMarks(nextQueueId: 9, nextProducerId: 44, lastStoredTimeMs: 123_456);
            writer.WriteQueues([new SnapshotQueue(new QueueId(3), topic, 2, 5, 16, 600, 1_001, 4_242, 1_212)]);
            writer.WriteProducers([new SnapshotProducer(7, 2, 1_001, [(3, batches)])]);
            writer.WriteMachine([MemoryState.Entry("big", new string('x', 200_000)), MemoryState.Entry("small", "")]);
            writer.WriteChecks(
                [new SnapshotProducer(7, 2, 1_001, [(3, [batches[1], new(9, 9, 16, 700, 1_002, Crc: 1)])])]);
            writer.Complete(Guid.NewGuid(), LogId, new LogPosition(777), new LogPosition(800), epoch: 3, createdMs: 99);
        }

        var machine = new MemoryState();
        var state = new LogState(new QueueTable(), new ProducerTable(), machine);
        Assert.Equal(
            FileVerdict.Valid,
            SnapshotReader.TryOpen(_disk, path, LogId, new LogPosition(777), out SnapshotReader? snapshot));
        using (snapshot)
        {
            Assert.True(snapshot!.Verify());
            Assert.Equal(123_456, snapshot.Load(state));
            Assert.Equal(new LogPosition(800), snapshot.Header.EndPosition);
        }

        Queue queue = Assert.Single(state.Queues.All);
        Assert.Equal(
            (new QueueId(3), topic, 2, 5L, 16L, 600L, 1_001L, 4_242L),
            (queue.Id, queue.TopicId, queue.Number, queue.Start, queue.NextOffset, queue.AppliedPosition,
                queue.LastStoredTimeMs, queue.Bytes));
        Assert.Equal(9u, state.Queues.NextId);
        Assert.Equal(44, state.Producers.NextId);
        Assert.Equal(
            ErrorCode.DuplicateSequence,
            state.Producers.Check(new ProducerSession(7, 2), queue.Id, 5, 1, 0xFEDC_BA98, out SequencedBatch original));
        Assert.Equal(batches[1], original);
        Assert.Equal(
            ErrorCode.OutOfOrderSequence,
            state.Producers.Check(new ProducerSession(7, 2), queue.Id, 5, 1, 0xFEDC_BA99, out _));
        Assert.Equal(
            ErrorCode.DuplicateSequence, state.Producers.Check(new ProducerSession(7, 2), queue.Id, 0, 5, 4_711, out _));
        Assert.Equal(new string('x', 200_000), machine["big"]);
        Assert.Equal("", machine["small"]);
    }

    [Fact]
    public void GivenStateRecords_WhenEncodedAndRead_ThenKindKeyValueAndRemovalAreKept()
    {
        var encoder = new StateBatchEncoder();
        StateEntry[] entries =
        [
            new(64, Encoding.UTF8.GetBytes(new string('k', 700)), new byte[9_000]),
            new(255, ReadOnlyMemory<byte>.Empty, ReadOnlyMemory<byte>.Empty),
            new(1, new byte[] { 5 }, null),
        ];
        for (int round = 0; round < 2; round++)
        {
            byte[] batch = encoder.Encode(entries, 1_000).ToArray();
            Assert.Equal(ErrorCode.None, RecordBatch.Check(batch, out _));
            var reader = new StateBatchReader(batch);
            foreach (StateEntry entry in entries)
            {
                Assert.True(reader.TryRead(out StateRecord record));
                Assert.Equal(entry.Kind, record.Kind);
                Assert.True(entry.Key.Span.SequenceEqual(record.Key));
                Assert.Equal(entry.Value is null, record.IsDeleted);
                Assert.True(entry.Value.GetValueOrDefault().Span.SequenceEqual(record.Value));
            }

            Assert.False(reader.TryRead(out _));
            Assert.False(reader.IsMalformed);
        }

        Assert.Throws<ArgumentException>(() => encoder.Encode([], 0));
    }

    [Fact]
    public void GivenABatchOfMessages_WhenReadAsState_ThenItIsMalformed()
    {
        var reader = new StateBatchReader(TestBatch.Of("a body without key"));
        Assert.False(reader.TryRead(out _));
        Assert.True(reader.IsMalformed);
    }

    private static string IndexPath => Folder + "/00000000000000001000.index";

    private static void CheckQueue(SealedIndex index, uint id, List<SealedEntry> entries)
    {
        // Where an entry is in its file follows from its position; only a packed segment's index says it.
        entries = [.. entries.Select(entry => entry with { FileOffset = 4096 + entry.Position - 1_000 })];
        Assert.True(index.TryFind(new QueueId(id), out SealedQueue row));
        Assert.Equal(entries.Count, row.EntryCount);
        Assert.Equal(entries.Sum(entry => (long)entry.Size), row.Bytes);
        var block = new SealedEntry[SealedBlock.MaxEntries];
        var all = new List<SealedEntry>();
        for (int i = 0; i < row.BlockCount; i++)
            all.AddRange(block.AsSpan(0, index.ReadBlock(row, i, block)));
        Assert.Equal(entries, all);
        foreach (SealedEntry entry in entries)
        {
            int number = index.FindBlock(row, new QueueOffset(entry.EndOffset - 1));
            Assert.Contains(entry, block.AsSpan(0, index.ReadBlock(row, number, block)).ToArray());
            int byTime = index.FindBlockByTime(row, entry.StoredTimeMs, new TimeResets());
            long firstTime = block.AsSpan(0, index.ReadBlock(row, byTime, block)).ToArray()[0].StoredTimeMs;
            Assert.True(byTime == 0 || firstTime < entry.StoredTimeMs);
        }

        Assert.Equal(-1, index.FindBlock(row, new QueueOffset(row.NextOffset)));
    }

    private Dictionary<uint, List<SealedEntry>> WriteIndex(Random random, int queueCount)
    {
        var queues = new Dictionary<uint, List<SealedEntry>>();
        using var writer = new SealedIndexWriter(_disk, IndexPath);
        for (int i = 0; i < queueCount; i++)
        {
            uint id = (uint)(i * 7);
            long offset = random.Next(1_000), position = 1_000, time = random.NextInt64(1, 1L << 41);
            var entries = new List<SealedEntry>();
            for (int count = random.Next(6) == 0 ? random.Next(600) : random.Next(4); count > 0; count--)
            {
                offset += random.Next(20) == 0 ? random.Next(1_000) : 0;
                int size = random.Next(EntryHeader.Length, 5_000_000);
                int records = random.Next(1, 300);
                entries.Add(new SealedEntry(
                    offset, offset + records, position, size, time, (uint)random.NextInt64(1L << 32)));
                (offset, position, time) =
                    (offset + records, position + size + random.Next(3), time + random.Next(1_000));
            }

            writer.BeginQueue(new QueueId(id), new QueueOffset(offset), time);
            foreach (SealedEntry entry in entries)
                writer.Add(entry);
            queues.Add(id, entries);
        }

        writer.Complete(Guid.NewGuid(), LogId, new LogPosition(1_000), new LogPosition(1L << 40), 1, 1);
        return queues;
    }
}
