using System.Numerics;
using System.Runtime.CompilerServices;

namespace EQueue.Protocol;

/// <summary>Zigzag variable-length integers as records use them: 7 bits a byte, least significant first, top bit =
/// more.</summary>
internal static class VarInt
{
    /// <summary>The most bytes that 32 bits take.</summary>
    public const int MaxSize32 = 5;

    /// <summary>The most bytes that 64 bits take.</summary>
    public const int MaxSize64 = 10;

    /// <summary>Bytes that <paramref name="value"/> takes: 1 to 10.</summary>
    public static int SizeOf(long value) => SizeOfRaw(ZigZag(value));

    /// <summary>0, -1, 1, -2, ... become 0, 1, 2, 3, ...</summary>
    public static ulong ZigZag(long value) => ((ulong)value << 1) ^ (ulong)(value >> 63);

    /// <summary>A zigzagged value below 2^14 as its two bytes, low byte first.</summary>
    public static uint TwoBytes(uint raw) => (raw & 0x7F) | 0x80 | ((raw >> 7) << 8);

    /// <summary>Reverses <see cref="TwoBytes"/>.</summary>
    /// <remarks>A second byte with its top bit set, more to come, shows in the result's bit 14.</remarks>
    public static uint FromTwoBytes(uint bytes) => (bytes & 0x7F) | ((bytes >> 1) & 0x7F80);

    /// <summary>The number of a one-byte zigzag value: -64 to 63; below -64 if more bytes follow.</summary>
    public static int FromOneByte(byte raw) => raw < 0x80 ? (raw >> 1) ^ -(raw & 1) : int.MinValue;

    /// <summary>Writes at <paramref name="at"/>.</summary>
    /// <returns>The place behind.</returns>
    public static int Write(Span<byte> target, int at, long value)
    {
        ulong raw = ZigZag(value);
        while (raw >= 0x80)
        {
            target[at++] = (byte)(raw | 0x80);
            raw >>= 7;
        }

        target[at] = (byte)raw;
        return at + 1;
    }

    /// <summary>Reads 32 bits at <paramref name="at"/> and moves it on; false if the bytes end or the number is too
    /// long.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool TryRead(ReadOnlySpan<byte> source, ref int at, out int value)
    {
        if ((uint)at < (uint)source.Length && source[at] < 0x80)
        {
            uint raw = source[at++];
            value = (int)(raw >> 1) ^ -(int)(raw & 1);
            return true;
        }

        bool read = TryReadLong(source, ref at, MaxSize32, out long wide)
            && wide is >= int.MinValue and <= int.MaxValue;
        value = read ? (int)wide : 0;
        return read;
    }

    /// <summary>Reads 64 bits at <paramref name="at"/> and moves it on; false if the bytes end or the number is too
    /// long.</summary>
    public static bool TryRead(ReadOnlySpan<byte> source, ref int at, out long value) =>
        TryReadLong(source, ref at, MaxSize64, out value);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool TryReadLong(ReadOnlySpan<byte> source, ref int at, int maxSize, out long value)
    {
        ulong raw = 0;
        int end = Math.Min(source.Length, at + maxSize);
        for (int shift = 0, i = at; i < end; shift += 7)
        {
            byte one = source[i++];
            if (shift == 63 && one > 1)
                break;
            raw |= (ulong)(one & 0x7F) << shift;
            if (one < 0x80)
            {
                at = i;
                value = (long)(raw >> 1) ^ -(long)(raw & 1);
                return true;
            }
        }

        value = 0;
        return false;
    }

    private static int SizeOfRaw(ulong raw) => (BitOperations.Log2(raw | 1) / 7) + 1;
}
