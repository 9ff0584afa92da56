using System.Buffers.Binary;
using System.IO.Compression;
using System.Text;
using EQueue.Protocol;

namespace EQueue.Support.Stores;

/// <summary>Batches that are wrong inside, under a right header and a right CRC: what a broker that looks at those
/// alone stores.</summary>
public static class BrokenBatches
{
    /// <summary>Every way, by name; none has a record that can be read.</summary>
    public static IReadOnlyDictionary<string, byte[]> Unreadable { get; } = new SortedDictionary<string, byte[]>
    {
        ["random bytes"] = Around("8F3A11C05D7E22B9FE", 1),
        ["a varint without an end"] = Around("FFFFFFFFFFFFFFFFFFFF", 1),
        ["2^31-1 headers"] = Around("14000000" + "0101" + "FEFFFFFF0F", 1),
        ["one record fewer"] = Around("0C000000010100", 2),
        ["no gzip"] = Around("8F3A11C05D7E22B9FE", 2, RecordCodec.Gzip),
        ["no Snappy"] = Around("8F3A11C05D7E22B9FE", 2, RecordCodec.Snappy),
        ["no LZ4"] = Around("8F3A11C05D7E22B9FE", 2, RecordCodec.Lz4),
        ["no Zstandard"] = Around("8F3A11C05D7E22B9FE", 2, RecordCodec.Zstd),
        ["codec 5"] = Around("8F3A11C05D7E22B9FE", 2, (RecordCodec)5),
        ["codec 6"] = Around("8F3A11C05D7E22B9FE", 2, (RecordCodec)6),
        ["codec 7"] = Around("8F3A11C05D7E22B9FE", 2, (RecordCodec)7),
        ["a gzip batch that claims 2^31-1 records"] = Claiming(int.MaxValue),
    };

    /// <summary>Two good records, then bytes that are none: four records by its header.</summary>
    public static byte[] HalfGood()
    {
        byte[] batch = Good("half-0", "half-1");
        return Finish([.. batch, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 4);
    }

    /// <summary>A good batch.</summary>
    public static byte[] Good(params string[] bodies)
    {
        var builder = new RecordBatchBuilder();
        byte[] buffer = new byte[RecordBatchLayout.HeaderSize + bodies.Sum(body => body.Length + 64)];
        builder.Reset(buffer, 1_700_000_000_000);
        foreach (string body in bodies)
            builder.TryAppend(Encoding.UTF8.GetBytes(body), 1_700_000_000_000);
        return buffer[..builder.Complete(ProducerSession.None, -1)];
    }

    /// <summary>A batch whose records are made at a time that may be none.</summary>
    public static byte[] At(long unixMs, params string[] bodies)
    {
        byte[] batch = Good(bodies);
        BinaryPrimitives.WriteInt64BigEndian(batch.AsSpan(RecordBatchLayout.BaseTimestamp), unixMs);
        BinaryPrimitives.WriteInt64BigEndian(batch.AsSpan(RecordBatchLayout.MaxTimestamp), unixMs);
        FixCrc(batch);
        return batch;
    }

    /// <summary>Length, counts and CRC that fit bytes behind a header.</summary>
    public static byte[] Finish(byte[] batch, int recordsCount)
    {
        BinaryPrimitives.WriteInt32BigEndian(
            batch.AsSpan(RecordBatchLayout.Length), batch.Length - RecordBatchLayout.LengthPrefix);
        BinaryPrimitives.WriteInt32BigEndian(batch.AsSpan(RecordBatchLayout.LastOffsetDelta), recordsCount - 1);
        BinaryPrimitives.WriteInt32BigEndian(batch.AsSpan(RecordBatchLayout.RecordsCount), recordsCount);
        FixCrc(batch);
        return batch;
    }

    public static void FixCrc(Span<byte> batch) => BinaryPrimitives.WriteUInt32BigEndian(
        batch[RecordBatchLayout.Crc..], Crc32C.Compute(batch[RecordBatchLayout.Attributes..]));

    private static byte[] Around(string hex, int recordsCount, RecordCodec codec = RecordCodec.None)
    {
        byte[] batch = [.. Good("x")[..RecordBatchLayout.HeaderSize], .. Convert.FromHexString(hex)];
        batch[RecordBatchLayout.Attributes + 1] = (byte)codec;
        return Finish(batch, recordsCount);
    }

    private static byte[] Claiming(int recordsCount)
    {
        byte[] batch = Good("x");
        using var target = new MemoryStream();
        target.Write(batch.AsSpan(0, RecordBatchLayout.HeaderSize));
        using (var gzip = new GZipStream(target, CompressionLevel.Optimal, leaveOpen: true))
            gzip.Write(batch.AsSpan(RecordBatchLayout.HeaderSize));
        byte[] packed = target.ToArray();
        packed[RecordBatchLayout.Attributes + 1] = (byte)RecordCodec.Gzip;
        return Finish(packed, recordsCount);
    }
}
