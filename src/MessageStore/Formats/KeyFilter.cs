using System.Diagnostics;
using System.Numerics;
using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Tells of a set of keys that a key is certainly not in it: a Bloom filter in blocks, so that a look-up reads
/// and checks one of them.</summary>
/// <remarks>
/// A key's hash picks a block and <see cref="BitsPerKey"/> bits in it. Blocks and bits are powers of two in number: a
/// filter that turned out too large folds into half of itself, and the bits of a key are found as before. After Bloom,
/// "Space/Time Trade-offs in Hash Coding with Allowable Errors", and Putze, Sanders and Singler, "Cache-, Hash- and
/// Space-Efficient Bloom Filters". One thread.
/// </remarks>
internal sealed class KeyFilter
{
    /// <summary>Bits that each key sets.</summary>
    public const int BitsPerKey = 7;

    /// <summary>The fewest bytes of a block.</summary>
    public const int SmallestBlock = 16;

    /// <summary>The most bytes of a block.</summary>
    public const int LargestBlock = 4096;

    /// <summary>The most bytes of a filter.</summary>
    public const int LargestBytes = 4 << 20;

    /// <summary>Bits of memory for each key that may come: of the bits less than half are set, and 0.8 % of the keys
    /// that did not come look as if they had.</summary>
    private const int RoomPerKey = 10;

    /// <summary>A filter that is fuller than that says maybe to too many.</summary>
    private const double MostFill = 0.7;

    /// <summary>Half of itself is at most half full then.</summary>
    private const double FoldFill = 0.29;

    private byte[] _bits;

    /// <summary>Makes an empty filter.</summary>
    /// <param name="mostKeys">Keys that may come; beyond what fits it only gets fuller.</param>
    public KeyFilter(long mostKeys)
    {
        long bytes = Math.Min(mostKeys, LargestBytes) * RoomPerKey / 8;
        _bits = new byte[BitOperations.RoundUpToPowerOf2((uint)Math.Clamp(bytes, SmallestBlock, LargestBytes))];
    }

    /// <summary>Bytes of all blocks.</summary>
    public int SizeBytes => _bits.Length;

    /// <summary>Bytes of a block.</summary>
    public int BlockBytes => Math.Min(_bits.Length, LargestBlock);

    public int BlockCount => _bits.Length / BlockBytes;

    /// <summary>Whether no key came.</summary>
    public bool IsEmpty { get; private set; } = true;

    /// <summary>Whether it is worth keeping: most keys that did not come are told from those that did.</summary>
    public bool IsUseful => Fill() <= MostFill;

    /// <summary>The bits of a block.</summary>
    public ReadOnlySpan<byte> Block(int block) => _bits.AsSpan(block * BlockBytes, BlockBytes);

    /// <summary>A key as filters know it: its murmur2 and length, mixed (splitmix64), for the queue was chosen by that
    /// same murmur2.</summary>
    public static ulong HashOf(ReadOnlySpan<byte> key)
    {
        ulong mixed = (((ulong)key.Length << 32) | (uint)Murmur2.Hash(key)) + 0x9E3779B97F4A7C15;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
        return mixed ^ (mixed >> 31);
    }

    /// <summary>The block that a key's bits are in.</summary>
    /// <param name="hash">From <see cref="HashOf"/>.</param>
    /// <param name="blockCount">A power of two.</param>
    public static int BlockOf(ulong hash, int blockCount) => (int)(hash >> 40) & (blockCount - 1);

    /// <summary>Whether a key may be in the set.</summary>
    /// <param name="hash">From <see cref="HashOf"/>.</param>
    /// <param name="block">The bits of <see cref="BlockOf"/>.</param>
    public static bool MayHold(ulong hash, ReadOnlySpan<byte> block)
    {
        for (int i = 0; i < BitsPerKey; i++)
        {
            int bit = BitOf(hash, i, block.Length);
            if ((block[bit >> 3] & (1 << (bit & 7))) == 0)
                return false;
        }

        return true;
    }

    /// <summary>Adds a key.</summary>
    public void Add(ulong hash)
    {
        Span<byte> block = _bits.AsSpan(BlockOf(hash, BlockCount) * BlockBytes, BlockBytes);
        for (int i = 0; i < BitsPerKey; i++)
        {
            int bit = BitOf(hash, i, block.Length);
            block[bit >> 3] |= (byte)(1 << (bit & 7));
        }

        IsEmpty = false;
    }

    /// <summary>Gives back memory that the keys that came do not need.</summary>
    public void Fold()
    {
        while (_bits.Length > SmallestBlock && Fill() <= FoldFill)
        {
            // Halves of the blocks, or of the only block: which half was told by the highest bit of a number.
            int half = _bits.Length / 2;
            for (int i = 0; i < half; i++)
                _bits[i] |= _bits[half + i];
            Array.Resize(ref _bits, half);
        }
    }

    private static int BitOf(ulong hash, int which, int blockBytes)
    {
        Debug.Assert(BitOperations.IsPow2(blockBytes), "a block is a power of two");
        uint step = (uint)(hash >> 15) | 1;
        return (int)(((uint)hash + ((uint)which * step)) & (uint)((blockBytes * 8) - 1));
    }

    private double Fill()
    {
        long set = 0;
        foreach (byte bits in _bits)
            set += BitOperations.PopCount(bits);
        return set / (_bits.Length * 8.0);
    }
}
