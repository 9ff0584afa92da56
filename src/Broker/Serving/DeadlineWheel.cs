namespace EQueue.Broker;

/// <summary>Ends waits: one timer for all of them, ticking only while a caller waits.</summary>
/// <remarks>
/// Thread-safe. Adding and removing cost the same however many wait; a wait ends up to one tick late. The timer rings
/// when the next wait ends, and each 400 ms at least, so that a parked request costs next to nothing. The clock counts
/// only time in which the wheel turned: a gap of more than <see cref="LongestGap"/> between two turns is a pause of
/// this process, its pool or its machine, and no wait ends for that.
/// </remarks>
internal sealed class DeadlineWheel<T> : IThreadPoolWorkItem, IDisposable
    where T : class, IDeadline
{
    private const int SlotCount = 512;

    /// <summary>Ticks from one turn to the next at most, well below <see cref="LongestGap"/>.</summary>
    private const int SlowTicks = 20;

    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(20);
    private static readonly TimeSpan LongestGap = TimeSpan.FromSeconds(1);

    private readonly Lock _gate = new();
    private readonly Action<T> _onDue;
    private readonly TimeProvider _time;
    private readonly long _started;
    private readonly IDeadline?[] _slots = new IDeadline?[SlotCount];
    private readonly ITimer _timer;
    private TimeSpan _lastTurn;
    private TimeSpan _paused;
    private TimeSpan _period;
    private long _lastTick;
    private long _nextTick;
    private int _count;
    private bool _isTicking;
    private bool _isThePools;
    private bool _isDisposed;

    /// <param name="time">Measures the waits.</param>
    /// <param name="onDue">Called on the pool for each wait that is over, after its removal.</param>
    public DeadlineWheel(TimeProvider time, Action<T> onDue)
    {
        _time = time;
        _onDue = onDue;
        _started = time.GetTimestamp();
        _timer = TickThread.CreateTimer(time, Look);
    }

    /// <summary>Time since the wheel was made, without pauses. Steps back by up to the longest gap after one.</summary>
    public TimeSpan Now
    {
        get
        {
            lock (_gate)
                return Clock();
        }
    }

    public void Add(T waiter, TimeSpan wait)
    {
        lock (_gate)
        {
            if (_isDisposed)
                return;
            Unlink(waiter);
            _count++;
            if (!_isTicking)
            {
                _isTicking = true;
                _lastTurn = _time.GetElapsedTime(_started);
                _lastTick = (_lastTurn - _paused).Ticks / Tick.Ticks;
                _nextTick = long.MaxValue;
            }

            DeadlinePlace place = waiter.Place;
            long now = Clock().Ticks / Tick.Ticks;
            place.DueTick = now + 1 + (long)(wait / Tick);
            if (place.DueTick < _nextTick)
                RingAt(Math.Min(place.DueTick, now + SlowTicks), now);
            place.Slot = (int)(place.DueTick % SlotCount);
            place.Previous = null;
            place.Next = _slots[place.Slot];
            if (place.Next is { } next)
                next.Place.Previous = waiter;
            _slots[place.Slot] = waiter;
        }
    }

    /// <summary>Takes a waiter out; does nothing when it is not in the wheel. The timer that rings for it next finds
    /// nothing and rests: a wait that is ended a thousand times a second touches no timer.</summary>
    public void Remove(T waiter)
    {
        lock (_gate)
            Unlink(waiter);
    }

    public void Dispose()
    {
        lock (_gate)
            _isDisposed = true;
        _timer.Dispose();
    }

    private TimeSpan Clock()
    {
        TimeSpan elapsed = _time.GetElapsedTime(_started);
        if (_isTicking && elapsed - _lastTurn > LongestGap)
            elapsed = _lastTurn + LongestGap;
        return elapsed - _paused;
    }

    /// <summary>Turns the wheel where no wait is over; else a thread of the pool is to, and until it does the wheel
    /// stands still: a pool that has no thread to spare is a pause as well.</summary>
    /// <returns>What the pool is to do; null = nothing.</returns>
    private IThreadPoolWorkItem? Look()
    {
        lock (_gate)
        {
            if (_isThePools)
                return null;
            _isThePools = MayBeDue();
            if (_isThePools)
                return this;
            Turn([]);
            return null;
        }
    }

    void IThreadPoolWorkItem.Execute()
    {
        List<T> due = [];
        lock (_gate)
        {
            _isThePools = false;
            Turn(due);
        }

        foreach (T waiter in due)
            _onDue(waiter);
    }

    /// <summary>Whether a wait is in the slots that the next turn goes over. Under the gate.</summary>
    private bool MayBeDue()
    {
        long now = Clock().Ticks / Tick.Ticks;
        for (long tick = FirstTick(now); tick <= now; tick++)
        {
            if (_slots[tick % SlotCount] is not null)
                return true;
        }

        return false;
    }

    /// <summary>Takes out the waits that are over. Under the gate.</summary>
    private void Turn(List<T> due)
    {
        TimeSpan elapsed = _time.GetElapsedTime(_started);
        if (elapsed - _lastTurn > LongestGap)
            _paused += elapsed - _lastTurn - Tick;
        _lastTurn = elapsed;
        long now = (elapsed - _paused).Ticks / Tick.Ticks;
        for (long tick = FirstTick(now); tick <= now; tick++)
            CollectDue((int)(tick % SlotCount), now, due);
        _lastTick = Math.Max(_lastTick, now);
        _isTicking = _count > 0 && !_isDisposed;
        if (_isTicking)
            GoOn(NextTick(now), now);
        else if (!_isDisposed)
            _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    private long FirstTick(long now) => Math.Max(_lastTick + 1, now - SlotCount + 1);

    private void CollectDue(int slot, long now, List<T> due)
    {
        IDeadline? waiter = _slots[slot];
        while (waiter is not null)
        {
            IDeadline? next = waiter.Place.Next;
            if (waiter.Place.DueTick <= now)
            {
                Unlink(waiter);
                due.Add((T)waiter);
            }

            waiter = next;
        }
    }

    /// <summary>The next tick at which a wait may end, or at which the wheel is to turn all the same.</summary>
    private long NextTick(long now)
    {
        long tick = now + 1;
        while (tick < now + SlowTicks && _slots[tick % SlotCount] is null)
            tick++;
        return tick;
    }

    /// <summary>As <see cref="RingAt"/> in a turn: a timer that rings then anyway is not set, for that wakes the
    /// runtime's thread of timers.</summary>
    private void GoOn(long tick, long now)
    {
        if (Tick * (tick - now) == _period)
            _nextTick = tick;
        else
            RingAt(tick, now);
    }

    private void RingAt(long tick, long now)
    {
        _nextTick = tick;
        TimeSpan wait = Tick * (tick - now);
        _period = wait;
        _timer.Change(wait, wait);
    }

    private void Unlink(IDeadline waiter)
    {
        DeadlinePlace place = waiter.Place;
        if (place.Slot < 0)
            return;
        if (place.Previous is { } previous)
            previous.Place.Next = place.Next;
        else
            _slots[place.Slot] = place.Next;
        if (place.Next is { } next)
            next.Place.Previous = place.Previous;
        place.Slot = -1;
        place.Previous = place.Next = null;
        _count--;
    }
}
