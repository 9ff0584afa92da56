namespace EQueue.MessageStore;

/// <summary>What stands at a place of a segment file.</summary>
internal enum ScanVerdict
{
    /// <summary>A whole entry, every checksum right.</summary>
    Entry,

    /// <summary>Nothing: from here to the end of the file all is zero.</summary>
    End,

    /// <summary>Bytes that are no entry: torn, rotten, or of another place.</summary>
    Bad,

    /// <summary>A whole entry whose epoch is older than the one before it: left over behind a cut.</summary>
    Stale,
}
