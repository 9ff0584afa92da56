using System.Runtime.InteropServices;

namespace EQueue.Load.Measuring;

/// <summary>
/// One producer's message bodies: random bytes made once from a seed, only the stamp is written anew for each message.
/// Body n lies in slot n modulo the number of slots, so a reader with the same seed can compare every byte.
/// </summary>
/// <remarks>One thread. A body is lent to the producer until its send is over: there are more slots than sends in flight.</remarks>
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
        Fill(_bytes, ((ulong)(uint)seed << 32) | (uint)producer);
    }

    /// <summary>The next body in turn, stamped. Sequences must be handed in from 0 without a gap.</summary>
    public ReadOnlyMemory<byte> Next(in BodyStamp stamp, long timestampNs)
    {
        var body = _bytes.AsMemory(_nextSlot * _size, _size);
        _nextSlot = _nextSlot + 1 == _slotCount ? 0 : _nextSlot + 1;
        stamp.Write(body.Span, timestampNs);
        return body;
    }

    /// <summary>True if the bytes behind the stamp are those that the message was sent with.</summary>
    public bool Matches(long sequence, ReadOnlySpan<byte> body)
    {
        var stampSize = Math.Min(_size, BodyStamp.SizeWithTimestamp);
        if (_size < BodyStamp.SizeWithTimestamp)
            stampSize = BodyStamp.Size;
        var sent = _bytes.AsSpan((int)(sequence % _slotCount) * _size, _size);
        return sent[stampSize..].SequenceEqual(body[stampSize..]);
    }

    /// <summary>SplitMix64 (Steele, Lea, Flood 2014): good enough to defeat compression, and quick.</summary>
    private static void Fill(byte[] bytes, ulong state)
    {
        foreach (ref var word in MemoryMarshal.Cast<byte, ulong>(bytes.AsSpan()))
            word = Next(ref state);
        var rest = bytes.AsSpan(bytes.Length & ~7);
        var last = Next(ref state);
        for (var i = 0; i < rest.Length; i++)
            rest[i] = (byte)(last >> (8 * i));
    }

    private static ulong Next(ref ulong state)
    {
        var mixed = state += 0x9E3779B97F4A7C15;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
        return mixed ^ (mixed >> 31);
    }
}
