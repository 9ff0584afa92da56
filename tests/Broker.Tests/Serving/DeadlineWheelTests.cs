namespace EQueue.Broker.Tests.Waits;

/// <summary>
/// How often the wheel turns, and when waits end (to a tick), on a clock that only the test moves.
/// </summary>
public sealed class DeadlineWheelTests : IDisposable
{
    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(20);

    private readonly TickTime _time = new();
    private readonly List<(Waiter Waiter, TimeSpan At)> _ended = [];

    public void Dispose() => _time.Dispose();

    [Fact]
    public void GivenALongWait_WhenItGoesOn_ThenTheWheelTurnsSeldomAndEndsItInTime()
    {
        using DeadlineWheel<Waiter> wheel = NewWheel();
        var wait = TimeSpan.FromSeconds(5);
        wheel.Add(new Waiter(), wait);

        _time.Advance(TimeSpan.FromSeconds(6));

        Assert.InRange(Assert.Single(_ended).At, wait - Tick, wait + (2 * Tick));
        Assert.InRange(_time.Turns, 1, 14);
        int turns = _time.Turns;
        _time.Advance(TimeSpan.FromSeconds(60));
        Assert.Equal(turns, _time.Turns);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(50)]
    [InlineData(199)]
    [InlineData(221)]
    [InlineData(499)]
    [InlineData(521)]
    [InlineData(1_234)]
    [InlineData(10_239)]
    [InlineData(30_000)]
    public void GivenALongWait_WhenAnotherBeginsInBetween_ThenItEndsInTimeToo(int waitMs)
    {
        using DeadlineWheel<Waiter> wheel = NewWheel();
        wheel.Add(new Waiter(), TimeSpan.FromMinutes(2));
        _time.Advance(TimeSpan.FromMilliseconds(1_777));
        var wait = TimeSpan.FromMilliseconds(waitMs);
        TimeSpan began = _time.Now;
        var second = new Waiter();
        wheel.Add(second, wait);

        _time.Advance(wait + (3 * Tick));

        (Waiter ended, TimeSpan at) = Assert.Single(_ended);
        Assert.Same(second, ended);
        Assert.InRange(at - began, wait - Tick, wait + (2 * Tick));
    }

    [Fact]
    public void GivenManyWaits_WhenTheyAreOver_ThenEachEndedInTimeAndTheRemovedOnesNever()
    {
        using DeadlineWheel<Waiter> wheel = NewWheel();
        var random = new Random(4711);
        var due = new Dictionary<Waiter, TimeSpan>();
        var removed = new HashSet<Waiter>();
        for (int i = 0; i < 2_000; i++)
        {
            var waiter = new Waiter();
            var wait = TimeSpan.FromMilliseconds(random.Next(1, 20_000));
            wheel.Add(waiter, wait);
            due[waiter] = _time.Now + wait;
            if (random.Next(4) == 0 && !_ended.Any(end => end.Waiter == waiter))
            {
                wheel.Remove(waiter);
                removed.Add(waiter);
            }

            _time.Advance(TimeSpan.FromMilliseconds(random.Next(0, 30)));
        }

        _time.Advance(TimeSpan.FromSeconds(21));

        Assert.Equal(due.Keys.Except(removed).ToHashSet(), _ended.Select(end => end.Waiter).ToHashSet());
        Assert.All(_ended, end => Assert.InRange(end.At, due[end.Waiter] - Tick, due[end.Waiter] + (2 * Tick)));
    }

    [Fact]
    public void GivenAWaitThatIsOver_WhenNoThreadIsFreeToEndItForLong_ThenThatIsAPauseForAllWaits()
    {
        using DeadlineWheel<Waiter> wheel = NewWheel();
        var starved = TimeSpan.FromSeconds(5);
        var first = new Waiter();
        var second = new Waiter();
        var third = new Waiter();
        var slack = TimeSpan.FromSeconds(0.1);

        // Over in the turn behind a slow one.
        var wait = TimeSpan.FromMilliseconds(820);
        wheel.Add(first, wait);
        wheel.Add(second, TimeSpan.FromSeconds(10));
        TimeSpan began = _time.Now;
        _time.Advance(wait - Tick);
        _time.Starved = starved;
        _time.Advance(2 * Tick);
        Assert.Empty(_ended);
        Assert.InRange(_time.Now - began, starved + wait, starved + wait + slack);
        Assert.InRange(wheel.Now, wait, wait + slack);

        TimeSpan later = _time.Now;
        wheel.Add(third, TimeSpan.FromMilliseconds(100));
        _time.Advance(TimeSpan.FromSeconds(20));
        Assert.Equal([first, third, second], _ended.Select(end => end.Waiter));
        Assert.InRange(_ended[0].At - later, TimeSpan.Zero, 3 * Tick);
        Assert.InRange(_ended[1].At - later, TimeSpan.FromMilliseconds(80), TimeSpan.FromMilliseconds(160));
        Assert.InRange(_ended[2].At - began - starved, TimeSpan.FromSeconds(9.9), TimeSpan.FromSeconds(10.1));
    }

    private DeadlineWheel<Waiter> NewWheel() => new(_time, waiter => _ended.Add((waiter, _time.Now)));

    private sealed class Waiter : IDeadline
    {
        public DeadlinePlace Place { get; } = new();
    }

    /// <summary>A clock with one periodic timer; time passes in <see cref="Advance"/> alone.</summary>
    private sealed class TickTime : TimeProvider, ITimer
    {
        private TimerCallback? _callback;
        private object? _state;
        private TimeSpan _due = TimeSpan.MaxValue;
        private TimeSpan _period;
        private int _looks;

        public TimeSpan Now { get; private set; } = TimeSpan.FromMilliseconds(3);

        /// <summary>How often the timer called.</summary>
        public int Turns { get; private set; }

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        /// <summary>How long the thread that shall end the next waits is kept waiting: until it looks at the clock, the
        /// second to do so in a turn.</summary>
        public TimeSpan Starved { get; set; }

        public override long GetTimestamp()
        {
            if (++_looks == 2 && Starved > TimeSpan.Zero)
                (Now, Starved) = (Now + Starved, TimeSpan.Zero);
            return Now.Ticks;
        }

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            (_callback, _state) = (callback, state);
            Change(dueTime, period);
            return this;
        }

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            _due = dueTime == Timeout.InfiniteTimeSpan ? TimeSpan.MaxValue : Now + dueTime;
            _period = period;
            return true;
        }

        public void Advance(TimeSpan by)
        {
            TimeSpan end = Now + by;
            while (_due <= end)
            {
                Now = _due;
                _due += _period;
                Turns++;
                _looks = 0;
                _callback!(_state);
            }

            Now = Now > end ? Now : end;
        }

        public void Dispose() => _due = TimeSpan.MaxValue;

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
