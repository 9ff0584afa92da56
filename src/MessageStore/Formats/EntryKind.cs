namespace EQueue.MessageStore;

/// <summary>What an entry of a commit log holds. On disk: one byte.</summary>
public enum EntryKind : byte
{
    /// <summary>No entry: bytes that were never written are zero.</summary>
    None = 0,

    /// <summary>A batch of messages of one queue.</summary>
    Messages = 1,

    /// <summary>A batch of state records; queue 0.</summary>
    State = 2,

    /// <summary>An opening of the log: from here on entries carry this epoch. No batch.</summary>
    EpochStart = 3,

    /// <summary>The end of a segment; the next segment begins behind it. No batch.</summary>
    Seal = 4,
}
