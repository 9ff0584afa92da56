using System.Runtime.InteropServices;

namespace EQueue.Load.Measuring;

/// <summary>
/// The sequences seen of one producer: one bit each, in pages of a million. A page that is complete gives its memory
/// back, so an orderly stream of any length costs next to nothing.
/// </summary>
/// <remarks>One thread.</remarks>
internal sealed class SequenceSet
{
    /// <summary>Sequences at and above this are no sequences of a run.</summary>
    public const long MaxSequence = 1L << 40;

    private const int PageBits = 20;
    private const int PageSize = 1 << PageBits;

    private static readonly ulong[] FullPage = [];

    private readonly List<ulong[]?> _pages = [];
    private readonly List<int> _counts = [];
    private ulong[] _page = FullPage;
    private long _pageIndex = -1;

    /// <summary>How many sequences are in the set.</summary>
    public long Count { get; private set; }

    /// <summary>Adds a sequence, 0..<see cref="MaxSequence"/> - 1; false if it was there.</summary>
    public bool Add(long sequence)
    {
        if (sequence >> PageBits != _pageIndex)
            GoTo(sequence >> PageBits);
        if (_page == FullPage)
            return false;
        ref var word = ref _page[(sequence & (PageSize - 1)) >> 6];
        var bit = 1UL << (int)(sequence & 63);
        if ((word & bit) != 0)
            return false;
        word |= bit;
        Count++;
        ref var pageCount = ref CollectionsMarshal.AsSpan(_counts)[(int)_pageIndex];
        if (++pageCount == PageSize)
            _pages[(int)_pageIndex] = _page = FullPage;
        return true;
    }

    public bool Contains(long sequence)
    {
        var index = (int)(sequence >> PageBits);
        if (index >= _pages.Count || _pages[index] is not { } page)
            return false;
        return page == FullPage || (page[(sequence & (PageSize - 1)) >> 6] & (1UL << (int)(sequence & 63))) != 0;
    }

    /// <summary>Adds what another set holds.</summary>
    /// <returns>How many of its sequences were here already.</returns>
    public long Add(SequenceSet other)
    {
        long doubles = 0;
        for (var index = 0; index < other._pages.Count; index++)
        {
            if (other._pages[index] is null)
                continue;
            var first = (long)index << PageBits;
            for (var sequence = first; sequence < first + PageSize; sequence++)
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
        long missing = 0;
        for (long sequence = 0; sequence < end; sequence++)
        {
            var index = (int)(sequence >> PageBits);
            if (index < _pages.Count && _pages[index] == FullPage)
                sequence |= PageSize - 1;
            else if (!Contains(sequence))
                missing++;
        }

        return missing;
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
