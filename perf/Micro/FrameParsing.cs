using BenchmarkDotNet.Attributes;
using EQueue.Remoting;

namespace EQueue.Micro;

/// <summary>Cost of one frame header in a receive buffer that holds many small frames.</summary>
[MemoryDiagnoser]
public class FrameParsing
{
    private const int Frames = 1000;
    private const int FrameBytes = FrameHeader.Size + 32;
    private const int MaxFrameBytes = 8 << 20;

    private readonly byte[] _buffer = new byte[Frames * FrameBytes];

    /// <summary>Fills the buffer with whole frames.</summary>
    [GlobalSetup]
    public void Prepare() => Write_1000();

    [Benchmark(Baseline = true, OperationsPerInvoke = Frames)]
    public int Write_1000()
    {
        Span<byte> rest = _buffer;
        for (uint i = 0; i < Frames; i++)
        {
            new FrameHeader(FrameBytes, 7, 1, FrameFlags.Response, i, 0).Write(rest);
            rest = rest[FrameBytes..];
        }

        return rest.Length;
    }

    [Benchmark(OperationsPerInvoke = Frames)]
    public uint Read_1000()
    {
        uint sum = 0;
        ReadOnlySpan<byte> rest = _buffer;
        while (FrameHeader.TryRead(rest, MaxFrameBytes, out FrameHeader header, out _))
        {
            sum += header.CorrelationId;
            rest = rest[(int)header.Length..];
        }

        return sum;
    }
}
