namespace EQueue.Support;

/// <summary>What a disk can be asked to change.</summary>
public enum DiskOperationKind
{
    /// <summary>A new file under a name.</summary>
    Create,

    /// <summary>Bytes at an offset.</summary>
    Write,

    /// <summary>Another length, up or down.</summary>
    SetLength,

    /// <summary>Everything written to a file so far survives a power cut.</summary>
    SyncFile,

    /// <summary>Another name for a file.</summary>
    Rename,

    /// <summary>A name goes.</summary>
    Delete,

    /// <summary>Names of a folder as they are survive a power cut.</summary>
    SyncDirectory,

    /// <summary>A new folder.</summary>
    CreateDirectory,
}

/// <summary>One change of a disk, in the order in which they were made.</summary>
/// <param name="Kind">What.</param>
/// <param name="File">Number of the file, -1 for folders.</param>
/// <param name="Path">Name of file or folder, where the change has one.</param>
/// <param name="Target">The new name of a rename.</param>
/// <param name="Offset">Of a write; the new length of SetLength.</param>
/// <param name="Bytes">Of a write.</param>
public sealed record DiskOperation(
    DiskOperationKind Kind, int File, string Path = "", string Target = "", long Offset = 0, byte[]? Bytes = null);
