using System.IO.Compression;
using static EQueue.Protocol.Tests.Records.Batches;

namespace EQueue.Protocol.Tests.Records;

public class DecompressTests
{
    [Fact]
    public void GivenAnUncompressedBatch_WhenDecompressed_ThenTheSameBytesComeBack()
    {
        ReadOnlyMemory<byte> batch = Build(new SampleRecord(BaseTimestampMs, null, [1]));
        Assert.Equal(ErrorCode.None, RecordBatch.Decompress(batch, 0, out ReadOnlyMemory<byte> plain));
        Assert.True(batch.Equals(plain));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(10)]
    [InlineData(5_000)]
    public void GivenAGzipBatch_WhenDecompressed_ThenOnlyCodecLengthAndCrcDiffer(int recordsCount)
    {
        byte[] original = SampleOf(recordsCount);
        byte[] packed = Pack(original);
        RecordBatch.Stamp(packed, new QueueOffset(77), 5);
        RecordBatch.Stamp(original, new QueueOffset(77), 5);

        Assert.Equal(ErrorCode.None, RecordBatch.Decompress(packed, original.Length, out ReadOnlyMemory<byte> plain));

        Assert.Equal(original, plain.ToArray());
    }

    [Theory]
    [InlineData(-1)]
    [InlineData(0)]
    [InlineData(60)]
    [InlineData(61)]
    [InlineData(1_000)]
    public void GivenALimitBelowTheSize_WhenDecompressed_ThenItIsTooLarge(int limit)
    {
        byte[] packed = Pack(SampleOf(5_000));
        Assert.Equal(ErrorCode.MessageTooLarge, RecordBatch.Decompress(packed, limit, out ReadOnlyMemory<byte> plain));
        Assert.True(plain.IsEmpty);
    }

    [Fact]
    public void GivenALimitOneByteBelowTheSize_WhenDecompressed_ThenItIsTooLarge()
    {
        byte[] original = SampleOf(5_000);
        Assert.Equal(ErrorCode.MessageTooLarge, RecordBatch.Decompress(Pack(original), original.Length - 1, out _));
    }

    [Fact]
    public void GivenABombOf256MegabytesUnderALimit_WhenDecompressed_ThenItIsTooLargeAndLittleIsAllocated()
    {
        byte[] packed = Pack([.. SampleOf(1)[..RecordBatchLayout.HeaderSize], .. new byte[256 << 20]]);
        long before = GC.GetAllocatedBytesForCurrentThread();

        Assert.Equal(ErrorCode.MessageTooLarge, RecordBatch.Decompress(packed, 4 << 20, out _));

        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 16 << 20);
    }

    [Fact]
    public void GivenTruncatedGzip_WhenDecompressed_ThenItIsNeverTakenForTheWhole()
    {
        byte[] original = SampleOf(50);
        byte[] packed = Pack(original);
        int missed = 0;
        for (int cut = 1; cut < packed.Length - RecordBatchLayout.HeaderSize; cut++)
        {
            byte[] batch = Around(packed[RecordBatchLayout.HeaderSize..^cut], 50, 49, (short)RecordCodec.Gzip);
            ErrorCode error = RecordBatch.Decompress(batch, 1 << 20, out ReadOnlyMemory<byte> plain);

            List<SampleRecord> records = [];
            if (error == ErrorCode.None)
                error = TryRead(plain.Span, out records);
            if (error == ErrorCode.None)
                AssertSame(Read(original), records);
            else
                Assert.Equal(ErrorCode.InvalidBatch, error);
            missed += error == ErrorCode.None ? 1 : 0;
        }

        // gzip's trailer and its end mark may be cut without a record missing; nothing else may.
        Assert.InRange(missed, 0, 10);
    }

    [Theory]
    [InlineData((RecordCodec)5)]
    [InlineData((RecordCodec)6)]
    [InlineData((RecordCodec)7)]
    public void GivenAnotherCodec_WhenDecompressedOrRead_ThenItIsUnsupported(RecordCodec codec)
    {
        byte[] batch = Around([1, 2, 3], 1, 0, (short)codec);
        Assert.Equal(ErrorCode.UnsupportedCodec, RecordBatch.Decompress(batch, 1 << 20, out _));
        Assert.Equal(ErrorCode.UnsupportedCodec, TryRead(batch, out _));
    }

    [Fact]
    public void GivenMemoryThatIsNoArray_WhenDecompressed_ThenItWorksAlike()
    {
        byte[] original = SampleOf(20);
        using var owner = new NativeBytes(Pack(original));
        Assert.Equal(ErrorCode.None, RecordBatch.Decompress(owner.Memory, 1 << 20, out ReadOnlyMemory<byte> plain));
        Assert.Equal(original, plain.ToArray());
    }

    private static byte[] SampleOf(int count) =>
        Build([.. Enumerable.Range(0, count).Select(i =>
            new SampleRecord(BaseTimestampMs, [(byte)i], new byte[i % 90]))]);

    private static byte[] Pack(byte[] batch)
    {
        using var target = new MemoryStream();
        using (var gzip = new GZipStream(target, CompressionLevel.Fastest))
            gzip.Write(batch.AsSpan(RecordBatchLayout.HeaderSize));
        Assert.True(RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _) || batch.Length > 1 << 20);
        int count = header.RecordsCount;
        byte[] packed = Around(target.ToArray(), count, Math.Max(count - 1, 0), (short)RecordCodec.Gzip);
        batch.AsSpan(RecordBatchLayout.BaseTimestamp, 30).CopyTo(packed.AsSpan(RecordBatchLayout.BaseTimestamp));
        FixCrc(packed);
        return packed;
    }
}
