using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Where the entries of one cold read are: in one segment, all that is wanted up to
/// <see cref="EndOffset"/>, nothing lost between.</summary>
/// <param name="offset">Where the read begins.</param>
/// <param name="maxBytes">Of all entries; the first one may be larger.</param>
/// <param name="tagMask">Entries that it leaves out are passed over.</param>
internal sealed class FoundEntries(long offset, int maxBytes, uint tagMask)
{
    /// <summary>Entries that one read may pass over: 64 blocks of a sealed index, a millisecond or two of a disk
    /// thread.</summary>
    internal const int MaxPassed = 64 * SealedBlock.MaxEntries;

    /// <summary>Entries looked at for the read after this one.</summary>
    private const int MaxLooksAhead = 4 * SealedBlock.MaxEntries;

    private long _size;
    private long _aheadSize;
    private int _looksAhead;

    public List<SealedEntry> Entries { get; } = [];

    /// <summary>What the read after this one will want, as far as it lies in the same segment: as many bytes
    /// again.</summary>
    public List<SealedEntry> Ahead { get; } = [];

    public Segment? Segment { get; set; }

    /// <summary>When nothing was taken or passed over: the offset at which what can be read begins again.</summary>
    public long NextOffset { get; set; } = offset;

    /// <summary>Everything wanted before it is in the entries.</summary>
    public long EndOffset { get; private set; } = offset;

    /// <summary>Behind the last entry that was looked at, be it for the next read.</summary>
    public long LookedEndOffset { get; private set; } = offset;

    /// <summary>The position behind the last entry that was looked at.</summary>
    public long EndPosition { get; private set; }

    /// <summary>Entries passed over.</summary>
    public int Passed { get; private set; }

    /// <summary>Takes the next entry, passes over it, or keeps it in mind for the next read.</summary>
    /// <returns>False when nothing more is wanted.</returns>
    public bool TryTake(in SealedEntry entry)
    {
        bool isWanted = TagBits.MayMatch(entry.TagBits, tagMask);
        if (_looksAhead > 0 || (isWanted && Entries.Count > 0 && _size + entry.Size > maxBytes))
            return TryTakeAhead(entry, isWanted);
        if (isWanted)
        {
            _size += entry.Size;
            Entries.Add(entry);
        }
        else if (Passed < MaxPassed)
        {
            Passed++;
        }
        else
        {
            return false;
        }
        EndOffset = LookedEndOffset = entry.EndOffset;
        EndPosition = entry.Position + entry.Size;
        return true;
    }

    private bool TryTakeAhead(in SealedEntry entry, bool isWanted)
    {
        if (isWanted)
        {
            _aheadSize += entry.Size;
            Ahead.Add(entry);
        }
        LookedEndOffset = entry.EndOffset;
        return ++_looksAhead < MaxLooksAhead && _aheadSize < maxBytes;
    }
}
