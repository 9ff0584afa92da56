namespace EQueue.Client;

/// <summary>An entry in the line of a topic.</summary>
internal abstract class LineEntry
{
    /// <summary>Who came after it; the line's own.</summary>
    public LineEntry? Next { get; set; }
}

/// <summary>A call that has the line for itself from its turn on until it is disposed.</summary>
internal sealed class LineTurn : LineEntry, IDisposable
{
    private readonly TaskCompletionSource _granted = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Completes when everybody before it has been admitted or has given up.</summary>
    public Task Granted => _granted.Task;

    public Task Ended => _ended.Task;

    public void Grant() => _granted.TrySetResult();

    public void Dispose() => _ended.TrySetResult();
}
