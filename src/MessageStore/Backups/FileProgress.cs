namespace EQueue.MessageStore;

/// <summary>How far long work on files has come.</summary>
/// <param name="DoneBytes">Looked at, copied, or known to be there; falls when the work has to look again.</param>
/// <param name="TotalBytes">All that there is to do; of a live store it may rise.</param>
public readonly record struct FileProgress(long DoneBytes, long TotalBytes);
