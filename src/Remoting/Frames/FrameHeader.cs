using System.Buffers.Binary;

namespace EQueue.Remoting;

/// <summary>The 16 bytes in front of every frame, little-endian.</summary>
/// <remarks>
/// <code>
/// at  size  field
///  0   4    length: of the whole frame, header included (16..max frame)
///  4   1    opcode: 0 is remoting's own (ping), the rest belongs to the user
///  5   1    version of the opcode
///  6   2    flags: <see cref="FrameFlags"/>
///  8   4    correlation id: copied from the request into its answer
/// 12   2    error: 0 = none; the meaning of the rest belongs to the user
/// 14   2    reserved: written as 0, ignored when read
/// </code>
/// </remarks>
/// <param name="Length">Bytes of the whole frame, header included.</param>
/// <param name="Opcode">What the frame asks for or answers.</param>
/// <param name="Version">The version of the opcode's payload.</param>
/// <param name="Flags">Response, oneway, throttled.</param>
/// <param name="CorrelationId">Joins an answer to its request.</param>
/// <param name="Error">0, or the user's error code.</param>
public readonly record struct FrameHeader(
    uint Length, byte Opcode, byte Version, FrameFlags Flags, uint CorrelationId, ushort Error)
{
    /// <summary>Bytes of a header.</summary>
    public const int Size = 16;

    /// <summary>The opcode of remoting's own ping and its answer.</summary>
    public const byte PingOpcode = 0;

    /// <summary>The error of a ping that refuses the connection: its payload says why, in UTF-8, and its sender
    /// closes.</summary>
    public const ushort RefusedError = 1;

    private const ushort RefuseMask = 0xFF00;

    /// <summary>Bytes behind the header.</summary>
    public int PayloadBytes => (int)Length - Size;

    /// <summary>Whether the frame answers a request.</summary>
    public bool IsResponse => (Flags & FrameFlags.Response) != FrameFlags.None;

    /// <summary>Whether the frame is a request that wants no answer.</summary>
    public bool IsOneway => (Flags & FrameFlags.Oneway) != FrameFlags.None;

    /// <summary>The header of a frame with this payload.</summary>
    public static FrameHeader Of(
        ReadOnlySpan<byte> payload, byte opcode, byte version, FrameFlags flags, uint correlationId, ushort error) =>
        new((uint)(Size + payload.Length), opcode, version, flags, correlationId, error);

    /// <summary>Writes the header into the first <see cref="Size"/> bytes.</summary>
    public void Write(Span<byte> destination)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(destination, Length);
        destination[4] = Opcode;
        destination[5] = Version;
        BinaryPrimitives.WriteUInt16LittleEndian(destination[6..], (ushort)Flags);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[8..], CorrelationId);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[12..], Error);
    }

    /// <summary>Reads and checks a header. The length is refused as soon as its four bytes are there.</summary>
    /// <param name="source">Bytes from the start of a frame; fewer than a header give
    /// <see cref="FrameFault.Incomplete"/>.</param>
    /// <param name="maxFrameBytes">The largest length that is accepted.</param>
    /// <param name="header">The header; of a refused one only the length is set.</param>
    /// <param name="fault">Why the answer is <see langword="false"/>.</param>
    public static bool TryRead(
        ReadOnlySpan<byte> source, int maxFrameBytes, out FrameHeader header, out FrameFault fault)
    {
        header = default;
        fault = FrameFault.Incomplete;
        if (source.Length < sizeof(uint))
            return false;

        uint length = BinaryPrimitives.ReadUInt32LittleEndian(source);
        header = default(FrameHeader) with { Length = length };
        if (length < Size || length > (uint)maxFrameBytes)
        {
            fault = length < Size ? FrameFault.TooShort : FrameFault.TooLong;
            return false;
        }

        if (source.Length < Size)
            return false;
        ushort flags = BinaryPrimitives.ReadUInt16LittleEndian(source[6..]);
        if ((flags & RefuseMask) != 0)
        {
            fault = FrameFault.UnknownFlags;
            return false;
        }

        fault = FrameFault.None;
        header = Read(source);
        return true;
    }

    /// <summary>Reads a header that was checked before.</summary>
    internal static FrameHeader Read(ReadOnlySpan<byte> source) => new(
        BinaryPrimitives.ReadUInt32LittleEndian(source),
        source[4],
        source[5],
        (FrameFlags)BinaryPrimitives.ReadUInt16LittleEndian(source[6..]),
        BinaryPrimitives.ReadUInt32LittleEndian(source[8..]),
        BinaryPrimitives.ReadUInt16LittleEndian(source[12..]));
}
