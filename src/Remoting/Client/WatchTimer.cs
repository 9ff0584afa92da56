namespace EQueue.Remoting;

/// <summary>The timer of a client: rings when the next thing is due, once a second when nothing is, and never twice
/// within 50 ms.</summary>
/// <remarks>Thread-safe. The callback returns when to ring again, and tells others what came up. An idle client
/// does not wake its machine twenty times a second to find nothing.</remarks>
internal sealed class WatchTimer : IAsyncDisposable
{
    /// <summary>From one ring to the next at least, in milliseconds.</summary>
    public const int ShortestMs = 50;

    /// <summary>At most.</summary>
    public const int LongestMs = 1_000;

    private const long Closed = long.MinValue;

    private readonly Lock _lock = new();
    private readonly Func<long> _nowMs;
    private readonly Func<long, long> _look;
    private readonly ITimer _timer;
    private long _nextMs = long.MaxValue;

    /// <param name="time">Whose timer it is.</param>
    /// <param name="nowMs">The clock by which things are due, in milliseconds.</param>
    /// <param name="look">Called with the time; tells when the next thing is due, as far as it knows.</param>
    public WatchTimer(TimeProvider time, Func<long> nowMs, Func<long, long> look)
    {
        _nowMs = nowMs;
        _look = look;
        _timer = time.CreateTimer(
            static watch => ((WatchTimer)watch!).Ring(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        lock (_lock)
            Schedule(long.MaxValue);
    }

    /// <summary>Rings by then. The caller has noted before what is due.</summary>
    public void At(long dueMs)
    {
        // Either the next ring sees what was noted, or it has begun already and this sees that.
        Interlocked.MemoryBarrier();
        if (dueMs >= Volatile.Read(ref _nextMs))
            return;
        lock (_lock)
            Schedule(dueMs);
    }

    /// <summary>Rings 50 ms from now at the latest.</summary>
    public void Soon() => At(_nowMs() + ShortestMs);

    /// <summary>Rings no more, and waits for a ring that has begun.</summary>
    public ValueTask DisposeAsync()
    {
        lock (_lock)
            _nextMs = Closed;
        return _timer.DisposeAsync();
    }

    private void Ring()
    {
        lock (_lock)
        {
            if (_nextMs == Closed)
                return;
            _nextMs = long.MaxValue;
        }

        Interlocked.MemoryBarrier();
        long dueMs = _look(_nowMs());
        lock (_lock)
            Schedule(dueMs);
    }

    /// <summary>Under the lock.</summary>
    private void Schedule(long dueMs)
    {
        long nowMs = _nowMs();
        long atMs = Math.Clamp(dueMs, nowMs + ShortestMs, nowMs + LongestMs);
        if (atMs >= _nextMs)
            return;
        _nextMs = atMs;
        _timer.Change(TimeSpan.FromMilliseconds(atMs - nowMs), Timeout.InfiniteTimeSpan);
    }
}
