namespace EQueue.Client;

/// <summary>
/// Tells one waiting loop that there is something to look at; told before it waits, it does not wait.
/// </summary>
internal sealed class WakeSignal
{
    private readonly Lock _lock = new();
    private TaskCompletionSource _told = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Completes at the first <see cref="Set"/> since the last <see cref="Reset"/>.</summary>
    public Task Told
    {
        get
        {
            lock (_lock)
                return _told.Task;
        }
    }

    public void Set()
    {
        lock (_lock)
            _told.TrySetResult();
    }

    /// <summary>To be called before looking: what comes later tells again.</summary>
    public void Reset()
    {
        lock (_lock)
        {
            if (_told.Task.IsCompleted)
                _told = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        }
    }
}
