namespace EQueue.MessageStore;

/// <summary>One level of acknowledgement: how far the log has reached it, and who waits for it.</summary>
/// <remarks>
/// Thread-safe. A single broker reaches its levels itself, as it writes and syncs; a leader's levels are what all its
/// replicas have reached (<see cref="QueueStore.SetCommitted"/>). Waiters are told outside the lock, in the order of
/// their requests as long as one thread at a time calls <see cref="Reach"/>.
/// </remarks>
/// <param name="reached">Where it begins.</param>
internal sealed class CommitLevel(long reached)
{
    private readonly Lock _lock = new();
    private WaiterQueue _waiters;
    private long _reached = reached;

    /// <summary>Takes waiters behind those that are here; those whose level is reached are told at the next
    /// <see cref="Reach"/>.</summary>
    public void Add(ref WaiterQueue incoming)
    {
        if (incoming.IsEmpty)
            return;
        lock (_lock)
            _waiters.TakeAll(ref incoming);
    }

    /// <summary>Moves the level forward, never back, and tells those who waited for that.</summary>
    public void Reach(long position)
    {
        WaiterQueue ready;
        lock (_lock)
        {
            position = Math.Max(position, _reached);
            _reached = position;
            ready = _waiters.TakeReached(position);
        }
        ready.Complete();
    }

    /// <summary>Tells all that the level will never be reached.</summary>
    public void Fail(Exception fault)
    {
        WaiterQueue failed = default;
        lock (_lock)
            failed.TakeAll(ref _waiters);
        failed.Fail(fault);
    }
}
