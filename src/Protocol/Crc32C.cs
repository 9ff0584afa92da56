using System.Buffers.Binary;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;
using Arm = System.Runtime.Intrinsics.Arm;

namespace EQueue.Protocol;

/// <summary>CRC-32C (Castagnoli, RFC 3720 appendix B.4): the checksum of batches, entries and files.</summary>
/// <remarks>Pure functions, safe on any thread. Uses the processor's CRC instruction where there is one, three streams
/// at a time on x64, and tables elsewhere; every path gives the same value.</remarks>
public static class Crc32C
{
    private const uint ReflectedPolynomial = 0x82F63B78;
    private const int LargeStride = 2048;
    private const int SmallStride = 256;

    private static readonly uint[] Tables = BuildTables();
    private static readonly Shift Large = Shift.By(LargeStride);
    private static readonly Shift Small = Shift.By(SmallStride);

    /// <summary>The checksum of <paramref name="bytes"/>.</summary>
    public static uint Compute(ReadOnlySpan<byte> bytes) => Append(0, bytes);

    /// <summary>Carries a checksum on: <c>Append(Compute(a), b)</c> is the checksum of a followed by b.</summary>
    public static uint Append(uint crc, ReadOnlySpan<byte> bytes)
    {
        if (Sse42.X64.IsSupported)
            return Pclmulqdq.IsSupported ? AppendInterleaved(crc, bytes) : AppendSerial(crc, bytes);
        return Arm.Crc32.Arm64.IsSupported ? AppendArm(crc, bytes) : AppendSoftware(crc, bytes);
    }

    /// <summary>x64 with carry-less multiplication: hides the instruction's latency behind three independent
    /// streams.</summary>
    internal static uint AppendInterleaved(uint crc, ReadOnlySpan<byte> bytes)
    {
        uint register = ~crc;
        if (bytes.Length >= 3 * SmallStride)
        {
            while (bytes.Length >= 3 * LargeStride)
            {
                register = FoldThree(register, bytes[..(3 * LargeStride)], LargeStride, Large);
                bytes = bytes[(3 * LargeStride)..];
            }

            while (bytes.Length >= 3 * SmallStride)
            {
                register = FoldThree(register, bytes[..(3 * SmallStride)], SmallStride, Small);
                bytes = bytes[(3 * SmallStride)..];
            }
        }

        return ~FeedSerial(register, bytes);
    }

    /// <summary>x64, one stream.</summary>
    internal static uint AppendSerial(uint crc, ReadOnlySpan<byte> bytes) => ~FeedSerial(~crc, bytes);

    /// <summary>Arm64 with the CRC extension.</summary>
    internal static uint AppendArm(uint crc, ReadOnlySpan<byte> bytes)
    {
        uint register = ~crc;
        foreach (ulong word in MemoryMarshal.Cast<byte, ulong>(bytes))
            register = Arm.Crc32.Arm64.ComputeCrc32C(register, word);
        foreach (byte one in bytes[(bytes.Length & ~7)..])
            register = Arm.Crc32.ComputeCrc32C(register, one);
        return ~register;
    }

    /// <summary>Any processor: eight table look-ups per eight bytes.</summary>
    internal static uint AppendSoftware(uint crc, ReadOnlySpan<byte> bytes)
    {
        uint register = ~crc;
        ReadOnlySpan<uint> tables = Tables;
        while (bytes.Length >= sizeof(ulong))
        {
            uint low = BinaryPrimitives.ReadUInt32LittleEndian(bytes) ^ register;
            uint high = BinaryPrimitives.ReadUInt32LittleEndian(bytes[4..]);
            register = tables[0x700 + (int)(low & 0xFF)] ^ tables[0x600 + (int)((low >> 8) & 0xFF)]
                ^ tables[0x500 + (int)((low >> 16) & 0xFF)] ^ tables[0x400 + (int)(low >> 24)]
                ^ tables[0x300 + (int)(high & 0xFF)] ^ tables[0x200 + (int)((high >> 8) & 0xFF)]
                ^ tables[0x100 + (int)((high >> 16) & 0xFF)] ^ tables[(int)(high >> 24)];
            bytes = bytes[sizeof(ulong)..];
        }

        foreach (byte one in bytes)
            register = tables[(int)((register ^ one) & 0xFF)] ^ (register >> 8);
        return ~register;
    }

    /// <summary>Runs three adjacent stretches side by side, then moves the first two registers over the bytes behind
    /// them.</summary>
    private static uint FoldThree(uint register, ReadOnlySpan<byte> bytes, int stride, Shift shift)
    {
        ReadOnlySpan<ulong> first = MemoryMarshal.Cast<byte, ulong>(bytes[..stride]);
        ReadOnlySpan<ulong> second = MemoryMarshal.Cast<byte, ulong>(bytes.Slice(stride, stride))[..first.Length];
        ReadOnlySpan<ulong> third = MemoryMarshal.Cast<byte, ulong>(bytes.Slice(2 * stride, stride))[..first.Length];
        ulong a = register;
        ulong b = 0;
        ulong c = 0;
        for (int i = 0; i < first.Length; i++)
        {
            a = Sse42.X64.Crc32(a, first[i]);
            b = Sse42.X64.Crc32(b, second[i]);
            c = Sse42.X64.Crc32(c, third[i]);
        }

        var factors = Vector128.Create((ulong)shift.TwoStrides, shift.OneStride);
        Vector128<ulong> product = Pclmulqdq.CarrylessMultiply(Vector128.CreateScalar(a), factors, 0x00)
            ^ Pclmulqdq.CarrylessMultiply(Vector128.CreateScalar(b), factors, 0x10);
        return (uint)(Sse42.X64.Crc32(0, product.ToScalar()) ^ c);
    }

    private static uint FeedSerial(uint register, ReadOnlySpan<byte> bytes)
    {
        ulong wide = register;
        foreach (ulong word in MemoryMarshal.Cast<byte, ulong>(bytes))
            wide = Sse42.X64.Crc32(wide, word);
        register = (uint)wide;
        foreach (byte one in bytes[(bytes.Length & ~7)..])
            register = Sse42.Crc32(register, one);
        return register;
    }

    private static uint[] BuildTables()
    {
        uint[] tables = new uint[8 * 256];
        for (uint value = 0; value < 256; value++)
        {
            uint register = value;
            for (int bit = 0; bit < 8; bit++)
                register = TimesX(register);
            tables[value] = register;
        }

        for (int i = 256; i < tables.Length; i++)
            tables[i] = tables[tables[i - 256] & 0xFF] ^ (tables[i - 256] >> 8);
        return tables;
    }

    /// <summary>Multiplies by x modulo the polynomial; bit 31 is the coefficient of x^0.</summary>
    private static uint TimesX(uint value) => (value >> 1) ^ ((value & 1) != 0 ? ReflectedPolynomial : 0);

    /// <summary>Factors that move a register over zero bytes. A carry-less product of two reflected registers followed
    /// by one CRC step multiplies by x^33 on its own, so the factor for n bytes is x^(8n - 33).</summary>
    private readonly record struct Shift(uint OneStride, uint TwoStrides)
    {
        public static Shift By(int stride) => new(PowerOfX((8 * stride) - 33), PowerOfX((16 * stride) - 33));

        private static uint PowerOfX(int exponent)
        {
            uint value = 0x8000_0000;
            for (int i = 0; i < exponent; i++)
                value = TimesX(value);
            return value;
        }
    }
}
