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
/// Bodies of 10 to 15 bytes have less room:
/// <code>
///  0  5  sequence        below 2^40
///  5  3  producer        below 2^24
///  8  2  run             its low 16 bits
/// </code>
/// </summary>
internal readonly record struct BodyStamp(long Sequence, int Producer, uint Run)
{
    /// <summary>Bytes of the short form.</summary>
    public const int SmallSize = 10;

    /// <summary>Bytes without the timestamp.</summary>
    public const int Size = 16;

    /// <summary>Bytes with the timestamp.</summary>
    public const int SizeWithTimestamp = 24;

    private const int SequenceBits = 40;

    /// <summary>Bytes of the stamp in a body of so many bytes.</summary>
    public static int SizeIn(int bodySize) => bodySize switch
    {
        < Size => SmallSize,
        < SizeWithTimestamp => Size,
        _ => SizeWithTimestamp,
    };

    /// <summary>What is left of a run's number in a body of so many bytes.</summary>
    public static uint RunIn(int bodySize, uint run) => bodySize < Size ? (ushort)run : run;

    public static BodyStamp Read(ReadOnlySpan<byte> body)
    {
        if (body.Length < Size)
        {
            ulong word = BinaryPrimitives.ReadUInt64LittleEndian(body);
            return new BodyStamp(
                (long)(word & ((1UL << SequenceBits) - 1)),
                (int)(word >> SequenceBits),
                BinaryPrimitives.ReadUInt16LittleEndian(body[8..]));
        }

        return new BodyStamp(
            BinaryPrimitives.ReadInt64LittleEndian(body),
            BinaryPrimitives.ReadInt32LittleEndian(body[8..]),
            BinaryPrimitives.ReadUInt32LittleEndian(body[12..]));
    }

    /// <summary>The time a message was sent, or 0.</summary>
    public static long ReadTimestamp(ReadOnlySpan<byte> body) => body.Length >= SizeWithTimestamp
        ? BinaryPrimitives.ReadInt64LittleEndian(body[Size..])
        : 0;

    public void Write(Span<byte> body, long timestampNs)
    {
        if (body.Length < Size)
        {
            BinaryPrimitives.WriteUInt64LittleEndian(body, (ulong)Sequence | ((ulong)(uint)Producer << SequenceBits));
            BinaryPrimitives.WriteUInt16LittleEndian(body[8..], (ushort)Run);
            return;
        }

        BinaryPrimitives.WriteInt64LittleEndian(body, Sequence);
        BinaryPrimitives.WriteInt32LittleEndian(body[8..], Producer);
        BinaryPrimitives.WriteUInt32LittleEndian(body[12..], Run);
        if (body.Length >= SizeWithTimestamp)
            BinaryPrimitives.WriteInt64LittleEndian(body[Size..], timestampNs);
    }
}
