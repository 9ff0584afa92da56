namespace EQueue.MessageStore;

/// <summary>How <see cref="IDisk.Open"/> opens a file.</summary>
public enum DiskOpen
{
    /// <summary>For reading and writing; it must not exist.</summary>
    CreateNew,

    /// <summary>For reading and writing; it must exist.</summary>
    ReadWrite,

    /// <summary>For reading; it must exist.</summary>
    ReadOnly,
}
