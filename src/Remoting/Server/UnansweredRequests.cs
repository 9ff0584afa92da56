namespace EQueue.Remoting;

/// <summary>Counts what a connection has handed to its handler and what of it was answered, so that a server that stops
/// knows when all is answered.</summary>
/// <remarks>The receive loop counts without a fence; only while it handles nothing is the count true.</remarks>
internal sealed class UnansweredRequests
{
    private readonly TaskCompletionSource _drained = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _requests;
    private int _answeredByLoop;
    private int _answeredByOthers;
    private int _isHandling;
    private int _isDraining;

    /// <summary>Whether the receive loop is handling frames. Any thread.</summary>
    public bool IsHandling => Volatile.Read(ref _isHandling) != 0;

    /// <summary>Whether no further frame is to be handled. Any thread.</summary>
    public bool IsDraining => Volatile.Read(ref _isDraining) != 0;

    /// <summary>The receive loop hands over a request.</summary>
    public void NoteRequest() => _requests++;

    /// <summary>The receive loop has answered one, before <see cref="EndHandling"/>.</summary>
    public void NoteAnswerByLoop() => _answeredByLoop++;

    /// <summary>A thread has answered one.</summary>
    public void NoteAnswer()
    {
        Interlocked.Increment(ref _answeredByOthers);
        if (IsDraining)
            CheckDrained();
    }

    /// <summary>The receive loop begins to handle frames.</summary>
    public void BeginHandling() => Interlocked.Exchange(ref _isHandling, 1);

    /// <summary>The receive loop has handled the frames at hand.</summary>
    public void EndHandling()
    {
        Interlocked.Exchange(ref _isHandling, 0);
        if (IsDraining)
            CheckDrained();
    }

    /// <summary>No further frame is to be handled.</summary>
    /// <returns>Completes when every request that was handed over is answered, or the connection has ended.</returns>
    public Task BeginDrain()
    {
        Interlocked.Exchange(ref _isDraining, 1);
        CheckDrained();
        return _drained.Task;
    }

    /// <summary>The connection has ended: nothing will be answered.</summary>
    public void Abandon() => _drained.TrySetResult();

    private void CheckDrained()
    {
        int unanswered = unchecked(_requests - _answeredByLoop - Volatile.Read(ref _answeredByOthers));
        if (!IsHandling && unanswered <= 0)
            _drained.TrySetResult();
    }
}
