using System.Globalization;
using System.Text;
using static EQueue.Protocol.Tests.Records.Batches;

namespace EQueue.Protocol.Tests.Records;

/// <summary>Every codec of Kafka's batches: what real clients send is read, and what ours sends comes back.</summary>
public class CodecTests
{
    private const int MaxSize = 1 << 20;

    public static TheoryData<RecordCodec> Codecs => [.. Enum.GetValues<RecordCodec>().Where(codec => codec != RecordCodec.None)];

    /// <summary>Name and bytes of the batches in Golden/kafka-codecs.txt.</summary>
    public static TheoryData<string, string> Vectors
    {
        get
        {
            string[] lines = File.ReadAllLines(Path.Combine(AppContext.BaseDirectory, "Golden", "kafka-codecs.txt"));
            var vectors = new TheoryData<string, string>();
            for (int i = 0; i + 1 < lines.Length; i++)
            {
                if (lines[i].StartsWith("# ", StringComparison.Ordinal))
                    vectors.Add(lines[i][2..], lines[i + 1]);
            }

            return vectors;
        }
    }

    [Fact]
    public void GivenTheVectors_WhenCounted_ThenTwoClientsSentEveryCodec()
    {
        RecordCodec[] found = [.. Vectors.Select(row => HeaderCodec(Convert.FromHexString(row.Data.Item2)))];
        Assert.Equal(10, found.Length);
        Assert.All(Enum.GetValues<RecordCodec>(), codec => Assert.Equal(2, found.Count(one => one == codec)));
    }

    [Theory]
    [MemberData(nameof(Vectors))]
    public void GivenABatchOfAKafkaClient_WhenCheckedAndRead_ThenItsTwelveRecordsComeOut(string client, string hex)
    {
        byte[] batch = Convert.FromHexString(hex);
        Assert.Equal(ErrorCode.None, RecordBatch.Check(batch, out RecordBatchHeader header));
        uint tags = TagBits.Untagged;
        Assert.Equal(ErrorCode.None, RecordBatch.CheckRecords(batch, header, MaxSize, ref tags, out int largest));
        Assert.Equal(TagBits.Of("blue"u8), tags);
        Assert.Equal(ErrorCode.None, RecordBatch.Decompress(batch, MaxSize, out ReadOnlyMemory<byte> plain));

        List<SampleRecord> records = Read(plain.Span);

        Assert.True(records.Count == 12, client);
        Assert.Equal(RecordBatchLayout.HeaderSize + 621, plain.Length);
        Assert.Equal(largest, records.Max(record => record.Body?.Length));
        for (int i = 0; i < records.Count; i++)
        {
            string number = i.ToString(CultureInfo.InvariantCulture);
            byte[]? body = records[i].Body;
            Assert.Equal(1_700_000_000_000 + i, records[i].TimestampMs);
            Assert.Equal(i == 1 ? null : $"key-{i % 3}", Text(records[i].Key));
            Assert.Equal(i == 2 ? null : $"message number {number} of twelve", Text(body));
            Assert.Equal("blue", records[i].Tag);
            Assert.Equal(("n", number), (records[i].Properties[0].Name, Text(records[i].Properties[0].Value)));
        }
    }

    [Theory]
    [MemberData(nameof(Codecs))]
    public void GivenOurBatches_WhenCompressed_ThenTheSameComeBackAndTheyAreSmaller(RecordCodec codec)
    {
        using var compressor = new RecordCompressor(codec);
        foreach (int count in new[] { 20, 500, 5_000, 30 })
        {
            byte[] original = SampleOf(count);
            byte[] packed = [.. original];

            packed = packed[..compressor.Compress(packed)];

            Assert.Equal(codec, HeaderCodec(packed));
            Assert.True(packed.Length < original.Length);
            Assert.True(RecordBatch.HasValidCrc(packed));
            Assert.Equal(
                ErrorCode.None, RecordBatch.Decompress(packed, original.Length, out ReadOnlyMemory<byte> plain));
            Assert.Equal(original, plain.ToArray());
        }
    }

    [Theory]
    [MemberData(nameof(Codecs))]
    public void GivenABatchThatDoesNotShrink_WhenCompressed_ThenItStaysAsItIs(RecordCodec codec)
    {
        byte[] body = new byte[100];
        new Random(5).NextBytes(body);
        byte[] original = Build(new SampleRecord(BaseTimestampMs, null, body));
        byte[] packed = [.. original];
        using var compressor = new RecordCompressor(codec);

        Assert.Equal(original.Length, compressor.Compress(packed));
        Assert.Equal(original, packed);
    }

    [Theory]
    [MemberData(nameof(Codecs))]
    public void GivenALimit_WhenDecompressed_ThenOneByteDecides(RecordCodec codec)
    {
        byte[] original = SampleOf(3_000);
        byte[] packed = Pack(codec, original);

        Assert.Equal(ErrorCode.None, RecordBatch.Decompress(packed, original.Length, out _));
        foreach (int limit in new[] { original.Length - 1, original.Length / 2, packed.Length, 62, 61, 60, 0, -1 })
        {
            Assert.Equal(
                ErrorCode.MessageTooLarge, RecordBatch.Decompress(packed, limit, out ReadOnlyMemory<byte> plain));
            Assert.True(plain.IsEmpty);
        }
    }

    [Theory]
    [MemberData(nameof(Codecs))]
    public void GivenABomb_WhenCheckedOrDecompressed_ThenItIsTooLargeAndLittleIsAllocated(RecordCodec codec)
    {
        byte[] packed = Pack(codec, Build(new SampleRecord(BaseTimestampMs, null, new byte[64 << 20])));
        Assert.True(RecordBatch.TryReadHeader(packed, out RecordBatchHeader header, out _));
        uint tags = TagBits.Untagged;
        long before = GC.GetAllocatedBytesForCurrentThread();

        Assert.Equal(ErrorCode.MessageTooLarge, RecordBatch.Decompress(packed, MaxSize, out _));
        Assert.Equal(ErrorCode.MessageTooLarge, RecordBatch.CheckRecords(packed, header, MaxSize, ref tags, out _));

        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 40 << 20);
    }

    [Theory]
    [MemberData(nameof(Codecs))]
    public void GivenBytesOfAnotherFormat_WhenDecompressed_ThenTheBatchIsInvalid(RecordCodec codec)
    {
        for (int seed = 0; seed < 200; seed++)
        {
            byte[] bytes = new byte[1 + (seed * 3)];
            new Random(seed).NextBytes(bytes);
            byte[] batch = Around(bytes, 1, 0, (short)codec);
            ErrorCode error = RecordBatch.Decompress(batch, MaxSize, out ReadOnlyMemory<byte> plain);
            if (error == ErrorCode.None)
                error = TryRead(plain.Span, out _);
            Assert.True(error is ErrorCode.InvalidBatch or ErrorCode.MessageTooLarge, $"{error} from seed {seed}");
        }
    }

    [Theory]
    [MemberData(nameof(Codecs))]
    public void GivenAMutatedBatch_WhenDecompressed_ThenOnlyATypedFailureComesOut(RecordCodec codec)
    {
        byte[] packed = Pack(codec, SampleOf(300));
        for (int seed = 0; seed < 2_000; seed++)
        {
            var random = new Random(seed);
            byte[] batch = [.. packed];
            for (int flips = random.Next(1, 4); flips > 0; flips--)
                batch[random.Next(RecordBatchLayout.HeaderSize, batch.Length)] ^= (byte)(1 << random.Next(8));
            FixCrc(batch);
            ErrorCode error = RecordBatch.Decompress(batch, MaxSize, out ReadOnlyMemory<byte> plain);
            Assert.True(
                error is ErrorCode.None or ErrorCode.InvalidBatch or ErrorCode.MessageTooLarge,
                $"{error} from seed {seed}");
            Assert.InRange(plain.Length, 0, MaxSize);
        }
    }

    [Fact]
    public void GivenACodecThatDoesNotExist_WhenACompressorIsMade_ThenItIsRefused() =>
        Assert.Throws<ArgumentOutOfRangeException>(static () => new RecordCompressor((RecordCodec)5));

    private static RecordCodec HeaderCodec(byte[] batch)
    {
        Assert.True(RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _));
        return header.Codec;
    }

    private static byte[] Pack(RecordCodec codec, byte[] batch)
    {
        byte[] packed = [.. batch];
        using var compressor = new RecordCompressor(codec);
        return packed[..compressor.Compress(packed)];
    }

    private static string? Text(byte[]? bytes) => bytes is null ? null : Encoding.UTF8.GetString(bytes);

    private static byte[] SampleOf(int count) =>
        Build([.. Enumerable.Range(0, count).Select(i =>
            new SampleRecord(BaseTimestampMs + i, [(byte)i], Encoding.UTF8.GetBytes("order number " + i)))]);
}
