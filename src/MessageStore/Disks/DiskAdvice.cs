namespace EQueue.MessageStore;

/// <summary>What a range of a file will be used for.</summary>
public enum DiskAdvice
{
    /// <summary>Nothing special.</summary>
    Normal,

    /// <summary>Read from front to back.</summary>
    Sequential,

    /// <summary>Read soon.</summary>
    WillNeed,

    /// <summary>Not read again soon: the system may drop it from memory.</summary>
    DontNeed,
}
