using System.Buffers.Binary;
using static EQueue.Protocol.Tests.Records.Batches;

namespace EQueue.Protocol.Tests.Records;

public class RecordBatchTests
{
    private const string OneRecordHex =
        "0000000000000000" + "00000047" + "FFFFFFFF" + "02" + "EAF6F006" + "0000" + "00000000"
        + "0000018BCFE56800" + "0000018BCFE56805" + "000000000000002A" + "0003" + "00000007" + "00000001"
        + "2A" + "00" + "0A" + "00" + "02" + "6B" + "0A" + "68656C6C6F" + "02" + "0C" + "65712D746167" + "02" + "74";

    [Fact]
    public void GivenOneRecordWithEveryPart_WhenBuilt_ThenTheBytesAreThese()
    {
        byte[] batch = Build(
            new ProducerSession(42, 3),
            7,
            [new SampleRecord(BaseTimestampMs + 5, "k"u8.ToArray(), "hello"u8.ToArray()) { Tag = "t" }]);

        Assert.Equal(OneRecordHex, Convert.ToHexString(batch));
    }

    [Fact]
    public void GivenBodiesAlone_WhenBuilt_ThenTheBytesAreThese()
    {
        byte[] batch = Build(
            new SampleRecord(BaseTimestampMs, null, "a"u8.ToArray()),
            new SampleRecord(BaseTimestampMs, null, []),
            new SampleRecord(BaseTimestampMs - 1, null, null),
            new SampleRecord(BaseTimestampMs + 100, null, new byte[64]));

        Assert.Equal(
            "0E" + "00" + "00" + "00" + "01" + "02" + "61" + "00"
            + "0C" + "00" + "00" + "02" + "01" + "00" + "00"
            + "0C" + "00" + "01" + "04" + "01" + "01" + "00"
            + "9001" + "00" + "C801" + "06" + "01" + "8001" + new string('0', 128) + "00",
            Convert.ToHexString(batch.AsSpan(RecordBatchLayout.HeaderSize)));
        Assert.True(RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _));
        Assert.Equal(BaseTimestampMs + 100, header.MaxTimestamp);
        Assert.Equal((ProducerSession.None, -1), (header.Producer, header.BaseSequence));
    }

    [Fact]
    public void GivenAHeader_WhenRead_ThenEachFieldIsInItsPlace()
    {
        byte[] batch = Convert.FromHexString(OneRecordHex);
        RecordBatch.Stamp(batch, new QueueOffset(0x0102030405060708), 0x1112_1314);
        batch[RecordBatchLayout.Attributes + 1] = 0x3C;

        Assert.True(RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _));

        Assert.Equal(0x0102030405060708, header.BaseOffset.Value);
        Assert.Equal(0x0102030405060709, header.NextOffset.Value);
        Assert.Equal(0x1112_1314, header.LeaderEpoch);
        Assert.Equal(BinaryPrimitives.ReadUInt32BigEndian(batch.AsSpan(17)), header.Crc);
        Assert.Equal((RecordCodec.Zstd, true, true, true),
            (header.Codec, header.HasStoredTimestamps, header.IsTransactional, header.IsControl));
        Assert.Equal((BaseTimestampMs, BaseTimestampMs + 5), (header.BaseTimestamp, header.MaxTimestamp));
        Assert.Equal((new ProducerSession(42, 3), 7), (header.Producer, header.BaseSequence));
        Assert.Equal((0, 1, batch.Length), (header.LastOffsetDelta, header.RecordsCount, header.TotalSize));
    }

    [Fact]
    public void GivenAGoodBatch_WhenStamped_ThenOnlyThoseBytesChangeAndTheCrcHolds()
    {
        byte[] batch = Sample();
        byte[] stamped = [.. batch];

        RecordBatch.Stamp(stamped, new QueueOffset(-1), -1);

        Assert.Equal(ErrorCode.None, RecordBatch.Check(stamped, out _));
        Assert.Equal(Enumerable.Repeat((byte)0xFF, 8), stamped[..8]);
        Assert.Equal(batch[8..12], stamped[8..12]);
        Assert.Equal(Enumerable.Repeat((byte)0xFF, 4), stamped[12..16]);
        Assert.Equal(batch[16..], stamped[16..]);
    }

    [Fact]
    public void GivenANewSession_WhenSetOnAFinishedBatch_ThenTheBatchIsAsIfBuiltWithIt()
    {
        byte[] batch = Sample();

        RecordBatch.SetProducer(batch, new ProducerSession(9, 2), 0);

        Assert.Equal(Build(new ProducerSession(9, 2), 0, SampleRecords()), batch);
        Assert.Equal(ErrorCode.None, RecordBatch.Check(batch, out _));
    }

    [Fact]
    public void GivenAnyBitBehindTheCrcFlipped_WhenChecked_ThenItIsNeverAccepted()
    {
        byte[] batch = Sample();
        for (int bit = RecordBatchLayout.Magic * 8; bit < batch.Length * 8; bit++)
        {
            batch[bit / 8] ^= (byte)(1 << (bit % 8));
            Assert.NotEqual(ErrorCode.None, RecordBatch.Check(batch, out _));
            batch[bit / 8] ^= (byte)(1 << (bit % 8));
        }

        Assert.Equal(ErrorCode.None, RecordBatch.Check(batch, out _));
    }

    [Fact]
    public void GivenABodyBitFlipped_WhenChecked_ThenItIsCorrupt()
    {
        byte[] batch = Sample();
        batch[^3] ^= 0x10;
        Assert.Equal(ErrorCode.CorruptBatch, RecordBatch.Check(batch, out _));
    }

    [Fact]
    public void GivenEveryShorterLength_WhenChecked_ThenItIsInvalid()
    {
        byte[] batch = Sample();
        for (int size = 0; size < batch.Length; size++)
            Assert.Equal(ErrorCode.InvalidBatch, RecordBatch.Check(batch.AsSpan(0, size), out _));
        Assert.Equal(ErrorCode.InvalidBatch, RecordBatch.Check([.. batch, 0], out _));
    }

    [Theory]
    [InlineData(RecordBatchLayout.Length, int.MaxValue)]
    [InlineData(RecordBatchLayout.Length, -1)]
    [InlineData(RecordBatchLayout.Length, 48)]
    [InlineData(RecordBatchLayout.LastOffsetDelta, -1)]
    [InlineData(RecordBatchLayout.LastOffsetDelta, 2)]
    [InlineData(RecordBatchLayout.LastOffsetDelta, int.MaxValue)]
    [InlineData(RecordBatchLayout.RecordsCount, 0)]
    [InlineData(RecordBatchLayout.RecordsCount, -1)]
    [InlineData(RecordBatchLayout.RecordsCount, int.MinValue)]
    public void GivenAnImpossibleNumber_WhenCheckedWithAGoodCrc_ThenItIsInvalid(int field, int value)
    {
        byte[] batch = Sample();
        BinaryPrimitives.WriteInt32BigEndian(batch.AsSpan(field), value);
        FixCrc(batch);
        Assert.Equal(ErrorCode.InvalidBatch, RecordBatch.Check(batch, out _));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(3)]
    public void GivenAnotherMagic_WhenChecked_ThenItIsInvalid(byte magic)
    {
        byte[] batch = Sample();
        batch[RecordBatchLayout.Magic] = magic;
        Assert.Equal(ErrorCode.InvalidBatch, RecordBatch.Check(batch, out _));
    }

    [Fact]
    public void GivenAControlBatch_WhenChecked_ThenItIsInvalid() =>
        Assert.Equal(ErrorCode.InvalidBatch, RecordBatch.Check(Around([0x0C, 0, 0, 0, 1, 1, 0], 1, 0, 0x20), out _));

    [Fact]
    public void GivenMoreRecordsThanBytesCanHold_WhenChecked_ThenItIsInvalid() =>
        Assert.Equal(ErrorCode.InvalidBatch, RecordBatch.Check(Around([0x0C, 0, 0, 0, 1, 1, 0], 2, 1), out _));

    [Fact]
    public void GivenBytesBehindTheBatch_WhenTheHeaderIsRead_ThenItsOwnSizeIsKnown()
    {
        byte[] batch = Sample();
        Assert.True(RecordBatch.TryReadHeader([.. batch, .. batch], out RecordBatchHeader header, out _));
        Assert.Equal(batch.Length, header.TotalSize);
    }

    private static SampleRecord[] SampleRecords() =>
        [new(BaseTimestampMs, null, [1, 2, 3]), new(BaseTimestampMs + 1, [4], [5, 6])];

    private static byte[] Sample() => Build(SampleRecords());
}
