namespace EQueue.MessageStore;

/// <summary>Why messages go.</summary>
public enum DeletionCause
{
    /// <summary>They are older than their queue keeps them.</summary>
    Age,

    /// <summary>Their queue keeps fewer.</summary>
    Count,

    /// <summary>Their queue keeps fewer bytes.</summary>
    Bytes,

    /// <summary>The log takes more than its bound: the oldest messages of all queues go.</summary>
    LogSize,

    /// <summary>The memory of the store is full, and it lets the oldest go.</summary>
    MemoryFull,

    /// <summary>The store's user moved the start.</summary>
    Asked,
}
