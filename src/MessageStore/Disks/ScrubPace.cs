namespace EQueue.MessageStore;

/// <summary>Makes its one thread wait: so long that no more bytes are read than a rate allows, or until it is
/// stopped.</summary>
/// <remarks>What was not read in time is not made up for: by any time at most the rate times the time since the first
/// read, and one piece, has been granted.</remarks>
internal sealed class ScrubPace : IDisposable
{
    /// <summary>The most bytes granted at once.</summary>
    public const int PieceBytes = 256 << 10;

    private readonly long _bytesPerSecond;
    private readonly TimeProvider _time;
    private readonly long _started;
    private readonly WorkSignal _signal = new();
    private readonly ITimer _timer;
    private TimeSpan _nextGrant;
    private long _bytes;
    private bool _isStopped;

    public ScrubPace(long bytesPerSecond, TimeProvider time)
    {
        _bytesPerSecond = bytesPerSecond;
        _time = time;
        _started = time.GetTimestamp();
        _timer = time.CreateTimer(
            static signal => ((WorkSignal)signal!).Raise(),
            _signal,
            Timeout.InfiniteTimeSpan,
            Timeout.InfiniteTimeSpan);
    }

    /// <summary>The time since it was made.</summary>
    public TimeSpan Now => _time.GetElapsedTime(_started);

    /// <summary>Bytes granted so far. Any thread.</summary>
    public long Bytes => Volatile.Read(ref _bytes);

    /// <summary>Returns when so many more bytes may be read.</summary>
    /// <param name="bytes">At most <see cref="PieceBytes"/>.</param>
    /// <exception cref="OperationCanceledException">It is stopped.</exception>
    public void Spend(int bytes)
    {
        WaitUntil(_nextGrant);
        _nextGrant = Now + TimeSpan.FromSeconds((double)bytes / _bytesPerSecond);
        Volatile.Write(ref _bytes, _bytes + bytes);
    }

    /// <summary>Returns at a time, or at once when it is over.</summary>
    /// <exception cref="OperationCanceledException">It is stopped.</exception>
    public void WaitUntil(TimeSpan due)
    {
        // Timers are coarser than the clock, and one that was set before may still fire: only the clock counts.
        while (!Volatile.Read(ref _isStopped) && due - Now is var wait && wait > TimeSpan.Zero)
        {
            _timer.Change(wait, Timeout.InfiniteTimeSpan);
            _signal.Wait();
        }
        if (Volatile.Read(ref _isStopped))
            throw new OperationCanceledException();
    }

    /// <summary>Ends the wait and refuses every later one. Any thread.</summary>
    public void Stop()
    {
        Volatile.Write(ref _isStopped, true);
        _signal.Raise();
    }

    public void Dispose() => _timer.Dispose();
}
