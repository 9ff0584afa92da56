using static EQueue.Protocol.Tests.Records.Batches;

namespace EQueue.Protocol.Tests.Records;

public class RecordReaderTests
{
    private static readonly byte[] Plain = [0x0E, 0, 0, 0, 1, 2, (byte)'a', 0];

    /// <summary>Record bytes, records count, last offset delta.</summary>
    public static TheoryData<string, byte[], int, int> Malformed => new()
    {
        { "no bytes at all", [], 1, 0 },
        { "a record missing", Plain, 2, 1 },
        { "bytes behind the last record", [.. Plain, 0], 1, 0 },
        { "records counted as none", Plain, 0, 0 },
        { "length beyond the batch", [0x10, .. Plain[1..]], 1, 0 },
        { "length below the least", [0x0A, 0, 0, 0, 1, 1], 1, 0 },
        { "length negative", [0x01, 0, 0, 0, 1, 1, 0], 1, 0 },
        { "length unending", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 1, 0 },
        { "length of 2 GB", [0xFE, 0xFF, 0xFF, 0xFF, 0x0F, 0, 0, 0, 1, 1, 0], 1, 0 },
        { "offset delta beyond the last", [0x0E, 0, 0, 2, 1, 2, 97, 0], 1, 0 },
        { "offset delta negative", [0x0E, 0, 0, 1, 1, 2, 97, 0], 1, 0 },
        { "offset delta repeated", [.. Plain, .. Plain], 2, 1 },
        { "offset delta falling", [0x0E, 0, 0, 2, 1, 2, 97, 0, .. Plain], 2, 2 },
        { "key length below -1", [0x0E, 0, 0, 0, 3, 2, 97, 0], 1, 0 },
        { "key longer than the record", [0x0E, 0, 0, 0, 0x20, 2, 97, 0], 1, 0 },
        { "body length below -1", [0x0E, 0, 0, 0, 1, 5, 97, 0], 1, 0 },
        { "body longer than the record", [0x0E, 0, 0, 0, 1, 4, 97, 0], 1, 0 },
        { "body shorter than the record", [0x10, 0, 0, 0, 1, 2, 97, 0, 0], 1, 0 },
        { "body of 2 GB", [0x16, 0, 0, 0, 1, 0xFE, 0xFF, 0xFF, 0xFF, 0x0F, 97, 0], 1, 0 },
        { "headers count negative", [0x0E, 0, 0, 0, 1, 2, 97, 1], 1, 0 },
        { "headers counted but absent", [0x0E, 0, 0, 0, 1, 2, 97, 2], 1, 0 },
        { "headers count of 2 billion", [0x16, 0, 0, 0, 1, 2, 97, 0xFE, 0xFF, 0xFF, 0xFF, 0x0F], 1, 0 },
        { "header name null", [0x12, 0, 0, 0, 1, 2, 97, 2, 1, 1], 1, 0 },
        { "header value beyond the record", [0x14, 0, 0, 0, 1, 2, 97, 2, 2, 98, 2], 1, 0 },
        { "header name not ended by the record's end", [0x12, 0, 0, 0, 1, 2, 97, 2, 8, 98, .. Plain], 2, 1 },
    };

    [Theory]
    [MemberData(nameof(Malformed))]
    public void GivenMalformedRecords_WhenRead_ThenTheBatchIsInvalidAndNothingThrows(
        string reason, byte[] records, int recordsCount, int lastOffsetDelta)
    {
        byte[] batch = Around(records, recordsCount, lastOffsetDelta);
        Assert.True(TryRead(batch, out _) == ErrorCode.InvalidBatch, reason);

        // The same with bytes behind the batch: its end counts, not the buffer's.
        Assert.True(TryRead([.. batch, .. new byte[64]], out _) == ErrorCode.InvalidBatch, reason);
    }

    [Fact]
    public void GivenAnError_WhenReadOn_ThenItStaysAnError()
    {
        byte[] batch = Around([.. Plain, 0xFF], 2, 1);
        var reader = new RecordReader(batch);
        Assert.True(reader.TryRead(out _));
        for (int i = 0; i < 3; i++)
        {
            Assert.False(reader.TryRead(out _));
            Assert.Equal(ErrorCode.InvalidBatch, reader.Error);
        }
    }

    [Fact]
    public void GivenTooFewBytesForAHeader_WhenRead_ThenTheBatchIsInvalid() =>
        Assert.Equal(ErrorCode.InvalidBatch, TryRead(new byte[60], out _));

    [Fact]
    public void GivenGapsLeftByCompaction_WhenRead_ThenOffsetsAreThoseOfTheRecords()
    {
        byte[] batch = Around([0x0E, 0, 0, 4, 1, 2, 97, 0, 0x0E, 0, 0, 0x0E, 1, 2, 98, 0], 2, 9);
        RecordBatch.Stamp(batch, new QueueOffset(100), 1);
        var reader = new RecordReader(batch);

        Assert.True(reader.TryRead(out RecordView record));
        Assert.Equal(new QueueOffset(102), record.Offset);
        Assert.True(reader.TryRead(out record));
        Assert.Equal(new QueueOffset(107), record.Offset);
        Assert.False(reader.TryRead(out _));
        Assert.Equal(ErrorCode.None, reader.Error);
        Assert.True(RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _));
        Assert.Equal(new QueueOffset(110), header.NextOffset);
    }

    [Fact]
    public void GivenABatchEmptiedByCompaction_WhenRead_ThenItEndsWithoutAnError() =>
        Assert.Equal(ErrorCode.None, TryRead(Around([], 0, 9), out _));

    [Fact]
    public void GivenNumbersWrittenLongerThanNeeded_WhenRead_ThenTheyAreUnderstood()
    {
        SampleRecord record = Assert.Single(Read(Around([0x90, 0x80, 0, 0, 0x80, 0, 0, 1, 2, 97, 0x00], 1, 0)));
        Assert.Equal(new SampleRecord(BaseTimestampMs, null, [97]).ToString(), record.ToString());
    }

    [Fact]
    public void GivenAttributesInARecord_WhenRead_ThenTheyAreIgnored() =>
        Assert.Single(Read(Around([0x0E, 0xFF, 0, 0, 1, 2, 97, 0], 1, 0)));

    [Fact]
    public void GivenATagTwice_WhenRead_ThenTheFirstCountsAndNeitherIsAProperty()
    {
        byte[] tag = [0x0C, .. RecordContent.TagHeaderNameUtf8];
        byte[] bytes = [0x38, 0, 0, 0, 1, 2, 97, 6, .. tag, 2, 49, .. tag, 2, 50, 2, 98, 1];
        SampleRecord record = Assert.Single(Read(Around(bytes, 1, 0)));
        Assert.Equal("1", record.Tag);
        Assert.Equal(("b", null), Assert.Single(record.Properties));
    }

    [Fact]
    public void GivenStoredTimestamps_WhenRead_ThenEveryRecordHasTheBatchsTime()
    {
        byte[] batch = Build(
            new SampleRecord(BaseTimestampMs, null, [1]),
            new SampleRecord(BaseTimestampMs + 7, null, [2]));
        batch[RecordBatchLayout.Attributes + 1] |= 0x08;
        Assert.All(Read(batch), r => Assert.Equal(BaseTimestampMs + 7, r.TimestampMs));
    }

    [Fact]
    public void GivenRangesKept_WhenUsedLaterOverTheSameBytes_ThenTheyGiveTheRecords()
    {
        List<SampleRecord> records = [.. Enumerable.Range(0, 200).Select(i =>
            new SampleRecord(BaseTimestampMs + i, i % 3 == 0 ? [(byte)i] : null, new byte[i * 3])
            {
                Tag = i % 5 == 0 ? "t" : null,
            })];
        ReadOnlyMemory<byte> batch = Build(records);
        List<RecordRange> ranges = [];
        var cursor = new RecordCursor(batch.Span);
        while (cursor.TryRead(batch.Span, out RecordRange range))
            ranges.Add(range);

        Assert.Equal(ErrorCode.None, cursor.Error);
        AssertSame(records, ranges.Select(r => SampleRecord.Of(r.In(batch.Span))));
        Assert.Equal(Enumerable.Range(0, 200), ranges.Select(r => r.OffsetDelta));
        Assert.True(batch.Span.Slice(ranges[9].BodyStart, ranges[9].BodyLength).SequenceEqual(records[9].Body));
    }
}
