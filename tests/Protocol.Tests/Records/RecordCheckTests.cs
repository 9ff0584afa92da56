using System.Buffers.Binary;
using System.IO.Compression;
using static EQueue.Protocol.Tests.Records.Batches;

namespace EQueue.Protocol.Tests.Records;

/// <summary>The look into a batch that comes in: what passes, every reader reads as its header says.</summary>
public class RecordCheckTests
{
    private const int MaxPlainBytes = 1 << 20;

    public static TheoryData<string, string, int> BrokenRecords => new()
    {
        { "nothing", "", 1 },
        { "random bytes", "8F3A11C05D7E22B9FE", 1 },
        { "a varint without an end", "FFFFFFFFFFFFFFFFFFFF", 1 },
        { "a length beyond the batch", "7E000000010100", 1 },
        { "a length before the end", "0A0000000101000000", 1 },
        { "bytes behind the last record", "0C000000010100" + "00", 1 },
        { "one record fewer", "0C000000010100", 2 },
        { "one record more", "0C000000010100" + "0C000002010100", 1 },
        { "2^31-1 records", "0C000000010100", int.MaxValue },
        { "offset delta 1 first", "0C000002010100", 1 },
        { "an offset delta twice", "0C000000010100" + "0C000000010100", 2 },
        { "a gap in the offset deltas", "0C000000010100" + "0C000004010100", 2 },
        { "a falling offset delta", "0C000000010100" + "0C000001010100", 2 },
        { "a key beyond the record", "0C000000400100", 1 },
        { "a key of length -2", "0C000000030100", 1 },
        { "a body beyond the record", "0C000000014000", 1 },
        { "a body of length -2", "0C000000010300", 1 },
        { "headers that are not there", "0C000000010102", 1 },
        { "2^31-1 headers", "14000000" + "0101" + "FEFFFFFF0F", 1 },
        { "-1 headers", "0C000000010101", 1 },
        { "a header without a name", "10000000" + "010102" + "0101", 1 },
        { "a header beyond the record", "10000000" + "010102" + "0240", 1 },
        { "a tag beyond the record", "1C000000" + "0101" + "020C65712D746167" + "04" + "74", 1 },
    };

    public static TheoryData<long, long, long> ImpossibleTimes => new()
    {
        { long.MinValue, 0, 0 },
        { long.MaxValue, 0, 0 },
        { RecordTime.EarliestMs - 1, 0, RecordTime.EarliestMs },
        { RecordTime.LatestMs + 1, 0, RecordTime.LatestMs },
        { 0, 0, long.MaxValue },
        { 0, 0, long.MinValue },
        { 0, long.MaxValue, 0 },
        { 0, long.MinValue, 0 },
        { 0, RecordTime.EarliestMs - 1, 0 },
        { 0, RecordTime.LatestMs + 1, 0 },
        { RecordTime.EarliestMs, -1, 0 },
        { RecordTime.LatestMs, 1, 0 },
        { RecordTime.EarliestMs + 63, -64, 0 },
        { RecordTime.LatestMs - 62, 63, 0 },
    };

    [Theory]
    [MemberData(nameof(BrokenRecords))]
    public void GivenBrokenRecordsUnderARightCrc_WhenChecked_ThenTheBatchIsInvalid(
        string what, string hex, int recordsCount)
    {
        byte[] batch = Around(Convert.FromHexString(hex), recordsCount, recordsCount - 1);
        Assert.True(CheckRecords(batch) == ErrorCode.InvalidBatch, what);
        using var target = new MemoryStream();
        using (var gzip = new GZipStream(target, CompressionLevel.Fastest))
            gzip.Write(Convert.FromHexString(hex));
        batch = Around(target.ToArray(), recordsCount, recordsCount - 1, (short)RecordCodec.Gzip);
        Assert.True(CheckRecords(batch) == ErrorCode.InvalidBatch, what + ", compressed");
    }

    [Theory]
    [MemberData(nameof(ImpossibleTimes))]
    public void GivenATimeThatNoCalendarHas_WhenChecked_ThenTheBatchIsInvalid(long first, long delta, long newest)
    {
        byte[] record = new byte[32];
        int size = VarInt.Write(record, 1, delta);
        size = VarInt.Write(record, size, 0);
        record[size] = 1;
        record[size + 1] = 1;
        size += 3;
        record[0] = (byte)(size << 1);
        byte[] batch = Around([(byte)(size << 1), 0, .. record[1..size]], 1, 0);
        BinaryPrimitives.WriteInt64BigEndian(batch.AsSpan(RecordBatchLayout.BaseTimestamp), first);
        BinaryPrimitives.WriteInt64BigEndian(batch.AsSpan(RecordBatchLayout.MaxTimestamp), newest);
        FixCrc(batch);
        Assert.Single(Read(batch)); // a reader reads it

        Assert.Equal(ErrorCode.InvalidBatch, CheckRecords(batch));
    }

    [Theory]
    [InlineData(RecordTime.EarliestMs)]
    [InlineData(RecordTime.LatestMs)]
    [InlineData(-1)]
    [InlineData(0)]
    public void GivenTheFirstAndTheLastTime_WhenChecked_ThenTheBatchIsGood(long time)
    {
        byte[] batch = Around([0x0C, 0, 0, 0, 1, 1, 0], 1, 0);
        BinaryPrimitives.WriteInt64BigEndian(batch.AsSpan(RecordBatchLayout.BaseTimestamp), time);
        FixCrc(batch);

        Assert.Equal(ErrorCode.None, CheckRecords(batch));
        Assert.Equal(time, RecordTime.ToInstant(time).ToUnixTimeMilliseconds());
    }

    [Theory]
    [InlineData(long.MinValue, RecordTime.EarliestMs)]
    [InlineData(long.MaxValue, RecordTime.LatestMs)]
    public void GivenATimeBeyondTheCalendar_WhenShown_ThenItIsTheNearestThatThereIs(long time, long shown) =>
        Assert.Equal(shown, RecordTime.ToInstant(time).ToUnixTimeMilliseconds());

    [Fact]
    public void GivenBatchesOfEveryShape_WhenChecked_ThenTheyAreGoodAndTheLargestBodyIsTold()
    {
        var random = new Random(11);
        for (int run = 0; run < 400; run++)
        {
            SampleRecord[] records = [.. Enumerable.Range(0, random.Next(1, 200)).Select(_ => Any(random))];
            byte[] batch = Build(records);
            Assert.Equal(ErrorCode.None, CheckRecords(batch, TagBits.Untagged, out uint tags, out int largest));
            Assert.Equal(records.Max(record => record.Body?.Length ?? 0), largest);
            Assert.Equal(TagsOf(records), tags);
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(63)]
    [InlineData(64)]
    [InlineData(65)]
    [InlineData(8_191)]
    [InlineData(8_192)]
    [InlineData(8_193)]
    [InlineData(9_000)]
    public void GivenRecordsAlike_WhenChecked_ThenTheyAreGoodAndOneWrongByteBetweenThemIsFound(int count)
    {
        foreach (int size in new[] { 0, 1, 50, 63, 64, 128 })
        {
            byte[] batch = Build([.. Enumerable.Range(0, count).Select(i =>
                new SampleRecord(BaseTimestampMs + (i % 60), null, new byte[size]))]);
            Assert.Equal(ErrorCode.None, CheckRecords(batch, TagBits.Untagged, out uint tags, out int largest));
            Assert.Equal((TagBits.Untagged, size), (tags, largest));

            // In the last record: its offset delta, its key's length, its body's length, its headers.
            int lastSize = (int)RecordBatchBuilder.SizeOf(new RecordContent { Body = new byte[size] }, count - 1, 0);
            int start = batch.Length - lastSize;
            int delta = start + (lastSize > 64 ? 4 : 3);
            int key = delta + (count - 1 < 64 ? 1 : count - 1 < 8_192 ? 2 : 3);
            foreach (int place in new[] { start, delta, key, key + 1, batch.Length - 1 })
            {
                byte[] broken = [.. batch];
                broken[place] ^= 2;
                FixCrc(broken);
                Assert.True(
                    CheckRecords(broken) == ErrorCode.InvalidBatch, $"{count} of {size} bytes, byte {place - start}");
            }
        }
    }

    [Fact]
    public void GivenMutatedBatches_WhenTheyPass_ThenAReaderReadsWhatTheHeaderSays()
    {
        int passed = 0;
        for (int seed = 0; seed < 20_000; seed++)
        {
            var random = new Random(seed);
            SampleRecord[] records = [.. Enumerable.Range(0, random.Next(1, 12)).Select(_ => Any(random))];
            byte[] batch = Build(records);
            for (int flips = random.Next(1, 3); flips > 0; flips--)
                batch[random.Next(RecordBatchLayout.HeaderSize, batch.Length)] ^= (byte)(1 << random.Next(8));
            FixCrc(batch);
            ErrorCode error = CheckRecords(batch, TagBits.Untagged, out uint tags, out int largest);
            ErrorCode read = TryRead(batch, out List<SampleRecord> found);
            if (error != ErrorCode.None)
            {
                Assert.Equal(ErrorCode.InvalidBatch, error);
                continue;
            }

            passed++;
            Assert.True(read == ErrorCode.None, $"seed {seed}");
            Assert.Equal(records.Length, found.Count);
            Assert.All(found, record => Assert.True(RecordTime.IsValid(record.TimestampMs)));
            Assert.Equal(found.Max(record => record.Body?.Length ?? 0), largest);
            var reader = new RecordReader(batch);
            uint expected = 0;
            for (int offset = 0; reader.TryRead(out RecordView record); offset++)
            {
                Assert.Equal(offset, record.OffsetDelta);
                expected |= record.HasTag ? TagBits.Of(record.Tag) : TagBits.Untagged;
            }

            Assert.Equal(expected, tags);
        }

        Assert.InRange(passed, 1_000, 19_000);
    }

    [Fact]
    public void GivenTagsThatTheSenderDoesNotSayRight_WhenChecked_ThenTheRecordsDecide()
    {
        byte[] batch = Build(
            new SampleRecord(BaseTimestampMs, null, [1]) { Tag = "paid" },
            new SampleRecord(BaseTimestampMs, null, [2]) { Tag = "paid" },
            new SampleRecord(BaseTimestampMs, null, [3]) { Tag = "shipped" });
        uint right = TagBits.Of("paid"u8) | TagBits.Of("shipped"u8);
        foreach ((uint said, uint expected) in new[]
        {
            (right, right),
            (TagBits.Of("paid"u8), right),
            (TagBits.Untagged, right),
            (right | 2, right),
            (1u, right),
            (0u, TagBits.Unknown),
            (TagBits.Unknown, TagBits.Unknown),
        })
        {
            Assert.Equal(ErrorCode.None, CheckRecords(batch, said, out uint tags, out _));
            Assert.Equal(expected, tags);
        }
    }

    [Fact]
    public void GivenCompressedBatchesThatAreNotAllowed_WhenChecked_ThenTheCodecIsUnsupported()
    {
        byte[] batch = Build([.. Enumerable.Range(0, 50).Select(_ => new SampleRecord(BaseTimestampMs, null, [1]))]);
        using var compressor = new RecordCompressor(RecordCodec.Lz4);
        batch = batch[..compressor.Compress(batch)];
        Assert.True(RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _));
        uint tags = 0;

        Assert.Equal(ErrorCode.UnsupportedCodec, RecordBatch.CheckRecords(batch, header, 0, ref tags, out _));
        Assert.Equal(ErrorCode.MessageTooLarge, RecordBatch.CheckRecords(batch, header, 1, ref tags, out _));
        Assert.Equal(ErrorCode.None, RecordBatch.CheckRecords(batch, header, 1_000, ref tags, out _));
    }

    [Fact]
    public void GivenUncompressedBatches_WhenChecked_ThenNothingIsAllocated()
    {
        byte[] batch = Build([.. Enumerable.Range(0, 500).Select(i =>
            new SampleRecord(BaseTimestampMs, [1], new byte[i]) { Tag = "t" + (i % 3) })]);
        CheckRecords(batch, TagBits.Untagged, out _, out _);
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 20; i++)
            CheckRecords(batch, TagBits.Untagged, out _, out _);
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
    }

    private static ErrorCode CheckRecords(byte[] batch) => CheckRecords(batch, TagBits.Untagged, out _, out _);

    private static ErrorCode CheckRecords(byte[] batch, uint said, out uint tags, out int largest)
    {
        tags = said;
        largest = 0;
        ErrorCode error = RecordBatch.Check(batch, out RecordBatchHeader header);
        return error == ErrorCode.None
            ? RecordBatch.CheckRecords(batch, header, MaxPlainBytes, ref tags, out largest)
            : error;
    }

    private static uint TagsOf(IEnumerable<SampleRecord> records) => records.Aggregate(
        0u,
        (bits, record) => bits | record.Content.TagBits);

    private static SampleRecord Any(Random random)
    {
        byte[]? key = random.Next(3) == 0 ? new byte[random.Next(70)] : null;
        int size = random.Next(4) == 0 ? random.Next(9_000) : random.Next(80);
        byte[]? body = random.Next(9) == 0 ? null : new byte[size];
        var record = new SampleRecord(BaseTimestampMs + random.Next(-90, 90), key, body);
        return random.Next(4) switch
        {
            0 => record with { Tag = "tag" + random.Next(5) },
            1 => record with { Tag = "t", Properties = [("a", [1, 2]), ("b", null)] },
            2 => record with { Properties = [("a", null)] },
            _ => record,
        };
    }
}
