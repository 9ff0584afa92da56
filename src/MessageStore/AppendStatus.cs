namespace EQueue.MessageStore;

/// <summary>What became of a whole append request.</summary>
public enum AppendStatus
{
    /// <summary>At least one item is staged or a duplicate: the waiter is called once, when all of them have reached
    /// their level.</summary>
    Accepted,

    /// <summary>Every item has an error: the waiter is not called.</summary>
    Nothing,

    /// <summary>No memory or no segment is free now: nothing changed. Await
    /// <see cref="QueueStore.WaitForRoomAsync"/>, then try again.</summary>
    NoRoom,
}
