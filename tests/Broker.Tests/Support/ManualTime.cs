namespace EQueue.Broker.Tests;

/// <summary>
/// A clock that the test sets; it runs by itself as well. Moved in steps below a second, with every timer that ticks
/// or is due called at each, because a longer gap counts as a pause of the process.
/// </summary>
internal sealed class ManualTime : TimeProvider
{
    private static readonly TimeSpan Step = TimeSpan.FromMilliseconds(500);

    private readonly Lock _gate = new();
    private readonly HashSet<Ticker> _ticking = [];
    private long _aheadTicks;
    private long _setTicks;

    public override DateTimeOffset GetUtcNow() =>
        base.GetUtcNow().AddTicks(Volatile.Read(ref _aheadTicks) + Volatile.Read(ref _setTicks));

    public override long GetTimestamp() =>
        base.GetTimestamp()
        + (long)((Int128)Volatile.Read(ref _aheadTicks) * TimestampFrequency / TimeSpan.TicksPerSecond);

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var ticker = new Ticker(this, callback, state);
        ticker.Change(dueTime, period);
        return ticker;
    }

    public void Advance(TimeSpan by)
    {
        for (TimeSpan done = TimeSpan.Zero; done < by; done += Step)
        {
            TimeSpan left = by - done;
            Jump(left < Step ? left : Step);
            Ticker[] ticking;
            lock (_gate)
                ticking = [.. _ticking];
            foreach (Ticker ticker in ticking)
                ticker.Tick();
        }
    }

    /// <summary>Sets the wall clock alone.</summary>
    public void SetWallClock(TimeSpan by) => Interlocked.Add(ref _setTicks, by.Ticks);

    /// <summary>Moves the clock at once, as a pause of the process does.</summary>
    public void Jump(TimeSpan by) => Interlocked.Add(ref _aheadTicks, by.Ticks);

    /// <summary>A timer of the system, called by the test as well: at each step when it ticks, once when it is due
    /// otherwise.</summary>
    private sealed class Ticker : ITimer
    {
        private readonly ManualTime _time;
        private readonly TimerCallback _callback;
        private readonly object? _state;
        private readonly ITimer _timer;
        private bool _isSingle;
        private long _dueAt;

        public Ticker(ManualTime time, TimerCallback callback, object? state)
        {
            _time = time;
            _callback = callback;
            _state = state;
            _timer = System.CreateTimer(
                static ticker => ((Ticker)ticker!).Call(isDue: true),
                this,
                Timeout.InfiniteTimeSpan,
                Timeout.InfiniteTimeSpan);
        }

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            lock (_time._gate)
            {
                _isSingle = dueTime >= TimeSpan.Zero && period <= TimeSpan.Zero;
                _dueAt = _time.GetTimestamp() + (long)(dueTime.TotalSeconds * _time.TimestampFrequency);
                if (_isSingle || (period > TimeSpan.Zero && period < Step))
                    _time._ticking.Add(this);
                else
                    _time._ticking.Remove(this);
            }

            return _timer.Change(dueTime, period);
        }

        public void Tick() => Call(isDue: false);

        public void Dispose()
        {
            lock (_time._gate)
                _time._ticking.Remove(this);
            _timer.Dispose();
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }

        private void Call(bool isDue)
        {
            lock (_time._gate)
            {
                // A single call is made by the system or by the test, whichever is first.
                if (_isSingle && !((isDue || _time.GetTimestamp() >= _dueAt) && _time._ticking.Remove(this)))
                    return;
            }

            _callback(_state);
        }
    }
}
