using System.Buffers.Binary;

namespace EQueue.Load.Measuring;

/// <summary>
/// What a message says about itself in the first bytes of its body, little-endian:
/// <code>
///  0  8  sequence        dense per producer, from 0
///  8  4  producer        number of the producer
/// 12  4  run             tells this run's messages from another's
/// 16  8  timestamp       monotonic clock when sent, nanoseconds; only in bodies of 24 bytes and more; 0 = not sampled
/// </code>
/// </summary>
internal readonly record struct BodyStamp(long Sequence, int Producer, uint Run)
{
    /// <summary>Bytes without the timestamp.</summary>
    public const int Size = 16;

    /// <summary>Bytes with the timestamp.</summary>
    public const int SizeWithTimestamp = 24;

    public static BodyStamp Read(ReadOnlySpan<byte> body) => new(
        BinaryPrimitives.ReadInt64LittleEndian(body),
        BinaryPrimitives.ReadInt32LittleEndian(body[8..]),
        BinaryPrimitives.ReadUInt32LittleEndian(body[12..]));

    /// <summary>The time a message was sent, or 0.</summary>
    public static long ReadTimestamp(ReadOnlySpan<byte> body) => body.Length >= SizeWithTimestamp
        ? BinaryPrimitives.ReadInt64LittleEndian(body[Size..])
        : 0;

    public void Write(Span<byte> body, long timestampNs)
    {
        BinaryPrimitives.WriteInt64LittleEndian(body, Sequence);
        BinaryPrimitives.WriteInt32LittleEndian(body[8..], Producer);
        BinaryPrimitives.WriteUInt32LittleEndian(body[12..], Run);
        if (body.Length >= SizeWithTimestamp)
            BinaryPrimitives.WriteInt64LittleEndian(body[Size..], timestampNs);
    }
}
