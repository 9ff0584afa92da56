namespace EQueue.MessageStore;

/// <summary>A file in a folder.</summary>
/// <param name="Name">Without the folder.</param>
/// <param name="Size">Bytes.</param>
public readonly record struct DiskEntry(string Name, long Size);
