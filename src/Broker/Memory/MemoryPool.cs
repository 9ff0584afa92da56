namespace EQueue.Broker;

/// <summary>Memory of one kind that the broker keeps for peers: how much it may be, and how much it is.</summary>
/// <remarks>Thread-safe. Taking and giving cost one interlocked addition.</remarks>
internal sealed class MemoryPool
{
    /// <summary>The part of a pool that one connection may take: one of so many.</summary>
    public const int ConnectionShare = 4;

    /// <summary>When a caller that finds no room tries again.</summary>
    public static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    private readonly Func<long>? _read;
    private readonly Lock _gate = new();
    private readonly LinkedList<Waiter> _line = new();
    private long _usedBytes;
    private long _refusals;
    private int _waiting;

    /// <param name="name">As the figures name it: one word.</param>
    /// <param name="setting">The setting of its bound.</param>
    /// <param name="maxBytes">The bound.</param>
    /// <param name="read">For a pool that is counted elsewhere: what is taken.</param>
    public MemoryPool(string name, string setting, long maxBytes, Func<long>? read = null)
    {
        Name = name;
        Setting = setting;
        MaxBytes = maxBytes;
        _read = read;
    }

    public string Name { get; }

    public string Setting { get; }

    public long MaxBytes { get; }

    /// <summary>What one connection may take.</summary>
    public long MaxBytesPerConnection => MaxBytes / ConnectionShare;

    public long UsedBytes => _read is null ? Volatile.Read(ref _usedBytes) : _read();

    /// <summary>How often there was no room, or a caller had to wait for it.</summary>
    public long Refusals => Volatile.Read(ref _refusals);

    /// <summary>Takes memory if there is room; nothing or less is always taken.</summary>
    public bool TryTake(long bytes)
    {
        if (Interlocked.Add(ref _usedBytes, bytes) <= MaxBytes || bytes <= 0)
            return true;
        Give(bytes);
        Interlocked.Increment(ref _refusals);
        return false;
    }

    /// <summary>Whether so many bytes more would fit; counts a refusal if not.</summary>
    public bool HasRoom(long bytes)
    {
        if (bytes <= 0 || UsedBytes + bytes <= MaxBytes)
            return true;
        Interlocked.Increment(ref _refusals);
        return false;
    }

    /// <summary>Takes memory that is taken anyway, or gives some back.</summary>
    public void Count(long bytes)
    {
        if (bytes > 0)
            Interlocked.Add(ref _usedBytes, bytes);
        else if (bytes < 0)
            Give(-bytes);
    }

    /// <summary>Gives memory back.</summary>
    public void Give(long bytes)
    {
        Interlocked.Add(ref _usedBytes, -bytes);
        if (Volatile.Read(ref _waiting) > 0)
            Serve();
    }

    /// <summary>Takes memory, after all who waited before. More than the whole pool is given to one that is alone.
    /// </summary>
    /// <exception cref="OperationCanceledException">The token ended the wait; nothing is taken.</exception>
    public ValueTask TakeAsync(long bytes, CancellationToken cancellationToken)
    {
        if (Volatile.Read(ref _waiting) == 0)
        {
            if (TryTake(bytes))
                return ValueTask.CompletedTask;
        }
        else
        {
            Interlocked.Increment(ref _refusals);
        }

        return new ValueTask(WaitAsync(bytes, cancellationToken));
    }

    /// <summary>The error of a caller that finds no room.</summary>
    /// <param name="what">What could not be done, as the begin of a sentence.</param>
    public EQueueException Full(string what) => new(
        ErrorCode.LimitReached,
        $"{what}: {UsedBytes} of {MaxBytes} bytes of the memory for {Name} are taken ({Setting}).")
    {
        RetryAfter = RetryAfter,
    };

    private async Task WaitAsync(long bytes, CancellationToken cancellationToken)
    {
        var waiter = new Waiter(bytes);
        lock (_gate)
        {
            waiter.Place = _line.AddLast(waiter);
            Volatile.Write(ref _waiting, _line.Count);
        }

        Serve();
        await using CancellationTokenRegistration ending = cancellationToken.UnsafeRegister(
            static (state, token) =>
            {
                (MemoryPool pool, Waiter waiter) = ((MemoryPool, Waiter))state!;
                pool.Leave(waiter, token);
            },
            (this, waiter));
        await waiter.Granted.Task;
    }

    private void Leave(Waiter waiter, CancellationToken token)
    {
        lock (_gate)
        {
            if (waiter.Place is null)
                return;
            _line.Remove(waiter.Place);
            waiter.Place = null;
            Volatile.Write(ref _waiting, _line.Count);
        }

        waiter.Granted.TrySetCanceled(token);
        Serve();
    }

    private void Serve()
    {
        lock (_gate)
        {
            while (_line.First is { Value: var first })
            {
                long used = Volatile.Read(ref _usedBytes);
                if (used > 0 && used + first.Bytes > MaxBytes)
                    break;
                Interlocked.Add(ref _usedBytes, first.Bytes);
                _line.RemoveFirst();
                first.Place = null;
                first.Granted.TrySetResult();
            }

            Volatile.Write(ref _waiting, _line.Count);
        }
    }

    private sealed class Waiter(long bytes)
    {
        public long Bytes { get; } = bytes;

        public LinkedListNode<Waiter>? Place { get; set; }

        public TaskCompletionSource Granted { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
