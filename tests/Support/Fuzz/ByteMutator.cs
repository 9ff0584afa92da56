using System.Buffers.Binary;

namespace EQueue.Support.Fuzz;

/// <summary>Makes hostile inputs of good ones, by seed and number: an input can be made again by itself.</summary>
/// <remarks>Not thread-safe; what it returns is valid until the next call.</remarks>
public sealed class ByteMutator(IReadOnlyList<byte[]> corpus, int seed)
{
    private const int MaxGrowthBytes = 256;

    private static readonly uint[] Limits =
        [0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0xFFFE, 0xFFFF, 0x1_0000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE,
            uint.MaxValue];

    private readonly byte[] _bytes = corpus.Count > 0
        ? new byte[(2 * corpus.Max(static one => one.Length)) + MaxGrowthBytes]
        : throw new ArgumentException("No inputs: DecoderFuzzTests says which file is missing.", nameof(corpus));

    private uint _state;
    private int _length;

    /// <summary>The input of this number.</summary>
    public Span<byte> Make(int number)
    {
        _state = unchecked(((uint)seed * 0x9E37_79B9) ^ ((uint)number * 0x85EB_CA6B) ^ 0x1234_5678) | 1;
        Next();
        Next();
        byte[] origin = corpus[Next(corpus.Count)];
        origin.CopyTo(_bytes, 0);
        _length = origin.Length;
        for (int steps = 1 + Next(1 + Next(6)); steps > 0; steps--)
            Change();
        return _bytes.AsSpan(0, _length);
    }

    private void Change()
    {
        int at = Next(_length + 1);
        int left = _length - at;
        switch (Next(9))
        {
            case 0 when left > 0:
                _bytes[at] ^= (byte)(1 << Next(8));
                break;
            case 1 when left > 0:
                _bytes[at] = (byte)Next(256);
                break;
            case 2 when left >= 2:
                BinaryPrimitives.WriteUInt16LittleEndian(_bytes.AsSpan(at), (ushort)Limit());
                break;
            case 3 when left >= 4:
                BinaryPrimitives.WriteUInt32LittleEndian(_bytes.AsSpan(at), Limit());
                break;
            case 4 when left >= 4:
                BinaryPrimitives.WriteUInt32BigEndian(_bytes.AsSpan(at), Limit());
                break;
            case 5 when left >= 8:
                BinaryPrimitives.WriteInt64LittleEndian(_bytes.AsSpan(at), (int)Limit());
                break;
            case 6:
                _length = at;
                break;
            case 7:
                Remove(at, Next(1 + Math.Min(left, 16)));
                break;
            default:
                Insert(at);
                break;
        }
    }

    private void Remove(int at, int count)
    {
        _bytes.AsSpan(at + count, _length - at - count).CopyTo(_bytes.AsSpan(at));
        _length -= count;
    }

    /// <summary>A piece of any good input comes between, as long as there is room.</summary>
    private void Insert(int at)
    {
        byte[] other = corpus[Next(corpus.Count)];
        int from = Next(other.Length + 1);
        int count = Math.Min(Math.Min(Next(33), other.Length - from), _bytes.Length - _length);
        _bytes.AsSpan(at, _length - at).CopyTo(_bytes.AsSpan(at + count));
        other.AsSpan(from, count).CopyTo(_bytes.AsSpan(at));
        _length += count;
    }

    /// <summary>A number at which something ends, or the input's own length, give or take one.</summary>
    private uint Limit() => Next(4) == 0 ? (uint)(_length + Next(3) - 1) : Limits[Next(Limits.Length)];

    private int Next(int count) => (int)(((ulong)Next() * (uint)count) >> 32);

    private uint Next()
    {
        _state ^= _state << 13;
        _state ^= _state >> 17;
        _state ^= _state << 5;
        return _state;
    }
}
