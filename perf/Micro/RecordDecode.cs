using BenchmarkDotNet.Attributes;
using EQueue.Protocol;

namespace EQueue.Micro;

/// <summary>Cost of finding one record in a batch; the CRC is not part of it.</summary>
[MemoryDiagnoser]
public class RecordDecode
{
    private const int Records = 1000;

    private readonly byte[] _batch128 = Sample.Batch(Records, new RecordContent { Body = Sample.Bytes(128) });
    private readonly byte[] _batch1K = Sample.Batch(Records, new RecordContent { Body = Sample.Bytes(1024) });
    private readonly byte[] _batchKeyAndTag = Sample.Batch(
        Records,
        new RecordContent { Key = "customer-7"u8, Tag = "paid"u8, Body = Sample.Bytes(128) });

    [Benchmark(Baseline = true, OperationsPerInvoke = Records)]
    public int Read_128B() => ReadBodies(_batch128);

    [Benchmark(OperationsPerInvoke = Records)]
    public int Read_1KB() => ReadBodies(_batch1K);

    [Benchmark(OperationsPerInvoke = Records)]
    public int Ranges_128B()
    {
        int sum = 0;
        var cursor = new RecordCursor(_batch128);
        while (cursor.TryRead(_batch128, out RecordRange record))
            sum += record.BodyStart + record.BodyLength;
        return sum;
    }

    [Benchmark(OperationsPerInvoke = Records)]
    public int Read_128B_KeyAndTag()
    {
        int sum = 0;
        var reader = new RecordReader(_batchKeyAndTag);
        while (reader.TryRead(out RecordView record))
            sum += record.Body.Length + record.Key.Length + record.Tag.Length;
        return sum;
    }

    private static int ReadBodies(byte[] batch)
    {
        int sum = 0;
        var reader = new RecordReader(batch);
        while (reader.TryRead(out RecordView record))
            sum += record.Body.Length;
        return sum;
    }
}
