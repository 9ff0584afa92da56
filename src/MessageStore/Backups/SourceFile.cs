namespace EQueue.MessageStore;

/// <summary>A file of the data directory that a backup must hold.</summary>
/// <param name="Name">As in <see cref="BackupFile.Name"/>.</param>
/// <param name="Path">Where it is.</param>
/// <param name="Size">The first so many bytes of it; where it has fewer, all.</param>
/// <param name="IsDerived">Whether an opening can make it again: when it is gone, nothing is lost.</param>
/// <param name="IsOld">Whether few read it: the system's page cache need not keep what was copied.</param>
internal sealed record SourceFile(string Name, string Path, long Size, bool IsDerived = false, bool IsOld = false);
