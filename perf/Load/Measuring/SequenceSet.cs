using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace EQueue.Load.Measuring;

/// <summary>
/// The sequences seen of one producer: one bit each, in pages of 16,384. A page that is complete gives its memory
/// back, and neighbours in order are first counted as a run, so an orderly stream of any length costs next to nothing.
/// </summary>
/// <remarks>One thread.</remarks>
internal sealed class SequenceSet
{
    /// <summary>Sequences at and above this are no sequences of a run.</summary>
    public const long MaxSequence = 1L << 40;

    private const int PageBits = 14;
    private const int PageSize = 1 << PageBits;

    private static readonly ulong[] FullPage = [];

    private readonly List<ulong[]?> _pages = [];
    private readonly List<int> _counts = [];
    private ulong[] _page = FullPage;
    private long _pageIndex = -1;

    /// <summary>The run that is not in the pages yet: from here up to, and without, <see cref="_runEnd"/>.</summary>
    private long _runStart;
    private long _runEnd;
    private long _count;
    private long _doubles;

    /// <summary>How many sequences are in the set.</summary>
    public long Count
    {
        get
        {
            CloseRun();
            return _count;
        }
    }

    /// <summary>Sequences given to <see cref="Follow"/> that were in the set already.</summary>
    public long Doubles
    {
        get
        {
            CloseRun();
            return _doubles;
        }
    }

    /// <summary>Adds a sequence, 0..<see cref="MaxSequence"/> - 1; false if it was there.</summary>
    public bool Add(long sequence)
    {
        CloseRun();
        return Mark(sequence, 1UL << (int)(sequence & 63)) == 0;
    }

    /// <summary>
    /// Adds a sequence that is likely to follow the last one; whether it was there is told by <see cref="Doubles"/>.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Follow(long sequence)
    {
        if (sequence != _runEnd)
            StartRun(sequence);
        _runEnd = sequence + 1;
    }

    public bool Contains(long sequence)
    {
        CloseRun();
        int index = (int)(sequence >> PageBits);
        if (index >= _pages.Count || _pages[index] is not { } page)
            return false;
        return page == FullPage || (page[(sequence & (PageSize - 1)) >> 6] & (1UL << (int)(sequence & 63))) != 0;
    }

    /// <summary>Adds what another set holds.</summary>
    /// <returns>How many of its sequences were here already.</returns>
    public long Add(SequenceSet other)
    {
        other.CloseRun();
        long doubles = 0;
        for (int index = 0; index < other._pages.Count; index++)
        {
            if (other._pages[index] is null)
                continue;
            long first = (long)index << PageBits;
            for (long sequence = first; sequence < first + PageSize; sequence++)
            {
                if (other.Contains(sequence) && !Add(sequence))
                    doubles++;
            }
        }

        return doubles;
    }

    /// <summary>How many sequences below <paramref name="end"/> are not in the set.</summary>
    public long CountMissing(long end)
    {
        CloseRun();
        long missing = 0;
        for (long sequence = 0; sequence < end; sequence++)
        {
            int index = (int)(sequence >> PageBits);
            if (index < _pages.Count && _pages[index] == FullPage)
                sequence |= PageSize - 1;
            else if (!Contains(sequence))
                missing++;
        }

        return missing;
    }

    private void StartRun(long sequence)
    {
        CloseRun();
        _runStart = sequence;
    }

    private void CloseRun()
    {
        for (long next = _runStart; next < _runEnd;)
        {
            int first = (int)(next & 63);
            int count = (int)Math.Min(64 - first, _runEnd - next);
            _doubles += Mark(next, (ulong.MaxValue >> (64 - count)) << first);
            next += count;
        }

        _runStart = _runEnd;
    }

    /// <summary>Sets bits of the word that holds a sequence.</summary>
    /// <returns>How many of them were set already.</returns>
    private int Mark(long sequence, ulong bits)
    {
        if (sequence >> PageBits != _pageIndex)
            GoTo(sequence >> PageBits);
        if (_page == FullPage)
            return BitOperations.PopCount(bits);
        ref ulong word = ref _page[(sequence & (PageSize - 1)) >> 6];
        int added = BitOperations.PopCount(bits & ~word);
        word |= bits;
        _count += added;
        ref int pageCount = ref CollectionsMarshal.AsSpan(_counts)[(int)_pageIndex];
        pageCount += added;
        if (pageCount == PageSize)
            _pages[(int)_pageIndex] = _page = FullPage;
        return BitOperations.PopCount(bits) - added;
    }

    private void GoTo(long pageIndex)
    {
        while (_pages.Count <= pageIndex)
        {
            _pages.Add(null);
            _counts.Add(0);
        }

        _pageIndex = pageIndex;
        _page = _pages[(int)pageIndex] ??= new ulong[PageSize / 64];
    }
}
