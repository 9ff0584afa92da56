namespace EQueue.Client;

/// <summary>What was left and ends in the background; its owner waits for it only at its own end.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class Endings
{
    private readonly List<Task> _tasks = [];

    /// <summary>How many are kept: those that have not ended, or have failed, as of the last one begun.</summary>
    public int Count
    {
        get
        {
            lock (_tasks)
                return _tasks.Count;
        }
    }

    /// <summary>Disposes something, without waiting for it.</summary>
    public void Begin(IAsyncDisposable left)
    {
        lock (_tasks)
        {
            _tasks.RemoveAll(static task => task.IsCompletedSuccessfully);
            _tasks.Add(Task.Run(() => left.DisposeAsync().AsTask()));
        }
    }

    /// <summary>Waits for all that were begun.</summary>
    public Task WhenAllAsync()
    {
        lock (_tasks)
            return Task.WhenAll(_tasks);
    }
}
