namespace EQueue.Client;

/// <summary>Outcome of handing a message to a lane.</summary>
internal enum AppendStatus
{
    /// <summary>It is in a batch.</summary>
    Appended,

    /// <summary>The memory is used up.</summary>
    NoRoom,

    /// <summary>The batch is full and the topic takes another queue next.</summary>
    Moved,

    /// <summary>The lane's store is gone, or the producer is disposed.</summary>
    Closed,

    /// <summary>The message alone is larger than a batch may be.</summary>
    TooLarge,
}
