using FsCheck;
using FsCheck.Fluent;
using static EQueue.Protocol.Tests.Records.Batches;

namespace EQueue.Protocol.Tests.Records;

/// <summary>Arbitrary records and hostile bytes. A failure prints FsCheck's seed: give it to <c>WithReplay</c> to see
/// it again.</summary>
public class ArbitraryRecordsTests
{
    [Fact]
    public void GivenArbitraryRecords_WhenBuiltAndRead_ThenTheyComeBackUnchanged() =>
        Check(300, AnyRecords(), records =>
        {
            byte[] batch = Build(records);
            Assert.Equal(ErrorCode.None, RecordBatch.Check(batch, out _));
            AssertSame(records, Read(batch));
        });

    [Fact]
    public void GivenArbitraryRecords_WhenTheirTagBitsAreMeasured_ThenEachRecordMatchesItsBatch() =>
        Check(200, AnyRecords(), records =>
        {
            var builder = new RecordBatchBuilder();
            builder.Reset(new byte[1 << 20], BaseTimestampMs);
            foreach (SampleRecord record in records)
                Assert.True(record.TryAppendTo(builder));
            Assert.All(records, r => Assert.True(TagBits.MayMatch(builder.TagBits, r.Content.TagBits)));
        });

    [Fact]
    public void GivenMutatedRecordsWithAGoodCrc_WhenRead_ThenOnlyATypedFailureComesOut() =>
        Check(1_000, AnyRecords().Zip(Gen.Choose(0, int.MaxValue)), input =>
        {
            byte[] batch = Build(input.Item1);
            Mutate(batch, RecordBatchLayout.Attributes, new System.Random(input.Item2));
            FixCrc(batch);

            RecordBatch.Check(batch, out _);
            Assert.Contains(TryRead(batch, out _), Allowed);
        });

    [Fact]
    public void GivenMutatedHeaders_WhenCheckedAndRead_ThenOnlyATypedFailureComesOut() =>
        Check(1_000, AnyRecords().Zip(Gen.Choose(0, int.MaxValue)), input =>
        {
            byte[] batch = Build(input.Item1);
            Mutate(batch.AsSpan(0, RecordBatchLayout.HeaderSize), 0, new System.Random(input.Item2));

            Assert.Contains(TryRead(batch, out _), Allowed);
            Assert.Contains(RecordBatch.Check(batch, out _), Allowed);
            Assert.Contains(RecordBatch.Decompress(batch, 1 << 20, out _), Allowed);
        });

    [Fact]
    public void GivenArbitraryBytes_WhenReadAsRecords_ThenOnlyATypedFailureComesOut() =>
        Check(1_000, Gen.Choose(0, 255).Select(i => (byte)i).ArrayOf().Zip(Gen.Choose(1, 5)), input =>
        {
            byte[] batch = Around(input.Item1, input.Item2, input.Item2 - 1);
            Assert.Contains(TryRead(batch, out _), Allowed);
            Assert.Contains(TryRead(input.Item1, out _), Allowed);
        });

    [Fact]
    public void GivenAMutatedGzipBatch_WhenDecompressedAndRead_ThenOnlyATypedFailureComesOut() =>
        Check(500, Gen.Choose(0, int.MaxValue), seed =>
        {
            byte[] batch = Golden("kafka-gzip");
            Mutate(batch.AsSpan(RecordBatchLayout.HeaderSize), 0, new System.Random(seed));
            ErrorCode error = RecordBatch.Decompress(batch, 1 << 20, out ReadOnlyMemory<byte> plain);
            Assert.Contains(error, Allowed);
            if (error == ErrorCode.None)
                Assert.Contains(TryRead(plain.Span, out _), Allowed);
        });

    private static readonly ErrorCode[] Allowed =
    [
        ErrorCode.None,
        ErrorCode.InvalidBatch,
        ErrorCode.CorruptBatch,
        ErrorCode.UnsupportedCodec,
        ErrorCode.MessageTooLarge,
    ];

    private static void Check<T>(int count, Gen<T> values, Action<T> property) =>
        Prop.ForAll(values.ToArbitrary(), property).Check(Config.QuickThrowOnFailure.WithMaxTest(count));

    private static void Mutate(Span<byte> bytes, int from, System.Random random)
    {
        for (int i = random.Next(1, 4); i > 0; i--)
        {
            int at = random.Next(from, bytes.Length);
            bytes[at] = random.Next(4) switch
            {
                0 => (byte)(bytes[at] ^ (1 << random.Next(8))),
                1 => 0xFF,
                2 => 0,
                _ => (byte)random.Next(256),
            };
        }
    }

    private static Gen<SampleRecord[]> AnyRecords() =>
        AnyRecord().NonEmptyListOf().Select(records => records.ToArray());

    private static Gen<SampleRecord> AnyRecord() =>
        from delta in Gen.Elements(0L, 1, -1, 63, 64, -64, -65, 1_000_000, -1_000_000_000_000)
        from key in AnyBytes()
        from body in AnyBytes()
        from tag in Gen.Frequency((4, Gen.Constant<string?>(null)), (1, AnyText()))
        from names in Gen.Frequency((4, Gen.Constant<string?[]>([])), (1, AnyText().ArrayOf(3)))
        from value in AnyBytes()
        select new SampleRecord(BaseTimestampMs + delta, key, body)
        {
            Tag = tag,
            Properties = [.. names.Where(n => n!.Length > 0).Select(n => (n!, value))],
        };

    private static Gen<string?> AnyText() =>
        Gen.Elements<string?>("", "t", "paid", "größer", "客户", new string('n', 200));

    private static Gen<byte[]?> AnyBytes() =>
        from size in Gen.Frequency(
            (2, Gen.Constant(-1)),
            (2, Gen.Choose(0, 70)),
            (1, Gen.Elements(127, 128, 129, 8_170, 8_191, 8_192, 9_000)))
        from seed in Gen.Choose(0, int.MaxValue)
        select size < 0 ? null : Fill(size, seed);

    private static byte[]? Fill(int size, int seed)
    {
        byte[] bytes = new byte[size];
        new System.Random(seed).NextBytes(bytes);
        return bytes;
    }
}
