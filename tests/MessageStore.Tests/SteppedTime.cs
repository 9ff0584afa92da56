namespace EQueue.MessageStore.Tests;

/// <summary>A clock with timers that stands still until a test moves it.</summary>
internal sealed class SteppedTime : TimeProvider
{
    private static readonly DateTimeOffset Start = DateTimeOffset.FromUnixTimeMilliseconds(1_700_000_000_000);

    private readonly Lock _lock = new();
    private readonly List<StepTimer> _timers = [];
    private TimeSpan _now;

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public TimeSpan Now
    {
        get
        {
            lock (_lock)
                return _now;
        }
    }

    /// <summary>When the next timer fires that fires once; null while none is set. Those that look now and then fire
    /// when the clock has passed them.</summary>
    public TimeSpan? NextDue
    {
        get
        {
            lock (_lock)
                return _timers.Where(timer => timer.Period <= TimeSpan.Zero).Min(timer => timer.Due);
        }
    }

    public override DateTimeOffset GetUtcNow() => Start + Now;

    public override long GetTimestamp() => Now.Ticks;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var timer = new StepTimer(this, callback, state);
        lock (_lock)
            _timers.Add(timer);
        timer.Change(dueTime, period);
        return timer;
    }

    /// <summary>Moves the clock to a time and fires what is due by then.</summary>
    public void MoveTo(TimeSpan time)
    {
        StepTimer[] due;
        lock (_lock)
        {
            _now = time > _now ? time : _now;
            due = [.. _timers.Where(timer => timer.Due <= _now)];
            foreach (StepTimer timer in due)
                timer.Due = timer.Period > TimeSpan.Zero ? _now + timer.Period : null;
        }

        foreach (StepTimer timer in due)
            timer.Fire();
    }

    private sealed class StepTimer(SteppedTime time, TimerCallback callback, object? state) : ITimer
    {
        public TimeSpan? Due { get; set; }

        public TimeSpan Period { get; private set; }

        public void Fire() => callback(state);

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            lock (time._lock)
                (Due, Period) = (dueTime < TimeSpan.Zero ? null : time._now + dueTime, period);
            return true;
        }

        public void Dispose()
        {
            lock (time._lock)
                time._timers.Remove(this);
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
