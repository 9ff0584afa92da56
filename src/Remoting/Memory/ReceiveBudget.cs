namespace EQueue.Remoting;

/// <summary>Bounds the memory of receive blocks beyond each connection's first small one. Thread-safe.</summary>
/// <remarks>
/// At the bound a connection keeps to its small block, and one whose frame does not fit into it waits in line for as
/// much as the whole frame takes, so that it never waits a second time. One at a time may go beyond the bound: frames
/// that came in part hold memory as well, and somebody has to come to an end. So the memory is at most the bound and
/// one frame.
/// </remarks>
internal sealed class ReceiveBudget(long maxBytes)
{
    private readonly Lock _lock = new();
    private readonly LinkedList<Waiter> _line = [];
    private long _usedBytes;
    private bool _isBeyond;
    private int _waitingCount;

    /// <summary>Bytes taken now.</summary>
    public long UsedBytes => Volatile.Read(ref _usedBytes);

    /// <summary>Connections that wait; while there are any, who can do with less should.</summary>
    public int WaitingCount => Volatile.Read(ref _waitingCount);

    /// <summary>Takes memory if there is some and nobody waits for it.</summary>
    public bool TryTake(int bytes)
    {
        lock (_lock)
        {
            if (_line.Count > 0 || _usedBytes + bytes > maxBytes) return false;
            _usedBytes += bytes;
            return true;
        }
    }

    /// <summary>Takes memory for a whole frame, after all who waited before.</summary>
    /// <returns>Whether it goes beyond the bound, which is to be told when it is given back.</returns>
    /// <exception cref="OperationCanceledException">The connection closed.</exception>
    public async Task<bool> TakeAsync(int bytes, CancellationToken closed)
    {
        var waiter = new Waiter(bytes);
        lock (_lock)
        {
            waiter.Place = _line.AddLast(waiter);
            Serve();
        }

        using CancellationTokenRegistration ending = closed.UnsafeRegister(
            static (state, token) =>
            {
                (ReceiveBudget budget, Waiter waiter) = ((ReceiveBudget, Waiter))state!;
                budget.Leave(waiter, token);
            },
            (this, waiter));
        return await waiter.Granted.Task.ConfigureAwait(false);
    }

    /// <summary>Gives memory back.</summary>
    public void Give(int bytes, bool isBeyond)
    {
        lock (_lock)
        {
            _usedBytes -= bytes;
            if (isBeyond) _isBeyond = false;
            Serve();
        }
    }

    private void Leave(Waiter waiter, CancellationToken token)
    {
        lock (_lock)
        {
            if (waiter.Place is null) return;
            _line.Remove(waiter.Place);
            waiter.Place = null;
            Serve();
        }

        waiter.Granted.TrySetCanceled(token);
    }

    private void Serve()
    {
        Admit();
        Volatile.Write(ref _waitingCount, _line.Count);
    }

    private void Admit()
    {
        while (_line.First is { Value: var first })
        {
            bool fits = _usedBytes + first.Bytes <= maxBytes;
            if (!fits && _isBeyond) return;
            _isBeyond |= !fits;
            _usedBytes += first.Bytes;
            _line.RemoveFirst();
            first.Place = null;
            first.Granted.TrySetResult(!fits);
        }
    }

    private sealed class Waiter(int bytes)
    {
        public int Bytes { get; } = bytes;

        public LinkedListNode<Waiter>? Place { get; set; }

        public TaskCompletionSource<bool> Granted { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
