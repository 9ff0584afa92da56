using System.Buffers.Binary;
using System.Security.Cryptography;
using System.Text;

namespace EQueue.Broker;

/// <summary>Ids of producers that show whose they are: a reader sees the ids of those who sent, and must not send in
/// their names.</summary>
/// <remarks>An id has 63 bits: 32 random ones, and above them the first 31 of HMAC-SHA-256 under the broker's key of
/// "producer", a zero byte, the random bits and the principal. Nothing is kept of an id.</remarks>
internal static class ProducerNames
{
    private const int RandomBits = 32;

    /// <summary>The key for ids, out of one that the broker keeps.</summary>
    public static byte[] KeyOf(ReadOnlySpan<byte> kept) => HMACSHA256.HashData(kept, "producer ids"u8);

    /// <summary>A new id; it may be in use.</summary>
    public static long New(byte[] key, string principal)
    {
        Span<byte> random = stackalloc byte[sizeof(uint)];
        RandomNumberGenerator.Fill(random);
        return Of(key, principal, BinaryPrimitives.ReadUInt32LittleEndian(random));
    }

    /// <summary>Whether an id was made for a principal.</summary>
    public static bool IsOf(byte[] key, string principal, long id) => id == Of(key, principal, unchecked((uint)id));

    private static long Of(byte[] key, string principal, uint random)
    {
        Span<byte> bits = stackalloc byte[sizeof(uint)];
        BinaryPrimitives.WriteUInt32LittleEndian(bits, random);
        byte[] text = [.. "producer"u8, 0, .. bits, .. Encoding.UTF8.GetBytes(principal)];
        uint mark = BinaryPrimitives.ReadUInt32LittleEndian(HMACSHA256.HashData(key, text)) >> 1;
        return ((long)mark << RandomBits) | random;
    }
}
