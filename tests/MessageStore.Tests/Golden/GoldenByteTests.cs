using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>The bytes of docs/storage-format.md. A test that fails here means: old stores can no longer be
/// read.</summary>
public sealed class GoldenByteTests
{
    private static readonly Guid StoreId = new("11111111-2222-3333-4444-555555555555");
    private static readonly Guid LogId = new("00112233-4455-6677-8899-aabbccddeeff");

    private readonly SimulatedDisk _disk = new();

    public GoldenByteTests() => _disk.CreateDirectory("/g");

    [Fact]
    public void GivenAnEntryHeader_WhenWritten_ThenItsBytesAreThose()
    {
        byte[] batch = TestBatch.Of("hello");
        RecordBatch.Stamp(batch, new QueueOffset(9), epoch: 3);
        byte[] bytes = new byte[EntryHeader.Length];
        var header = new EntryHeader
        {
            Size = EntryHeader.Length + batch.Length,
            Position = new LogPosition(0x0102030405060708),
            Queue = new QueueId(0x0A0B0C0D),
            Epoch = 3,
            StoredTimeMs = 1_700_000_000_000,
            Kind = EntryKind.Messages,
            Flags = EntryFlags.More,
            TagBits = 0x80000000,
            DurableDistance = 0x11223344,
        };
        EntryHeader.Write(bytes, header, EntryHeader.SeedOf(LogId), batch);
        Assert.Equal(
            "7900000039EDFBE208070605040302010D0C0B0A030000000068E5CF8B0100000130000100000080"
            + "4433221100000000",
            Convert.ToHexString(bytes));
        var read = EntryHeader.Read(bytes);
        Assert.Equal(header with { Crc = read.Crc }, read);
        Assert.Equal(read.Crc, EntryHeader.ComputeCrc(EntryHeader.SeedOf(LogId), bytes, batch));
    }

    [Fact]
    public void GivenTheListOfABackup_WhenWritten_ThenItsBytesAreThose()
    {
        var manifest = new BackupManifest(
            new SectionFileHeader
            {
                StoreId = StoreId,
                LogId = LogId,
                StartPosition = new LogPosition(512),
                EndPosition = new LogPosition(70_000),
                Epoch = 3,
                CreatedMs = 1_700_000_000_000,
            },
            [new BackupFile("store", 76, 0x01020304), new BackupFile("logs/0/00000000000000000512.log", 4_242, 0xfffefdfc)]);
        manifest.Write(_disk, "/g");
        GoldenFile.Check("backup-v1.bin", _disk.ReadAll("/g/backup"));
        BackupManifest read = BackupManifest.Read(_disk, "/g")!;
        Assert.Equal(manifest.Files, read.Files);
        Assert.Equal(manifest.Header.EndPosition, read.Header.EndPosition);
        Assert.Equal("logs/0/00000000000000000512.log.4242.fffefdfc", read.Files[1].StoredName);
    }

    [Fact]
    public void GivenASealWithoutBatch_WhenWritten_ThenItsBytesAreThose()
    {
        byte[] bytes = new byte[EntryHeader.Length];
        var header = new EntryHeader
        {
            Size = EntryHeader.Length,
            Position = new LogPosition(4_096),
            Queue = QueueId.State,
            Epoch = 1,
            StoredTimeMs = 1,
            Kind = EntryKind.Seal,
            DurableDistance = EntryHeader.SaturatedDistance,
        };
        EntryHeader.Write(bytes, header, EntryHeader.SeedOf(LogId), []);
        Assert.Equal(
            "30000000A67632E700100000000000000000000001000000010000000000000004300000FFFFFFFF"
            + "FFFFFFFF00000000",
            Convert.ToHexString(bytes));
        Assert.Equal(-1, EntryHeader.Read(bytes).ProvenDurable);
    }

    [Fact]
    public void GivenTheStartOfAnEpoch_WhenWritten_ThenItsBytesAreThose()
    {
        byte[] bytes = new byte[EntryHeader.Length];
        var header = new EntryHeader
        {
            Size = EntryHeader.Length,
            Position = new LogPosition(4_096),
            Queue = QueueId.State,
            Epoch = 7,
            StoredTimeMs = 1,
            Kind = EntryKind.EpochStart,
            TagBits = 0,
            DurableDistance = 0,
            Mark = 0xA1B2C3D4,
        };
        EntryHeader.Write(bytes, header, EntryHeader.SeedOf(LogId), []);
        Assert.Equal(
            "30000000" + Convert.ToHexString(bytes.AsSpan(4, 4))
            + "00100000000000000000000007000000010000000000000003300000" + "0000000000000000D4C3B2A1",
            Convert.ToHexString(bytes));
        var read = EntryHeader.Read(bytes);
        Assert.Equal(header with { Crc = read.Crc }, read);
        Assert.Equal(read.Crc, EntryHeader.ComputeCrc(EntryHeader.SeedOf(LogId), bytes, []));
    }

    [Fact]
    public void GivenASnapshotWithEpochs_WhenWritten_ThenItsBytesAreThose()
    {
        var history = new LogHistory(
        [
            new HistoryEpoch(new HistoryMark(1, 0), 0),
            new HistoryEpoch(new HistoryMark(3, 0xA1B2C3D4), 70_000),
        ]);
        using (var writer = new SnapshotWriter(_disk, "/g/e"))
        {
            writer.WriteMarks(nextQueueId: 9, nextProducerId: 1_000, lastStoredTimeMs: 1_700_000_000_000);
            writer.WriteQueues([]);
            writer.WriteProducers([]);
            writer.WriteMachine([]);
            writer.WriteEpochs(history.Epochs);
            writer.Complete(
                StoreId, LogId, new LogPosition(400), new LogPosition(800), epoch: 3, createdMs: 1_700_000_000_900);
        }

        GoldenFile.Check("snapshot-epochs-v1.bin", _disk.ReadAll("/g/e"));
        Assert.Equal(
            FileVerdict.Valid,
            SnapshotReader.TryOpen(_disk, "/g/e", LogId, new LogPosition(400), out SnapshotReader? reader));
        using (reader)
            Assert.Equal(history.Epochs, reader!.LoadEpochs());
    }

    [Fact]
    public void GivenASegmentHeader_WhenWritten_ThenItsBytesAreThose()
    {
        var header = new SegmentHeader
        {
            StoreId = StoreId,
            LogId = LogId,
            BasePosition = new LogPosition(0x0102030405060708),
            Epoch = 3,
            CreatedMs = 1_700_000_000_000,
            Capacity = 512 << 20,
        };
        byte[] bytes = new byte[SegmentHeader.Length];
        bytes.AsSpan().Fill(0xEE);
        header.Write(bytes);
        Assert.Equal(
            "455155455545004C01007C0000000000000000000000000011111111222233334444555555555555"
            + "00112233445566778899AABBCCDDEEFF080706050403020103000000000000000068E5CF8B010000"
            + "00000020000000000000000000000000000000000000000000000000000000000000000000000000"
            + "D44D77A0",
            Convert.ToHexString(bytes.AsSpan(0, 124)));
        Assert.False(bytes.AsSpan(124).ContainsAnyExcept((byte)0));
        Assert.Equal(FileVerdict.Valid, SegmentHeader.Read(bytes, out SegmentHeader? read));
        Assert.Equal(header, read);
    }

    [Fact]
    public void GivenAStoreFile_WhenWritten_ThenItsBytesAreThose()
    {
        var header = new StoreHeader { StoreId = StoreId, CreatedMs = 1_700_000_000_000, LogIds = [LogId] };
        Assert.Equal(
            "455155455545004401004C0000000000000000000000000011111111222233334444555555555555"
            + "0068E5CF8B010000000000000100000000112233445566778899AABBCCDDEEFF8CD6A0FF",
            Convert.ToHexString(header.ToBytes()));
        Assert.Equal(FileVerdict.Valid, StoreHeader.Read(header.ToBytes(), out StoreHeader? read));
        Assert.Equal((StoreId, LogId), (read!.StoreId, read.LogIds[0]));
    }

    [Fact]
    public void GivenACleanMarker_WhenWritten_ThenItsBytesAreThose()
    {
        CleanMarker.Write(_disk, "/g", StoreId, new LogPosition(0x0102030405060708));
        Assert.Equal(
            "455155455545004301002C0000000000111111112222333344445555555555550807060504030201"
            + "930CDD59",
            Convert.ToHexString(_disk.ReadAll("/g/clean")));
        Assert.True(CleanMarker.TryRead(_disk, "/g", StoreId, out LogPosition end));
        Assert.Equal(0x0102030405060708, end.Value);
        Assert.False(CleanMarker.TryRead(_disk, "/g", LogId, out _));
    }

    [Fact]
    public void GivenStateRecords_WhenEncoded_ThenTheirBytesAreThose()
    {
        StateEntry[] entries =
        [
            LogState.OpenQueue(new QueueId(5), new TopicId(LogId), 2),
            LogState.SetStart(new QueueId(5), new QueueOffset(77), 9_999),
            LogState.RemoveQueue(new QueueId(4)),
            LogState.ReserveProducerIds(1_000),
            LogState.SetProducer(new ProducerSession(7, 2), 1_700_000_000_000),
            LogState.RemoveProducer(6),
            MemoryState.Entry("key", "value"),
            MemoryState.Entry("key", null),
        ];
        GoldenFile.Check("state-v1.bin", new StateBatchEncoder().Encode(entries, 1_700_000_000_000).ToArray());
    }

    [Fact]
    public void GivenASealedIndex_WhenWritten_ThenItsBytesAreThose()
    {
        using (var writer = new SealedIndexWriter(_disk, "/g/i"))
        {
            writer.BeginQueue(QueueId.State, new QueueOffset(3), 0);
            writer.BeginQueue(new QueueId(2), new QueueOffset(500), 1_700_000_000_500);
            writer.Add(new SealedEntry(100, 110, 1_000, 300, 1_700_000_000_000, 0x80000000));
            writer.Add(new SealedEntry(110, 111, 1_900, 120, 1_700_000_000_000, 0x80000000));
            writer.Add(new SealedEntry(115, 500, 2_020, 70_000, 1_700_000_000_500, 0xFFFFFFFF));
            writer.Complete(StoreId, LogId, new LogPosition(1_000), new LogPosition(80_000), epoch: 3,
                createdMs: 1_700_000_000_900);
        }

        GoldenFile.Check("index-v1.bin", _disk.ReadAll("/g/i"));
    }

    [Fact]
    public void GivenASnapshot_WhenWritten_ThenItsBytesAreThose()
    {
        using (var writer = new SnapshotWriter(_disk, "/g/s"))
        {
            writer.WriteMarks(nextQueueId: 9, nextProducerId: 1_000, lastStoredTimeMs: 1_700_000_000_000);
            writer.WriteQueues([new SnapshotQueue(new QueueId(3), new TopicId(LogId), 2, 5, 16, 600, 1_001, 4_242, 1_212)]);
            writer.WriteProducers(
                [new SnapshotProducer(7, 2, 1_001, [(3, [new SequencedBatch(0, 4, 10, 500, 1_000)])])]);
            writer.WriteMachine([MemoryState.Entry("key", "value")]);
            writer.Complete(
                StoreId, LogId, new LogPosition(400), new LogPosition(800), epoch: 3, createdMs: 1_700_000_000_900);
        }

        GoldenFile.Check("snapshot-v1.bin", _disk.ReadAll("/g/s"));
    }

    [Fact]
    public void GivenASnapshotWithChecks_WhenWritten_ThenItsBytesAreThose()
    {
        SnapshotProducer[] producers =
            [new SnapshotProducer(7, 2, 1_001, [(3, [new SequencedBatch(0, 4, 10, 500, 1_000, Crc: 0x0102_0304)])])];
        using (var writer = new SnapshotWriter(_disk, "/g/s"))
        {
            writer.WriteMarks(nextQueueId: 9, nextProducerId: 1_000, lastStoredTimeMs: 1_700_000_000_000);
            writer.WriteQueues([new SnapshotQueue(new QueueId(3), new TopicId(LogId), 2, 5, 16, 600, 1_001, 4_242, 1_212)]);
            writer.WriteProducers(producers);
            writer.WriteMachine([MemoryState.Entry("key", "value")]);
            writer.WriteChecks(producers);
            writer.Complete(
                StoreId, LogId, new LogPosition(400), new LogPosition(800), epoch: 3, createdMs: 1_700_000_000_900);
        }

        GoldenFile.Check("snapshot-checks-v1.bin", _disk.ReadAll("/g/s"));
    }

    [Fact]
    public void GivenALaterVersionOrAnUnknownFlag_WhenRead_ThenItIsRefused()
    {
        byte[] bytes = new byte[SegmentHeader.Length];
        var header = new SegmentHeader
        {
            StoreId = StoreId,
            LogId = LogId,
            BasePosition = default,
            Epoch = 1,
            CreatedMs = 1,
            Capacity = 1,
        };
        foreach (int field in new[] { 8, 16, 20 })
        {
            header.Write(bytes);
            bytes[field] ^= 2;
            uint crc = Crc32C.Compute(bytes.AsSpan(0, 120));
            System.Buffers.Binary.BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(120), crc);
            Assert.Equal(FileVerdict.Refused, SegmentHeader.Read(bytes, out _));
        }

        bytes[8] ^= 1;
        Assert.Equal(FileVerdict.Damaged, SegmentHeader.Read(bytes, out _));
        Assert.Equal(FileVerdict.Empty, SegmentHeader.Read(new byte[SegmentHeader.Length], out _));
    }
}
