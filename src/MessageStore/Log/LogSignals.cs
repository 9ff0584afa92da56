namespace EQueue.MessageStore;

/// <summary>What the threads of a log sleep on. Any thread raises them; each is waited on by one.</summary>
internal sealed class LogSignals
{
    /// <summary>Something is staged.</summary>
    public WorkSignal Writer { get; } = new();

    /// <summary>Something is written, and the flusher would not look at it in time.</summary>
    public WorkSignal Flusher { get; } = new();

    /// <summary>A file is wanted, or there may be room for one.</summary>
    public WorkSignal Preparer { get; } = new();

    /// <summary>A segment is sealed and settled, much state has changed, or the log is full: the keeper's.</summary>
    public WorkSignal Keeper { get; } = new();

    /// <summary>Something has moved: for threads that wait until the log has come somewhere.</summary>
    public ProgressGate Progress { get; } = new();
}
