namespace EQueue.Broker.Tests;

/// <summary>
/// A clock that the test sets; it goes on by itself as well. Moved in steps below a second, with every timer that ticks
/// called at each, because a longer gap counts as a pause of the process.
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

    private sealed class Ticker(ManualTime time, TimerCallback callback, object? state) : ITimer
    {
        private readonly ITimer _timer =
            System.CreateTimer(callback, state, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            lock (time._gate)
            {
                if (period > TimeSpan.Zero && period < Step)
                    time._ticking.Add(this);
                else
                    time._ticking.Remove(this);
            }

            return _timer.Change(dueTime, period);
        }

        public void Tick() => callback(state);

        public void Dispose()
        {
            lock (time._gate)
                time._ticking.Remove(this);
            _timer.Dispose();
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
