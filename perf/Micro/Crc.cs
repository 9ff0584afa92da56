using System.Runtime.InteropServices;
using System.Runtime.Intrinsics.X86;
using BenchmarkDotNet.Attributes;
using EQueue.Protocol;

namespace EQueue.Micro;

/// <summary>CRC-32C of one buffer, against one stream of the processor's instruction.</summary>
public class Crc
{
    private byte[] _bytes = [];

    /// <summary>Bytes of the buffer.</summary>
    [Params(200, 1024, 16 * 1024, 1024 * 1024)]
    public int Size { get; set; }

    [GlobalSetup]
    public void Prepare() => _bytes = Sample.Bytes(Size);

    [Benchmark(Baseline = true)]
    public uint SerialInstruction()
    {
        ulong register = uint.MaxValue;
        foreach (ulong word in MemoryMarshal.Cast<byte, ulong>(_bytes))
            register = Sse42.X64.Crc32(register, word);
        return ~(uint)register;
    }

    [Benchmark]
    public uint Crc32C_Compute() => Crc32C.Compute(_bytes);
}
