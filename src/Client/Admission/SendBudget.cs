namespace EQueue.Client;

/// <summary>The memory that messages may hold until they are acknowledged. Counts whole buffers. Thread-safe.</summary>
/// <param name="total">Bytes. A single buffer larger than this is let in when nothing else is held.</param>
/// <param name="whole">What this one is a part of: what is taken here is taken there too.</param>
internal sealed class SendBudget(long total, SendBudget? whole = null)
{
    private readonly Lock _lock = new();
    private TaskCompletionSource? _released;
    private long _used;

    /// <summary>Bytes held now.</summary>
    public long Used => Volatile.Read(ref _used);

    /// <summary>Takes bytes if they are free.</summary>
    public bool TryReserve(long bytes)
    {
        long used = Volatile.Read(ref _used);
        while (used == 0 || used + bytes <= total)
        {
            long seen = Interlocked.CompareExchange(ref _used, used + bytes, used);
            if (seen == used)
                return TryReserveOfWhole(bytes);
            used = seen;
        }

        return false;
    }

    /// <summary>Gives bytes back.</summary>
    public void Release(long bytes)
    {
        Interlocked.Add(ref _used, -bytes);
        whole?.Release(bytes);
        if (Volatile.Read(ref _released) is null)
            return;
        TaskCompletionSource? released;
        lock (_lock)
        {
            released = _released;
            _released = null;
        }

        released?.TrySetResult();
    }

    /// <summary>Completes at the next release. Ask for it, try once more, then wait: so none is missed.</summary>
    public Task WhenReleased()
    {
        lock (_lock)
        {
            _released ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            return _released.Task;
        }
    }

    private bool TryReserveOfWhole(long bytes)
    {
        if (whole is null || whole.TryReserve(bytes))
            return true;
        Interlocked.Add(ref _used, -bytes);
        return false;
    }
}
