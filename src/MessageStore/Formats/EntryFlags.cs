namespace EQueue.MessageStore;

/// <summary>Flags of an entry. Unknown bits of the low byte are ignored, unknown bits of the high byte are
/// refused.</summary>
[Flags]
public enum EntryFlags : ushort
{
    /// <summary>None set.</summary>
    None = 0,

    /// <summary>The next entry belongs to the same atomic group.</summary>
    More = 1 << 8,
}
