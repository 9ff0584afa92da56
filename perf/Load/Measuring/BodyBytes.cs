using System.Runtime.InteropServices;

namespace EQueue.Load.Measuring;

/// <summary>
/// The random bytes of bodies, the same in every process that knows the seed. SplitMix64 (Steele, Lea, Flood 2014):
/// good enough to defeat any compression, and quick.
/// </summary>
internal static class BodyBytes
{
    /// <summary>Writes the bytes of one producer's slot.</summary>
    public static void Fill(Span<byte> body, int seed, int producer, int slot)
    {
        ulong state = ((ulong)(uint)seed << 32) | (uint)producer;
        state = Next(ref state) ^ (uint)slot;
        foreach (ref ulong word in MemoryMarshal.Cast<byte, ulong>(body))
            word = Next(ref state);
        Span<byte> rest = body[(body.Length & ~7)..];
        ulong last = Next(ref state);
        for (int i = 0; i < rest.Length; i++)
            rest[i] = (byte)(last >> (8 * i));
    }

    private static ulong Next(ref ulong state)
    {
        ulong mixed = state += 0x9E3779B97F4A7C15;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
        return mixed ^ (mixed >> 31);
    }
}
