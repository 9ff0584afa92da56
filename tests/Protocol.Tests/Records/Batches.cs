using System.Buffers.Binary;

namespace EQueue.Protocol.Tests.Records;

/// <summary>Batches for tests: built by the builder, or around record bytes that no builder would write.</summary>
internal static class Batches
{
    public const long BaseTimestampMs = 1_700_000_000_000;

    public static byte[] Build(params IReadOnlyList<SampleRecord> records) => Build(ProducerSession.None, -1, records);

    public static byte[] Build(ProducerSession producer, int baseSequence, IReadOnlyList<SampleRecord> records)
    {
        long size = RecordBatchLayout.HeaderSize;
        for (int i = 0; i < records.Count; i++)
            size += RecordBatchBuilder.SizeOf(records[i].Content, i, records[i].TimestampMs - BaseTimestampMs);

        byte[] buffer = new byte[size];
        var builder = new RecordBatchBuilder();
        builder.Reset(buffer, BaseTimestampMs);
        foreach (SampleRecord record in records)
            Assert.True(record.TryAppendTo(builder), "The size counted holds every record.");
        Assert.Equal(size, builder.Complete(producer, baseSequence));
        return buffer;
    }

    /// <summary>A batch with a fitting length and CRC around any bytes.</summary>
    public static byte[] Around(byte[] records, int recordsCount, int lastOffsetDelta, short attributes = 0)
    {
        byte[] header = Build(new SampleRecord(BaseTimestampMs, null, null))[..RecordBatchLayout.HeaderSize];
        byte[] batch = [.. header, .. records];
        Span<byte> bytes = batch;
        BinaryPrimitives.WriteInt32BigEndian(bytes[RecordBatchLayout.Length..], batch.Length - 12);
        BinaryPrimitives.WriteInt16BigEndian(bytes[RecordBatchLayout.Attributes..], attributes);
        BinaryPrimitives.WriteInt32BigEndian(bytes[RecordBatchLayout.LastOffsetDelta..], lastOffsetDelta);
        BinaryPrimitives.WriteInt32BigEndian(bytes[RecordBatchLayout.RecordsCount..], recordsCount);
        FixCrc(batch);
        return batch;
    }

    public static void FixCrc(Span<byte> batch) =>
        BinaryPrimitives.WriteUInt32BigEndian(
            batch[RecordBatchLayout.Crc..],
            Crc32C.Compute(batch[RecordBatchLayout.Attributes..]));

    public static List<SampleRecord> Read(ReadOnlySpan<byte> batch)
    {
        ErrorCode error = TryRead(batch, out List<SampleRecord> records);
        Assert.Equal(ErrorCode.None, error);
        return records;
    }

    public static ErrorCode TryRead(ReadOnlySpan<byte> batch, out List<SampleRecord> records)
    {
        records = [];
        var reader = new RecordReader(batch);
        while (reader.TryRead(out RecordView record))
            records.Add(SampleRecord.Of(record));
        return reader.Error;
    }

    public static byte[] Golden(string name) =>
        File.ReadAllBytes(Path.Combine(AppContext.BaseDirectory, "Golden", name + ".bin"));

    public static void AssertSame(IEnumerable<SampleRecord> expected, IEnumerable<SampleRecord> found) =>
        Assert.Equal(expected.Select(r => r.ToString()), found.Select(r => r.ToString()));
}
