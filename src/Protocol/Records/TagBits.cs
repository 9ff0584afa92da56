namespace EQueue.Protocol;

/// <summary>A batch's tags in 32 bits, so that a batch without any wanted tag can be skipped unread.</summary>
/// <remarks>
/// A record with a tag sets one of the bits 0-30: positive murmur2 of the tag's UTF-8 bytes, modulo 31. A record
/// without a tag sets bit 31. The bits of a batch are the OR over its records. All ones means "unknown, look inside":
/// also what a batch that really has every bit amounts to. Bits tell what a batch may hold; the exact filter is the
/// reader's.
/// </remarks>
public static class TagBits
{
    /// <summary>The bit of records without a tag.</summary>
    public const uint Untagged = 0x8000_0000;

    /// <summary>Nothing is known about the tags: matches every mask.</summary>
    public const uint Unknown = uint.MaxValue;

    private const int TagCount = 31;

    /// <summary>The bit of a tag.</summary>
    public static uint Of(ReadOnlySpan<byte> utf8Tag) => 1u << (Murmur2.PositiveHash(utf8Tag) % TagCount);

    /// <summary>Whether a mask asks for every record, whatever a batch's bits: 0 and all ones do.</summary>
    public static bool IsEverything(uint mask) => mask is 0 or uint.MaxValue;

    /// <summary>Whether a batch with <paramref name="bits"/> may hold a record that <paramref name="mask"/> asks
    /// for.</summary>
    public static bool MayMatch(uint bits, uint mask) => (bits & mask) != 0 || IsEverything(mask);
}
