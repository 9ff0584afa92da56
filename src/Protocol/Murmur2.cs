using System.Buffers.Binary;

namespace EQueue.Protocol;

/// <summary>Murmur2, 32 bits, with the seed that Kafka's Java client uses: the same key meets the same queue in
/// both.</summary>
/// <remarks>Algorithm: Austin Appleby, MurmurHash2 (public domain). Pure functions, safe on any thread.</remarks>
public static class Murmur2
{
    private const uint Seed = 0x9747b28c;
    private const uint Multiplier = 0x5bd1e995;

    /// <summary>Hashes any bytes; may be negative.</summary>
    public static int Hash(ReadOnlySpan<byte> bytes)
    {
        uint hash = Seed ^ (uint)bytes.Length;
        while (bytes.Length >= sizeof(uint))
        {
            uint word = BinaryPrimitives.ReadUInt32LittleEndian(bytes) * Multiplier;
            word ^= word >> 24;
            hash = (hash * Multiplier) ^ (word * Multiplier);
            bytes = bytes[sizeof(uint)..];
        }

        if (!bytes.IsEmpty)
        {
            for (int i = bytes.Length - 1; i >= 0; i--)
                hash ^= (uint)bytes[i] << (8 * i);
            hash *= Multiplier;
        }

        hash = (hash ^ (hash >> 13)) * Multiplier;
        return (int)(hash ^ (hash >> 15));
    }

    /// <summary>The hash with its sign bit cleared.</summary>
    public static int PositiveHash(ReadOnlySpan<byte> bytes) => Hash(bytes) & int.MaxValue;

    /// <summary>The queue of a key: positive hash modulo the number of queues.</summary>
    /// <param name="utf8Key">The key's UTF-8 bytes.</param>
    /// <param name="queueCount">1 or more.</param>
    /// <returns>0 to <paramref name="queueCount"/> - 1.</returns>
    public static int QueueOf(ReadOnlySpan<byte> utf8Key, int queueCount)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(queueCount, 1);
        return PositiveHash(utf8Key) % queueCount;
    }
}
