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

    private long _size;

    public List<SealedEntry> Entries { get; } = [];

    public Segment? Segment { get; set; }

    /// <summary>When nothing was taken or passed over: the offset at which what can be read begins again.</summary>
    public long NextOffset { get; set; } = offset;

    /// <summary>Everything wanted before it is in the entries.</summary>
    public long EndOffset { get; private set; } = offset;

    /// <summary>The position behind the last entry that was looked at.</summary>
    public long EndPosition { get; private set; }

    /// <summary>Entries passed over.</summary>
    public int Passed { get; private set; }

    /// <summary>Takes the next entry, or passes over it.</summary>
    /// <returns>False when this one would be too much.</returns>
    public bool TryTake(in SealedEntry entry)
    {
        if (!TagBits.MayMatch(entry.TagBits, tagMask))
        {
            if (Passed == MaxPassed)
            {
                return false;
            }
            Passed++;
        }
        else if (Entries.Count > 0 && _size + entry.Size > maxBytes)
        {
            return false;
        }
        else
        {
            _size += entry.Size;
            Entries.Add(entry);
        }
        EndOffset = entry.EndOffset;
        EndPosition = entry.Position + entry.Size;
        return true;
    }
}
