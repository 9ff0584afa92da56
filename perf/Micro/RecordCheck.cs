using BenchmarkDotNet.Attributes;
using EQueue.Protocol;

namespace EQueue.Micro;

/// <summary>What the broker does with each record of a batch that comes in: its share of the CRC, and the look at
/// it.</summary>
[MemoryDiagnoser]
public class RecordCheck
{
    private const int Records = 1000;

    private readonly byte[] _batch128 = Sample.Batch(Records, new RecordContent { Body = Sample.Bytes(128) });
    private readonly byte[] _batch1K = Sample.Batch(Records, new RecordContent { Body = Sample.Bytes(1024) });
    private readonly byte[] _batchKeyAndTag = Sample.Batch(
        Records,
        new RecordContent { Key = "customer-7"u8, Tag = "paid"u8, Body = Sample.Bytes(128) });

    [Benchmark(Baseline = true, OperationsPerInvoke = Records)]
    public bool Crc_128B() => RecordBatch.HasValidCrc(_batch128);

    [Benchmark(OperationsPerInvoke = Records)]
    public int Walk_128B() => Walk(_batch128, TagBits.Untagged);

    [Benchmark(OperationsPerInvoke = Records)]
    public int CrcAndWalk_128B() => RecordBatch.HasValidCrc(_batch128) ? Walk(_batch128, TagBits.Untagged) : 0;

    [Benchmark(OperationsPerInvoke = Records)]
    public int Walk_1KB() => Walk(_batch1K, TagBits.Untagged);

    [Benchmark(OperationsPerInvoke = Records)]
    public int Walk_128B_KeyAndTag() => Walk(_batchKeyAndTag, TagBits.Of("paid"u8));

    [Benchmark(OperationsPerInvoke = Records)]
    public int Cursor_128B()
    {
        int sum = 0;
        var cursor = new RecordCursor(_batch128);
        while (cursor.TryRead(_batch128, out RecordRange record))
            sum += record.BodyLength;
        return sum;
    }

    private static int Walk(byte[] batch, uint tagBits)
    {
        RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _);
        RecordBatch.CheckRecords(batch, header, 0, ref tagBits, out int largestBody);
        return largestBody;
    }
}
