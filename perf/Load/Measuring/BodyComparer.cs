namespace EQueue.Load.Measuring;

/// <summary>Knows what bytes each body of a run must have, by the seed that its producers used.</summary>
/// <remarks>One thread.</remarks>
internal sealed class BodyComparer(int seed, int size, int slotCount)
{
    private readonly byte[] _expected = new byte[size];

    /// <summary>True if the bytes behind the stamp are those that the message was sent with.</summary>
    public bool Matches(in BodyStamp stamp, ReadOnlySpan<byte> body)
    {
        int stampSize = BodyStamp.SizeIn(size);
        BodyBytes.Fill(_expected, seed, stamp.Producer, (int)(stamp.Sequence % slotCount));
        return body[stampSize..].SequenceEqual(_expected.AsSpan(stampSize));
    }
}
