namespace EQueue.Load.Measuring;

/// <summary>
/// One producer's message bodies: random bytes made once from a seed, only the stamp is written anew for each message.
/// Body n lies in slot n modulo the number of slots, so a reader with the same seed can compare every byte.
/// </summary>
/// <remarks>
/// One thread. A body is lent to the producer until its send is over: there are more slots than sends in flight.
/// </remarks>
internal sealed class BodyPool
{
    private readonly byte[] _bytes;
    private readonly int _size;
    private readonly int _slotCount;
    private int _nextSlot;

    /// <param name="seed">The run's seed.</param>
    /// <param name="producer">The producer's number: each has other bytes.</param>
    /// <param name="size">Bytes of a body.</param>
    /// <param name="slotCount">How many bodies are alive at a time.</param>
    public BodyPool(int seed, int producer, int size, int slotCount)
    {
        _size = size;
        _slotCount = slotCount;
        _bytes = GC.AllocateUninitializedArray<byte>(checked(size * slotCount));
        for (int slot = 0; slot < slotCount; slot++)
            BodyBytes.Fill(_bytes.AsSpan(slot * size, size), seed, producer, slot);
    }

    /// <summary>The next body in turn, stamped. Sequences must be handed in from 0 without a gap.</summary>
    public ReadOnlyMemory<byte> Next(in BodyStamp stamp, long timestampNs)
    {
        Memory<byte> body = _bytes.AsMemory(_nextSlot * _size, _size);
        _nextSlot = _nextSlot + 1 == _slotCount ? 0 : _nextSlot + 1;
        stamp.Write(body.Span, timestampNs);
        return body;
    }
}
