using static EQueue.Protocol.Tests.Records.Batches;

namespace EQueue.Protocol.Tests.Records;

public class RecordBatchBuilderTests
{
    [Fact]
    public void GivenBodiesOfEverySmallSize_WhenAppended_ThenShortAndGeneralFormGiveTheSameBytes()
    {
        foreach (long delta in (long[])[0, 1, -64, 63, 64, -65, 100_000, long.MinValue / 4])
        {
            foreach (int size in (int[])[.. Enumerable.Range(0, 140), 8_170, 8_176, 8_177, 8_185, 8_192, 20_000])
                AssertSameForms(new byte[size], BaseTimestampMs + delta, recordsBefore: size % 3 == 0 ? 0 : 70);
        }
    }

    [Theory]
    [InlineData(63)]
    [InlineData(64)]
    [InlineData(8_190)]
    [InlineData(8_191)]
    [InlineData(8_192)]
    [InlineData(8_193)]
    public void GivenOffsetDeltasAtABoundary_WhenAppended_ThenShortAndGeneralFormGiveTheSameBytes(int recordsBefore)
    {
        AssertSameForms(new byte[10], BaseTimestampMs, recordsBefore);
        AssertSameForms(new byte[58], BaseTimestampMs, recordsBefore);
        AssertSameForms(new byte[128], BaseTimestampMs, recordsBefore);
    }

    [Fact]
    public void GivenKeysBodiesAndTagsAtTheBoundaries_WhenAppended_ThenShortAndGeneralFormGiveTheSameBytes()
    {
        foreach (int keySize in (int[])[-1, 0, 1, 62, 63, 64, 65])
        {
            foreach (int tagSize in (int[])[-1, 0, 1, 62, 63, 64, 65])
            {
                foreach (int bodySize in (int[])[-1, 0, 1, 30, 50, 56, 60, 63, 64, 65, 7_999, 8_000, 8_001, 8_192])
                    AssertSameForms(keySize, tagSize, bodySize);
            }
        }
    }

    [Fact]
    public void GivenEveryBufferSize_WhenAKeyedRecordIsAppended_ThenItIsTakenExactlyIfItFits()
    {
        var record = new RecordContent { Key = "customer"u8, Tag = "paid"u8, Body = new byte[70] };
        long recordSize = RecordBatchBuilder.SizeOf(record, 0, 0);
        for (int room = 0; room <= recordSize + 40; room++)
        {
            var builder = new RecordBatchBuilder();
            builder.Reset(new byte[RecordBatchLayout.HeaderSize + room], BaseTimestampMs);
            Assert.Equal(room >= recordSize, builder.TryAppend(record, BaseTimestampMs));
        }
    }

    [Fact]
    public void GivenEveryBufferSize_WhenRecordsAreAppended_ThenExactlyThoseThatFitAreTaken()
    {
        byte[] body = new byte[64];
        long recordSize = RecordBatchBuilder.SizeOf(new RecordContent { Body = body }, 0, 0);
        for (int room = 0; room <= 3 * recordSize; room++)
        {
            byte[] buffer = new byte[RecordBatchLayout.HeaderSize + room];
            var builder = new RecordBatchBuilder();
            builder.Reset(buffer, BaseTimestampMs);
            int taken = 0;
            while (builder.TryAppend(body, BaseTimestampMs))
                taken++;

            Assert.Equal(room / recordSize, taken);
            Assert.Equal(RecordBatchLayout.HeaderSize + (taken * recordSize), builder.Size);
            Assert.Equal(taken, builder.RecordCount);
        }
    }

    [Fact]
    public void GivenNoRoom_WhenAnAppendIsRefused_ThenTheBatchIsAsBefore()
    {
        var builder = new RecordBatchBuilder();
        byte[] buffer = new byte[100];
        builder.Reset(buffer, BaseTimestampMs);
        Assert.True(builder.TryAppend([1, 2, 3], BaseTimestampMs));
        int size = builder.Size;

        Assert.False(builder.TryAppend(new byte[90], BaseTimestampMs + 9));
        Assert.False(builder.TryAppend(new RecordContent { Key = new byte[90], Tag = "t"u8 }, BaseTimestampMs + 9));

        Assert.Equal((size, 1, TagBits.Untagged), (builder.Size, builder.RecordCount, builder.TagBits));
        int total = builder.Complete(ProducerSession.None, -1);
        Assert.Equal(Build(new SampleRecord(BaseTimestampMs, null, [1, 2, 3])), buffer[..total]);
    }

    [Fact]
    public void GivenASliceOfALargerArray_WhenABatchIsBuilt_ThenNothingOutsideTheSliceIsTouched()
    {
        byte[] array = [.. Enumerable.Repeat((byte)0xEE, 400)];
        var builder = new RecordBatchBuilder();
        builder.Reset(array.AsMemory(50, 250), BaseTimestampMs);
        while (builder.TryAppend([7, 7, 7], BaseTimestampMs))
        {
        }

        int total = builder.Complete(ProducerSession.None, -1);

        Assert.InRange(total, 241, 250);
        Assert.Equal(ErrorCode.None, RecordBatch.Check(array.AsSpan(50, total), out _));
        Assert.All(array[..50], b => Assert.Equal(0xEE, b));
        Assert.All(array[300..], b => Assert.Equal(0xEE, b));
    }

    [Fact]
    public void GivenAUsedBuilder_WhenResetOverDirtyMemory_ThenTheNextBatchIsLikeANewOne()
    {
        byte[] buffer = new byte[1_000];
        var builder = new RecordBatchBuilder();
        builder.Reset(buffer, BaseTimestampMs);
        for (int i = 0; i < 80; i++)
            builder.TryAppend([0xFF, 0xFF], BaseTimestampMs + 50);
        builder.Complete(new ProducerSession(5, 5), 5);

        builder.Reset(buffer, BaseTimestampMs);
        SampleRecord[] records = [new(BaseTimestampMs, null, [1]), new(BaseTimestampMs + 2, null, [2])];
        Assert.All(records, r => Assert.True(r.TryAppendTo(builder)));

        Assert.Equal(Build(records), buffer[..builder.Complete(ProducerSession.None, -1)]);
    }

    [Fact]
    public void GivenTimesBeforeTheBase_WhenCompleted_ThenTheMaxTimestampIsTheLargestOfTheRecords()
    {
        byte[] batch = Build(
            new SampleRecord(BaseTimestampMs - 9, null, []),
            new SampleRecord(BaseTimestampMs - 3, null, []));
        Assert.True(RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _));
        Assert.Equal(BaseTimestampMs - 3, header.MaxTimestamp);
    }

    [Fact]
    public void GivenNoRecord_WhenCompleted_ThenItThrows()
    {
        var builder = new RecordBatchBuilder();
        Assert.Throws<InvalidOperationException>(() => builder.Complete(ProducerSession.None, -1));
        builder.Reset(new byte[100], BaseTimestampMs);
        Assert.Throws<InvalidOperationException>(() => builder.Complete(ProducerSession.None, -1));
    }

    [Fact]
    public void GivenNoBufferYet_WhenARecordIsAppended_ThenThereIsNoRoom()
    {
        var builder = new RecordBatchBuilder();
        Assert.False(builder.TryAppend([1], 0));
        Assert.False(builder.TryAppend(default(RecordContent), 0));
    }

    [Fact]
    public void GivenABufferWithoutRoomForAHeader_WhenReset_ThenItThrows() =>
        Assert.Throws<ArgumentException>(() => new RecordBatchBuilder().Reset(new byte[60], 0));

    [Fact]
    public void GivenMemoryThatIsNoArray_WhenReset_ThenItThrows()
    {
        using var native = new NativeBytes(new byte[100]);
        Assert.Throws<ArgumentException>(() => new RecordBatchBuilder().Reset(native.Memory, 0));
    }

    [Fact]
    public void GivenTenThousandRecords_WhenAppended_ThenNothingIsAllocatedPerRecord()
    {
        byte[] buffer = new byte[1 << 20];
        byte[] body = new byte[60];
        var builder = new RecordBatchBuilder();
        builder.Reset(buffer, BaseTimestampMs);
        builder.TryAppend(body, BaseTimestampMs);
        builder.TryAppend(new RecordContent { Key = body, Tag = "t"u8, Body = body }, BaseTimestampMs);
        builder.Complete(ProducerSession.None, -1);

        long before = GC.GetAllocatedBytesForCurrentThread();
        builder.Reset(buffer, BaseTimestampMs);
        for (int i = 0; i < 5_000; i++)
        {
            builder.TryAppend(body, BaseTimestampMs);
            builder.TryAppend(new RecordContent { Key = body, Tag = "t"u8, Body = body }, BaseTimestampMs);
        }

        builder.Complete(ProducerSession.None, -1);

        // A collection started by another test may count the unused rest of this thread's 8 KB; a record's share is
        // below any object.
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 20_000);
        Assert.Equal(10_000, builder.RecordCount);
    }

    [Fact]
    public void GivenTheMostOverhead_WhenMeasured_ThenItIsWithinTheLimit()
    {
        var record = new RecordContent { Key = new byte[1 << 21], Body = new byte[1 << 21] };
        long overhead = RecordBatchBuilder.SizeOf(record, int.MaxValue, long.MinValue) - (2 << 21);
        Assert.InRange(overhead, 20, RecordBatchLayout.MaxRecordOverhead);
        Assert.Equal(
            RecordBatchLayout.MinRecordSize,
            RecordBatchBuilder.SizeOf(default, 0, 0));
    }

    private static void AssertSameForms(int keySize, int tagSize, int bodySize)
    {
        byte[]? key = keySize < 0 ? null : Fill(keySize);
        byte[]? tag = tagSize < 0 ? null : Fill(tagSize);
        byte[]? body = bodySize < 0 ? null : Fill(bodySize);
        var record = new RecordContent { Key = key, Tag = tag, Body = body };
        byte[] first = new byte[9_000];
        byte[] second = new byte[9_000];
        var builder = new RecordBatchBuilder();
        builder.Reset(first, BaseTimestampMs);
        while (builder.RecordCount < 66 && builder.TryAppend(record, BaseTimestampMs + 5))
        {
        }

        (int count, uint tagBits) = (builder.RecordCount, builder.TagBits);
        builder.Complete(ProducerSession.None, -1);
        builder.Reset(second, BaseTimestampMs);
        while (builder.RecordCount < 66 && builder.TryAppendAny(record, BaseTimestampMs + 5))
        {
        }

        Assert.Equal((count, tagBits), (builder.RecordCount, builder.TagBits));
        int total = builder.Complete(ProducerSession.None, -1);
        Assert.True(second.AsSpan(0, total).SequenceEqual(first.AsSpan(0, total)), $"{keySize} {tagSize} {bodySize}");

        var reader = new RecordReader(first.AsSpan(0, total));
        while (reader.TryRead(out RecordView view))
        {
            count--;
            Assert.Equal((keySize >= 0, tagSize >= 0, bodySize >= 0), (view.HasKey, view.HasTag, view.HasBody));
            Assert.True(view.Key.SequenceEqual(key) && view.Tag.SequenceEqual(tag) && view.Body.SequenceEqual(body));
            Assert.False(view.Properties.MoveNext());
        }

        Assert.Equal((0, ErrorCode.None), (count, reader.Error));
    }

    private static byte[] Fill(int size)
    {
        byte[] bytes = new byte[size];
        new Random(size).NextBytes(bytes);
        return bytes;
    }

    private static void AssertSameForms(byte[] body, long timestampMs, int recordsBefore)
    {
        byte[] first = BuildForm(body, timestampMs, recordsBefore, (b, t, builder) => builder.TryAppend(b, t));
        byte[] second = BuildForm(
            body, timestampMs, recordsBefore, (b, t, builder) => builder.TryAppend(new RecordContent { Body = b }, t));
        byte[] general = BuildForm(
            body,
            timestampMs,
            recordsBefore,
            (b, t, builder) => builder.TryAppendAny(new RecordContent { Body = b }, t));
        Assert.Equal(general, first);
        Assert.Equal(general, second);

        List<SampleRecord> records = Read(first);
        Assert.Equal(recordsBefore + 1, records.Count);
        Assert.Equal(new SampleRecord(timestampMs, null, body).ToString(), records[^1].ToString());
    }

    private static byte[] BuildForm(
        byte[] body, long timestampMs, int recordsBefore, Func<byte[], long, RecordBatchBuilder, bool> append)
    {
        byte[] buffer = new byte[100 + (recordsBefore * 10) + body.Length + RecordBatchLayout.MaxRecordOverhead];
        var builder = new RecordBatchBuilder();
        builder.Reset(buffer, BaseTimestampMs);
        for (int i = 0; i < recordsBefore; i++)
            Assert.True(builder.TryAppend(default, BaseTimestampMs));
        Assert.True(append(body, timestampMs, builder));
        return buffer[..builder.Complete(ProducerSession.None, -1)];
    }
}
