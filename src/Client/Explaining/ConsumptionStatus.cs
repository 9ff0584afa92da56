namespace EQueue.Client;

/// <summary>How a message stands with a group: the one reason why it is, or is not, consumed.</summary>
internal enum ConsumptionStatus
{
    /// <summary>The queue has not come to the offset yet.</summary>
    NotStored = 0,

    /// <summary>The queue begins behind the offset: retention took the message.</summary>
    Expired = 1,

    /// <summary>The offset lies within the queue, and no message is there.</summary>
    Missing = 2,

    /// <summary>The message is there and cannot be read.</summary>
    Damaged = 3,

    /// <summary>The group has never committed in the queue, and no member reads it.</summary>
    NotSubscribed = 4,

    /// <summary>The members read only other tags.</summary>
    Filtered = 5,

    /// <summary>The group has committed past the message.</summary>
    Committed = 6,

    /// <summary>The queue may not be read.</summary>
    QueueClosed = 7,

    /// <summary>The group is empty.</summary>
    NoMembers = 8,

    /// <summary>The queue is on its way to a member.</summary>
    Moving = 9,

    /// <summary>A member has the queue and has not committed the message.</summary>
    InHands = 10,
}
