namespace EQueue.Broker;

/// <summary>Ends the wait of parked fetches: one timer for all of them, ticking only while somebody waits.</summary>
/// <remarks>Thread-safe. Adding and removing cost the same however many wait; a wait ends up to one tick
/// late.</remarks>
internal sealed class DeadlineWheel : IDisposable
{
    private const int SlotCount = 512;

    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(20);

    private readonly Lock _gate = new();
    private readonly Action<FetchSession> _onDue;
    private readonly TimeProvider _time;
    private readonly long _started;
    private readonly FetchSession?[] _slots = new FetchSession?[SlotCount];
    private readonly ITimer _timer;
    private long _lastTick;
    private int _count;
    private bool _isDisposed;

    /// <param name="time">Measures the waits.</param>
    /// <param name="onDue">Called on the timer's thread for each wait that is over, after its removal.</param>
    public DeadlineWheel(TimeProvider time, Action<FetchSession> onDue)
    {
        _time = time;
        _onDue = onDue;
        _started = time.GetTimestamp();
        _timer = time.CreateTimer(
            static wheel => ((DeadlineWheel)wheel!).Turn(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    public void Add(FetchSession session, TimeSpan wait)
    {
        lock (_gate)
        {
            if (_isDisposed)
                return;
            long now = Now();
            if (_count++ == 0)
            {
                _lastTick = now;
                _timer.Change(Tick, Tick);
            }

            Place place = session.Place;
            place.DueTick = now + 1 + (long)(wait / Tick);
            place.Slot = (int)(place.DueTick % SlotCount);
            place.Previous = null;
            place.Next = _slots[place.Slot];
            if (place.Next is { } next)
                next.Place.Previous = session;
            _slots[place.Slot] = session;
        }
    }

    /// <summary>Takes a session out; does nothing when it is not in the wheel.</summary>
    public void Remove(FetchSession session)
    {
        lock (_gate)
            Unlink(session);
    }

    public void Dispose()
    {
        lock (_gate)
            _isDisposed = true;
        _timer.Dispose();
    }

    private long Now() => _time.GetElapsedTime(_started).Ticks / Tick.Ticks;

    private void Turn()
    {
        List<FetchSession> due = [];
        lock (_gate)
        {
            long now = Now();
            long from = Math.Max(_lastTick + 1, now - SlotCount + 1);
            for (long tick = from; tick <= now; tick++)
                CollectDue((int)(tick % SlotCount), now, due);
            _lastTick = Math.Max(_lastTick, now);
        }

        foreach (FetchSession session in due)
            _onDue(session);
    }

    private void CollectDue(int slot, long now, List<FetchSession> due)
    {
        FetchSession? session = _slots[slot];
        while (session is not null)
        {
            FetchSession? next = session.Place.Next;
            if (session.Place.DueTick <= now)
            {
                Unlink(session);
                due.Add(session);
            }

            session = next;
        }
    }

    private void Unlink(FetchSession session)
    {
        Place place = session.Place;
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
        if (--_count == 0 && !_isDisposed)
            _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>A session's links in the wheel; guarded by the wheel's lock.</summary>
    internal sealed class Place
    {
        public int Slot { get; set; } = -1;

        public long DueTick { get; set; }

        public FetchSession? Previous { get; set; }

        public FetchSession? Next { get; set; }
    }
}
