namespace EQueue.MessageStore;

/// <summary>What becomes of messages when a store in memory is full. State and reads go on.</summary>
public enum MemoryFull
{
    /// <summary>They are refused with StorageFull.</summary>
    Reject = 0,

    /// <summary>Their appends are answered NoRoom until there is room.</summary>
    Block = 1,

    /// <summary>The oldest messages of all queues go, a segment's at a time, whatever their topics would keep; appends
    /// are answered NoRoom until then.</summary>
    OldestOut = 2,
}
