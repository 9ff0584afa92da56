using System.Text;
using static EQueue.Protocol.Tests.Records.Batches;

namespace EQueue.Protocol.Tests.Records;

/// <summary>Batches written by python3-kafka (Kafka/make_golden.py made the files) are read by ours.</summary>
public class KafkaGoldenTests
{
    [Fact]
    public void GivenKafkasSingleRecord_WhenRead_ThenKeyAndBodyComeOut() =>
        AssertHolds("kafka-single", Record(0, "k", "hello"));

    [Fact]
    public void GivenKafkasNulls_WhenRead_ThenNullAndEmptyAreToldApart() =>
        AssertHolds(
            "kafka-nulls",
            Record(0, null, null),
            Record(0, "", ""),
            Record(0, "k", null),
            Record(0, null, "v"));

    [Fact]
    public void GivenKafkasHeaders_WhenRead_ThenTagAndPropertiesComeOutInOrder() =>
        AssertHolds(
            "kafka-headers",
            Record(0, "customer-7", "body") with
            {
                Tag = "paid",
                Properties = [("trace", [0x00, 0xFF]), ("trace", null), ("empty", [])],
            },
            Record(0, null, "untagged") with { Properties = [("naïve", Encoding.UTF8.GetBytes("über"))] });

    [Fact]
    public void GivenKafkasTimes_WhenRead_ThenNegativeAndLargeDeltasComeOut() =>
        AssertHolds("kafka-times", Record(0, null, "a"), Record(-5, null, "b"), Record(86_400_000, null, "c"));

    [Fact]
    public void GivenKafkasTimes_WhenTheHeaderIsRead_ThenProducerAndTimesComeOut()
    {
        byte[] batch = Golden("kafka-times");

        Assert.True(RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _));

        Assert.Equal(new ProducerSession(4_000_000_000_000, 7), header.Producer);
        Assert.Equal(2_147_483_640, header.BaseSequence);
        Assert.Equal(BaseTimestampMs, header.BaseTimestamp);
        Assert.Equal(BaseTimestampMs + 86_400_000, header.MaxTimestamp);
        Assert.Equal((2, 3), (header.LastOffsetDelta, header.RecordsCount));
        Assert.Equal(batch.Length, header.TotalSize);
    }

    [Fact]
    public void GivenKafkasManyRecords_WhenRead_ThenEachIsFound() => AssertHolds("kafka-many", Many());

    [Fact]
    public void GivenKafkasLargeBodies_WhenRead_ThenEveryLengthFormIsFound() =>
        AssertHolds(
            "kafka-large",
            Record(0, null, new string('x', 63)),
            Record(0, null, new string('y', 64)),
            Record(0, null, new string('z', 8192)),
            Record(0, null, new string('w', 20_000)));

    [Fact]
    public void GivenKafkasGzip_WhenDecompressedAndRead_ThenEachIsFound()
    {
        byte[] batch = Golden("kafka-gzip");
        Assert.Equal(ErrorCode.None, RecordBatch.Check(batch, out RecordBatchHeader header));
        Assert.Equal(RecordCodec.Gzip, header.Codec);

        Assert.Equal(ErrorCode.None, RecordBatch.Decompress(batch, 1 << 20, out ReadOnlyMemory<byte> plain));

        Assert.Equal(ErrorCode.None, RecordBatch.Check(plain.Span, out _));
        AssertSame(Many(), Read(plain.Span));
    }

    [Fact]
    public void GivenTheSameRecords_WhenOursBuildsThem_ThenRecordBytesAreKafkas()
    {
        byte[] theirs = Golden("kafka-many");
        byte[] ours = Build(Many());

        // Kafka's builder writes leader epoch 0, ours -1: the broker stamps both.
        RecordBatch.Stamp(ours, new QueueOffset(0), 0);

        Assert.Equal(theirs, ours);
    }

    private static SampleRecord[] Many() =>
        [.. Enumerable.Range(0, 300).Select(i => new SampleRecord(
            BaseTimestampMs + (i % 50),
            null,
            [.. Enumerable.Repeat((byte)(i % 251), i % 200)]))];

    private static SampleRecord Record(long delta, string? key, string? body) =>
        new(BaseTimestampMs + delta, Bytes(key), Bytes(body));

    private static byte[]? Bytes(string? text) => text is null ? null : Encoding.UTF8.GetBytes(text);

    private static void AssertHolds(string name, params SampleRecord[] expected)
    {
        byte[] batch = Golden(name);
        Assert.Equal(ErrorCode.None, RecordBatch.Check(batch, out _));
        AssertSame(expected, Read(batch));
    }
}
