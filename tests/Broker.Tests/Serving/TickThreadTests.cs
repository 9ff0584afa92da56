using System.Diagnostics;
using EQueue.Support;

namespace EQueue.Broker.Tests.Waits;

/// <summary>Timers on the thread of their own ring when they are to, whatever the others do.</summary>
public sealed class TickThreadTests
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(20);
    private static readonly TimeSpan Long = TimeSpan.FromHours(1);

    [Fact]
    public async Task GivenATimerOfOneRing_WhenItsTimeHasCome_ThenItRingsOnceAndNotTooEarly()
    {
        var rings = new Rings();
        using ITimer timer = rings.NewTimer();
        long since = Stopwatch.GetTimestamp();
        Assert.True(timer.Change(Short, Timeout.InfiniteTimeSpan));
        await rings.ReachAsync(1);
        Assert.True(Stopwatch.GetElapsedTime(since) >= Short);
        await Eventually.PassedAsync(Short * 5);
        Assert.Equal(1, rings.Count);
    }

    [Fact]
    public async Task GivenATimerWithAPeriod_WhenItHasRungOften_ThenItKeptToItUntilItIsSetAnew()
    {
        var rings = new Rings();
        using ITimer timer = rings.NewTimer();
        long since = Stopwatch.GetTimestamp();
        timer.Change(TimeSpan.Zero, Short);
        await rings.ReachAsync(10);
        Assert.True(Stopwatch.GetElapsedTime(since) >= Short * 8.5, $"{Stopwatch.GetElapsedTime(since)}");
        timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        int count = rings.Count;
        await Eventually.PassedAsync(Short * 5);
        Assert.InRange(rings.Count, count, count + 1);
    }

    [Fact]
    public async Task GivenAThreadThatSleepsForLong_WhenATimerIsSetSooner_ThenItRingsThen()
    {
        var late = new Rings();
        var soon = new Rings();
        using ITimer first = late.NewTimer();
        using ITimer second = soon.NewTimer();
        first.Change(Long, Timeout.InfiniteTimeSpan);
        second.Change(Long, Timeout.InfiniteTimeSpan);
        await Eventually.PassedAsync(Short);
        second.Change(Short, Timeout.InfiniteTimeSpan);
        await soon.ReachAsync(1);
        first.Change(TimeSpan.Zero, Timeout.InfiniteTimeSpan);
        await late.ReachAsync(1);
    }

    [Fact]
    public async Task GivenWorkThatBlocks_WhenOtherTimersAreDue_ThenTheyRingAllTheSame()
    {
        using var blocking = new ManualResetEventSlim();
        var rings = new Rings();
        using ITimer blocked = TickThread.CreateTimer(TimeProvider.System, () => new Work(() => blocking.Wait()));
        using ITimer other = rings.NewTimer();
        blocked.Change(TimeSpan.Zero, Timeout.InfiniteTimeSpan);
        other.Change(Short, Short);
        await rings.ReachAsync(3);
        Assert.False(blocking.IsSet);
        blocking.Set();
    }

    [Fact]
    public async Task GivenManyTimers_WhenTheyAreSetAndDisposedAtOnce_ThenNoneRingsAfterItsEndAndTheOthersDo()
    {
        const int Timers = 50;
        Rings[] kept = [.. Enumerable.Range(0, Timers).Select(_ => new Rings())];
        Rings[] ended = [.. Enumerable.Range(0, Timers).Select(_ => new Rings())];
        ITimer[] timers = [.. kept.Select(rings => rings.NewTimer())];
        Parallel.For(0, Timers, i =>
        {
            ITimer gone = ended[i].NewTimer();
            gone.Change(Long, Short);
            timers[i].Change(Short, Short);
            gone.Dispose();
            Assert.False(gone.Change(TimeSpan.Zero, Short));
        });
        foreach (Rings rings in kept)
            await rings.ReachAsync(2);
        Assert.All(ended, rings => Assert.Equal(0, rings.Count));
        foreach (ITimer timer in timers)
            await timer.DisposeAsync();
    }

    [Fact]
    public void GivenAClockOfItsOwn_WhenItMoves_ThenItsTimerRings()
    {
        var time = new ManualTime();
        var rings = new Rings();
        using ITimer timer = rings.NewTimer(time);
        timer.Change(Long, Timeout.InfiniteTimeSpan);
        time.Advance(Long - TimeSpan.FromMinutes(1));
        Assert.Equal(0, rings.Count);
        time.Advance(TimeSpan.FromMinutes(2));
        Assert.Equal(1, rings.Count);
    }

    private sealed class Rings
    {
        private int _count;

        public int Count => Volatile.Read(ref _count);

        public ITimer NewTimer(TimeProvider? time = null) => TickThread.CreateTimer(
            time ?? TimeProvider.System,
            () =>
            {
                Interlocked.Increment(ref _count);
                return null;
            });

        public Task ReachAsync(int count) => Eventually.TrueAsync(() => Count >= count);
    }

    private sealed class Work(Action action) : IThreadPoolWorkItem
    {
        public void Execute() => action();
    }
}
