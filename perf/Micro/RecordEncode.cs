using BenchmarkDotNet.Attributes;
using EQueue.Protocol;

namespace EQueue.Micro;

/// <summary>Cost of one record in a batch that is being filled; the batch's header and CRC are not part of
/// it.</summary>
[MemoryDiagnoser]
public class RecordEncode
{
    private const int Records = 1000;

    private readonly RecordBatchBuilder _builder = new();
    private readonly byte[] _buffer = new byte[Records * 1200];
    private readonly byte[] _body128 = Sample.Bytes(128);
    private readonly byte[] _body1K = Sample.Bytes(1024);

    /// <summary>The copy alone: what no encoder can be faster than.</summary>
    [Benchmark(Baseline = true, OperationsPerInvoke = Records)]
    public int CopyOnly_128B()
    {
        int at = 0;
        for (int i = 0; i < Records; i++, at += 138)
            _body128.CopyTo(_buffer.AsSpan(at));
        return at;
    }

    [Benchmark(OperationsPerInvoke = Records)]
    public int Append_128B()
    {
        _builder.Reset(_buffer, 0);
        for (int i = 0; i < Records; i++)
            _builder.TryAppend(_body128, 1);
        return _builder.Size;
    }

    [Benchmark(OperationsPerInvoke = Records)]
    public int Append_1KB()
    {
        _builder.Reset(_buffer, 0);
        for (int i = 0; i < Records; i++)
            _builder.TryAppend(_body1K, 1);
        return _builder.Size;
    }

    [Benchmark(OperationsPerInvoke = Records)]
    public int Append_128B_KeyAndTag()
    {
        _builder.Reset(_buffer, 0);
        for (int i = 0; i < Records; i++)
            _builder.TryAppend(new RecordContent { Key = "customer-7"u8, Tag = "paid"u8, Body = _body128 }, 1);
        return _builder.Size;
    }
}
