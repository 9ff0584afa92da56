using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>A waiter that a task stands for.</summary>
internal sealed class TaskWaiter : AppendWaiter
{
    private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public Task Task => _done.Task;

    /// <summary>What an append for a producer gives it.</summary>
    public ProducerSession Session { get; set; }

    protected internal override void OnCompleted(Exception? fault)
    {
        if (fault is null)
        {
            _done.TrySetResult();
        }
        else
        {
            _done.TrySetException(fault);
        }
    }
}
