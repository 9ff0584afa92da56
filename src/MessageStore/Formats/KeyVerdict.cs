namespace EQueue.MessageStore;

/// <summary>What an index knows of a key in a queue.</summary>
internal enum KeyVerdict
{
    /// <summary>It has no key filters: they can be made.</summary>
    NoFilters = 0,

    /// <summary>Nothing, and that will not change: its entries must be looked at.</summary>
    Unknown = 1,

    /// <summary>No message of the queue in the segment has the key.</summary>
    Absent = 2,

    /// <summary>One may have it.</summary>
    Maybe = 3,

    /// <summary>The filter is damaged.</summary>
    Damaged = 4,
}
