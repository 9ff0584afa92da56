namespace EQueue.MessageStore.Tests;

/// <summary>An append waiter whose end a test may look at.</summary>
internal sealed class Waiter : AppendWaiter
{
    private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public Task Done => _done.Task;

    public bool IsDone => _done.Task.IsCompleted;

    protected internal override void OnCompleted(Exception? fault)
    {
        if (fault is null)
            _done.TrySetResult();
        else
            _done.TrySetException(fault);
    }
}
