namespace EQueue.MessageStore;

/// <summary>How far long work on files has come.</summary>
/// <param name="DoneBytes">Looked at or copied; falls when the work has to look again.</param>
/// <param name="TotalBytes">All that there is to do, as far as known: it changes while that becomes clear.</param>
public readonly record struct FileProgress(long DoneBytes, long TotalBytes);
