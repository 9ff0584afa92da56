using System.Buffers.Binary;
using EQueue.Remoting;

namespace EQueue.Client.Tests.Network;

/// <summary>Walks through the bytes of one direction and knows where it is in which frame.</summary>
internal sealed class FrameMeter
{
    private readonly byte[] _length = new byte[sizeof(uint)];
    private int _frameBytes = FrameHeader.Size;

    /// <summary>Whole frames behind it.</summary>
    public int Frame { get; private set; }

    /// <summary>Bytes of the present frame behind it; 0 between two frames.</summary>
    public int At { get; private set; }

    /// <summary>All bytes behind it.</summary>
    public long Total { get; private set; }

    /// <summary>Advances by up to so many bytes, and no further than the place.</summary>
    /// <returns>How many bytes lie before the place.</returns>
    public int Advance(ReadOnlySpan<byte> bytes, in FaultPlace place, out bool isThere)
    {
        for (int i = 0; i < bytes.Length; i++)
        {
            isThere = place.IsAt(Frame, At, Total, _frameBytes);
            if (isThere)
                return i;
            Take(bytes[i]);
        }

        // The end of a frame is there as soon as its last byte is.
        isThere = At == 0 && place.IsBehind(Frame);
        return bytes.Length;
    }

    private void Take(byte value)
    {
        if (At < sizeof(uint))
            _length[At] = value;
        At++;
        Total++;
        if (At == sizeof(uint))
            _frameBytes = Math.Max(BinaryPrimitives.ReadInt32LittleEndian(_length), FrameHeader.Size);
        if (At < FrameHeader.Size || At < _frameBytes)
            return;
        Frame++;
        At = 0;
        _frameBytes = FrameHeader.Size;
    }
}
