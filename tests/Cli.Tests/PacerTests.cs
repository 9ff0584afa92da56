using EQueue.Cli.Sending;

namespace EQueue.Cli.Tests;

public sealed class PacerTests
{
    [Theory]
    [InlineData(1, 20)]
    [InlineData(100, 2_000)]
    [InlineData(5_000, 50_000)]
    public async Task GivenARate_WhenMessagesAreSent_ThenTheClockAllowsExactlyThatMany(int rate, int messages)
    {
        var time = new SteppedTime();
        var pacer = new Pacer(rate, time);
        for (int i = 0; i < messages; i++)
            await pacer.WaitAsync(CancellationToken.None);
        // The first hundredth of a second's messages are free.
        double expected = (messages - Math.Max(1, rate / 100.0)) / rate;
        Assert.InRange(time.Elapsed.TotalSeconds, expected - 0.001, expected + 0.011);
    }

    [Fact]
    public async Task GivenALongPause_WhenSendingGoesOn_ThenWhatWasKeptBackDoesNotGoInAHeap()
    {
        var time = new SteppedTime();
        var pacer = new Pacer(1_000, time);
        time.Advance(TimeSpan.FromMinutes(1));
        TimeSpan before = time.Elapsed;
        for (int i = 0; i < 1_000; i++)
            await pacer.WaitAsync(CancellationToken.None);
        Assert.InRange((time.Elapsed - before).TotalSeconds, 0.88, 1.01);
    }

    [Fact]
    public async Task GivenNoToken_WhenTheCallerGivesUp_ThenTheWaitEnds()
    {
        var pacer = new Pacer(1, TimeProvider.System);
        await pacer.WaitAsync(CancellationToken.None);
        using var cancelled = new CancellationTokenSource();
        ValueTask waiting = pacer.WaitAsync(cancelled.Token);
        Assert.False(waiting.IsCompleted);
        await cancelled.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await waiting);
    }

    /// <summary>A clock that moves only when a caller waits for it, and then at once.</summary>
    private sealed class SteppedTime : TimeProvider
    {
        private long _ticks;

        public TimeSpan Elapsed => TimeSpan.FromTicks(Volatile.Read(ref _ticks));

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public void Advance(TimeSpan by) => Interlocked.Add(ref _ticks, by.Ticks);

        public override long GetTimestamp() => Volatile.Read(ref _ticks);

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            if (dueTime > TimeSpan.Zero)
            {
                Advance(dueTime);
                ThreadPool.QueueUserWorkItem(_ => callback(state));
            }

            return new Fired();
        }

        private sealed class Fired : ITimer
        {
            public bool Change(TimeSpan dueTime, TimeSpan period) => true;

            public void Dispose()
            {
            }

            public ValueTask DisposeAsync() => ValueTask.CompletedTask;
        }
    }
}
