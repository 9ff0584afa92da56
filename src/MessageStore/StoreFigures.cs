namespace EQueue.MessageStore;

/// <summary>What a store has done since it was opened, and what it is in.</summary>
public readonly record struct StoreFigures
{
    /// <summary>Requests that staged at least one batch.</summary>
    public long Appends { get; init; }

    /// <summary>Batches of messages staged.</summary>
    public long Batches { get; init; }

    /// <summary>Batches that were stored before and were answered with their first place.</summary>
    public long DuplicateBatches { get; init; }

    /// <summary>Bytes handed to the system for the log.</summary>
    public long BytesWritten { get; init; }

    /// <summary>Write calls for the log.</summary>
    public long Writes { get; init; }

    /// <summary>fdatasync calls for the log.</summary>
    public long Syncs { get; init; }

    /// <summary>Reads served from memory.</summary>
    public long MemoryReads { get; init; }

    /// <summary>Reads that went to the disk.</summary>
    public long DiskReads { get; init; }

    /// <summary>Segment files, the active one included.</summary>
    public int Segments { get; init; }

    /// <summary>Segment files that are gone or cannot be read: their messages are lost.</summary>
    public int SegmentsLost { get; init; }

    /// <summary>Milliseconds for which the oldest write or fdatasync of the log under way has not ended; 0 = none is
    /// under way.</summary>
    public long OldestDiskCallMs { get; init; }

    /// <summary>Whether that is so long that the disk must be taken to hang.</summary>
    public bool IsStalled { get; init; }

    /// <summary>Segment files removed because nothing in them was kept any more.</summary>
    public long SegmentsRemoved { get; init; }

    /// <summary>Segment files replaced by packed ones because little in them was kept.</summary>
    public long SegmentsPacked { get; init; }

    /// <summary>Queues that exist.</summary>
    public int Queues { get; init; }

    /// <summary>Snapshots written.</summary>
    public long Snapshots { get; init; }

    /// <summary>Free bytes of the volume when they were last asked for.</summary>
    public long FreeBytes { get; init; }

    /// <summary>Whether messages are refused because the disk is (nearly) full.</summary>
    public bool IsReadOnly { get; init; }

    /// <summary>Bytes of sealed segments and their indexes that the scrub has read again.</summary>
    public long ScrubbedBytes { get; init; }

    /// <summary>Bad ranges that the scrub has reported; one that stays bad counts in each pass.</summary>
    public long ScrubBadRanges { get; init; }

    /// <summary>Passes of the scrub that came to their end.</summary>
    public long ScrubPasses { get; init; }

    /// <summary>Unix milliseconds at which the last of these passes ended; 0 = none has.</summary>
    public long LastScrubEndTimeMs { get; init; }
}
