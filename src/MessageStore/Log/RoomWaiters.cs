namespace EQueue.MessageStore;

/// <summary>Those whose append found no room: each is told once that another try is worth it.</summary>
/// <param name="gate">The log's lock.</param>
internal sealed class RoomWaiters(Lock gate)
{
    private readonly List<TaskCompletionSource> _waiting = [];
    private bool _isAwaited;

    /// <summary>Whether one waits. Any thread, without the lock.</summary>
    public bool IsAwaited => Volatile.Read(ref _isAwaited);

    /// <summary>Waits from now on; under the log's lock.</summary>
    public Task Add()
    {
        var room = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _waiting.Add(room);
        Volatile.Write(ref _isAwaited, true);
        return room.Task;
    }

    /// <summary>Takes all that wait, for <see cref="Tell"/>; under the log's lock.</summary>
    public TaskCompletionSource[] Take()
    {
        TaskCompletionSource[] taken = [.. _waiting];
        _waiting.Clear();
        Volatile.Write(ref _isAwaited, false);
        return taken;
    }

    /// <summary>Tells those taken; without the lock.</summary>
    public static void Tell(TaskCompletionSource[] taken)
    {
        foreach (TaskCompletionSource waiter in taken)
            waiter.TrySetResult();
    }

    /// <summary>Tells all, whether there is room or not: their next try gets another answer now.</summary>
    public void TellAll()
    {
        TaskCompletionSource[] taken;
        lock (gate)
            taken = Take();
        Tell(taken);
    }
}
