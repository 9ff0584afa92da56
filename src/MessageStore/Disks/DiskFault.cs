namespace EQueue.MessageStore;

/// <summary>Why a disk refused. The store waits over <see cref="Full"/> and stops at the rest.</summary>
public enum DiskFault
{
    /// <summary>No room, or the quota is used up.</summary>
    Full,

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
