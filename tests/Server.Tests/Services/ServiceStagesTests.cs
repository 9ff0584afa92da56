using EQueue.Server.Services;

namespace EQueue.Server.Tests.Services;

/// <summary>What a service control manager would see of starts and stops, in the order in which it is called.</summary>
public sealed class ServiceStagesTests : IDisposable
{
    private readonly HandTime _time = new();
    private readonly ServiceStages _stages;
    private int _asked;

    public ServiceStagesTests() => _stages = new ServiceStages(_time, time =>
    {
        Assert.Equal(ServiceStages.Extension, time);
        Interlocked.Increment(ref _asked);
    });

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private int Asked => Volatile.Read(ref _asked);

    [Fact]
    public async Task GivenALongRecovery_WhenTheBrokerServesAtLast_ThenTheStartWasPendingUntilThen()
    {
        Task<bool> start = await StartAsync();
        for (int i = 0; i < 3; i++)
            _time.Tick();
        Assert.Equal(4, Asked);
        Assert.False(start.IsCompleted);

        _stages.Serve();
        Assert.True(await start.WaitAsync(Token));
        Assert.Equal(0, _time.Count);
    }

    [Fact]
    public async Task GivenAStartThatFails_WhenTheHostEnds_ThenTheServiceHasNotStarted()
    {
        Task<bool> start = await StartAsync();
        _stages.End();
        Assert.False(await start.WaitAsync(Token));

        // What comes late changes nothing.
        _stages.Serve();
        Assert.False(_stages.WaitForStart());
        Assert.Equal(0, _time.Count);
    }

    [Fact]
    public void GivenAServerThatServes_WhenItStopsForLong_ThenTheStopAsksForTimeUntilItIsOver()
    {
        _stages.Serve();
        Assert.True(_stages.WaitForStart());
        _stages.End();
        Assert.True(_stages.WaitForStart());
        int before = Asked;

        using (_stages.Pend())
        {
            Assert.Equal(before + 1, Asked);
            for (int i = 0; i < 3; i++)
                _time.Tick();
            Assert.Equal(before + 4, Asked);
        }

        Assert.Equal(0, _time.Count);
    }

    public void Dispose() => _stages.Dispose();

    /// <summary>Begins to wait on a thread of its own, as the service control manager does.</summary>
    private async Task<Task<bool>> StartAsync()
    {
        Task<bool> start = Task.Factory.StartNew(
            _stages.WaitForStart, Token, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        await EQueue.Support.Eventually.TrueAsync(() => Task.FromResult(_time.Count == 1));
        return start;
    }

    /// <summary>A clock whose timers tick when the test says so.</summary>
    private sealed class HandTime : TimeProvider
    {
        private readonly List<HandTimer> _timers = [];

        public int Count
        {
            get
            {
                lock (_timers)
                    return _timers.Count;
            }
        }

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            Assert.Equal(ServiceStages.ExtensionInterval, dueTime);
            Assert.Equal(ServiceStages.ExtensionInterval, period);
            var timer = new HandTimer(this, () => callback(state));
            lock (_timers)
                _timers.Add(timer);
            return timer;
        }

        public void Tick()
        {
            HandTimer[] timers;
            lock (_timers)
                timers = [.. _timers];
            foreach (HandTimer timer in timers)
                timer.Call();
        }

        private sealed class HandTimer(HandTime time, Action call) : ITimer
        {
            public Action Call { get; } = call;

            public bool Change(TimeSpan dueTime, TimeSpan period) => throw new NotSupportedException();

            public void Dispose()
            {
                lock (time._timers)
                    time._timers.Remove(this);
            }

            public ValueTask DisposeAsync()
            {
                Dispose();
                return ValueTask.CompletedTask;
            }
        }
    }
}
