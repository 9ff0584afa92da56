namespace EQueue.MessageStore;

/// <summary>Why a disk refused. The store waits while it is <see cref="Full"/> or there is a
/// <see cref="Shortage"/>, and stops at the rest.</summary>
public enum DiskFault
{
    /// <summary>No room, or the quota is used up.</summary>
    Full,

    /// <summary>The process or the machine has no descriptor or no memory for the call now. Nothing was done. A failed
    /// sync never counts as one: what it did is not known.</summary>
    Shortage,

    /// <summary>The volume is read-only.</summary>
    ReadOnly,

    /// <summary>The process may not.</summary>
    Denied,

    /// <summary>No such file or folder.</summary>
    NotFound,

    /// <summary>A file of that name exists.</summary>
    Exists,

    /// <summary>Another process holds the lock.</summary>
    Locked,

    /// <summary>Everything else: the device failed.</summary>
    Io,
}
