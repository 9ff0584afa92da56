using EQueue.Support;

namespace EQueue.Remoting.Tests;

public sealed class WatchTimerTests : IDisposable
{
    private const long Never = long.MaxValue;

    private readonly HandTime _time = new();
    private readonly List<long> _rings = [];

    public void Dispose() => _time.Dispose();

    [Fact]
    public void GivenNothingDue_WhenTimePasses_ThenItRingsOnceASecond()
    {
        NewTimer(_ => Never);
        _time.Advance(3_500);
        Assert.Equal([1_000, 2_000, 3_000], _rings);
    }

    [Fact]
    public void GivenSomethingDue_WhenToldAtAnyTime_ThenItRingsByThenButNeverTwiceWithin50Milliseconds()
    {
        WatchTimer timer = NewTimer(_ => Never);
        _time.Advance(300);
        timer.At(420);
        timer.At(500);
        _time.Advance(120);
        timer.At(421);
        timer.At(422);
        _time.Advance(60);
        timer.At(Never);
        _time.Advance(1_000);
        Assert.Equal([420, 470, 1_470], _rings);
    }

    [Fact]
    public void GivenManyThatAreDueAtOnce_WhenToldOneAfterTheOther_ThenNoneOfThemPutsTheRingOff()
    {
        WatchTimer timer = NewTimer(_ => Never);
        for (int i = 0; i < 100; i++)
        {
            timer.At(_time.NowMs);
            _time.Advance(10);
        }

        Assert.Equal(Enumerable.Range(1, 20).Select(i => i * 50L), _rings);
    }

    [Fact]
    public void GivenWhoLooks_WhenHeTellsWhatIsDueNext_ThenItRingsThen()
    {
        NewTimer(now => now + 130);
        _time.Advance(1_300);
        Assert.Equal([1_000, 1_130, 1_260], _rings);
    }

    [Fact]
    public void GivenARingThatHasBegun_WhenSomethingIsToldMeanwhile_ThenItIsNotMissed()
    {
        WatchTimer? timer = null;
        timer = NewTimer(now =>
        {
            if (now == 1_000)
                timer!.At(1_200);
            return Never;
        });
        _time.Advance(1_500);
        Assert.Equal([1_000, 1_200], _rings);
    }

    [Fact]
    public async Task GivenATimerThatIsDisposedWhileItRings_WhenSomethingIsDueThen_ThenItRingsNoMore()
    {
        WatchTimer? timer = null;
        timer = NewTimer(now =>
        {
            Assert.True(timer!.DisposeAsync().IsCompletedSuccessfully);
            return now;
        });
        _time.Advance(1_000);
        timer.At(0);
        _time.Advance(5_000);
        Assert.Equal([1_000], _rings);
        await timer.DisposeAsync();
    }

    [Fact]
    public async Task GivenIdleClient_WhenItRests_ThenItsTimerHardlyRingsAndAShortTimeoutIsKeptAllTheSame()
    {
        await using TestServer server = await TestServer.StartAsync();
        var counted = new CountedTime();
        await using var client = new RemotingClient(
            server.EndPoint, new RemotingClientOptions(), new CollectedLog(), counted);
        Assert.Equal([1], await client.EchoAsync([1]));
        client.Invoke(Calls.Buffer([1]), ScriptedHandler.Echo, 1, Calls.Timeout).Dispose();
        int before = counted.Rings;
        long began = Environment.TickCount64;
        await Eventually.TrueAsync(() => Environment.TickCount64 - began > 2_500);
        long seconds = (Environment.TickCount64 - began) / 1_000;
        Assert.InRange(counted.Rings - before, 1, 5 + seconds);

        began = Environment.TickCount64;
        RemotingError error = await client.InvokeAsync(
            Calls.Buffer([]), ScriptedHandler.Hold, 1, TimeSpan.FromMilliseconds(200), CancellationToken.None)
            .ErrorOfAsync().WaitAsync(Calls.Timeout);
        Assert.Equal(RemotingError.Timeout, error);
        Assert.InRange(Environment.TickCount64 - began, 190, 5_000);
    }

    private WatchTimer NewTimer(Func<long, long> look) => new(_time, () => _time.NowMs, now =>
    {
        _rings.Add(now);
        return look(now);
    });

    /// <summary>The system's time, with a count of what its timers do.</summary>
    private sealed class CountedTime : TimeProvider
    {
        private int _rings;

        public int Rings => Volatile.Read(ref _rings);

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
            System.CreateTimer(
                given =>
                {
                    Interlocked.Increment(ref _rings);
                    callback(given);
                },
                state,
                dueTime,
                period);
    }

    /// <summary>A clock with one timer that rings once; time passes in <see cref="Advance"/> alone.</summary>
    private sealed class HandTime : TimeProvider, ITimer
    {
        private TimerCallback? _callback;
        private object? _state;
        private long _dueMs = Never;

        public long NowMs { get; private set; }

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            (_callback, _state) = (callback, state);
            Change(dueTime, period);
            return this;
        }

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            Assert.Equal(Timeout.InfiniteTimeSpan, period);
            _dueMs = dueTime == Timeout.InfiniteTimeSpan ? Never : NowMs + (long)dueTime.TotalMilliseconds;
            return true;
        }

        public void Advance(long ms)
        {
            long end = NowMs + ms;
            while (_dueMs <= end)
            {
                (NowMs, _dueMs) = (_dueMs, Never);
                _callback!(_state);
            }

            NowMs = end;
        }

        public void Dispose() => _dueMs = Never;

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
