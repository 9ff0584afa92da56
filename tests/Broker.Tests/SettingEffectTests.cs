using System.Collections.Concurrent;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>What settings of the broker do that no test of its parts shows by itself.</summary>
public sealed class SettingEffectTests
{
    [Fact]
    [EffectOf("Limits:MaxConnections")]
    public async Task GivenAsManyConnectionsAsMayBe_WhenOneMoreComes_ThenItIsClosedAndTakenWhenOneIsGone()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { MaxConnections = 2 } });
        await using TestPeer peer = await broker.ConnectAsync();
        using (RawConnection second = await RawConnection.ConnectAsync(broker.EndPoint))
        {
            await second.SayHelloAsync();
            using RawConnection third = await RawConnection.ConnectAsync(broker.EndPoint);
            await Assert.ThrowsAnyAsync<Exception>(third.SayHelloAsync);
            Assert.Equal(2, await peer.FigureAsync("broker.connections"));
        }

        await Eventually.TrueAsync(async () => await peer.FigureAsync("broker.connections") == 1);

        // Its place is free a moment after the figure says so.
        await Eventually.TrueAsync(async () =>
        {
            using RawConnection again = await RawConnection.ConnectAsync(broker.EndPoint);
            return await Record.ExceptionAsync(again.SayHelloAsync) is null;
        });
    }

    [Fact]
    [EffectOf("Topics:QueueCount", "Topics:RetentionAge", "Topics:RetentionBytes")]
    public async Task GivenWhatTopicsAreMadeOf_WhenOneIsMade_ThenItHasThatUnlessItsMakerSays()
    {
        await using TestBroker broker = await TestBroker.StartAsync(TestBroker.SmallOptions() with
        {
            Topics = new TopicOptions { QueueCount = 7, RetentionAge = TimeSpan.FromHours(5), RetentionBytes = 12345 },
        });
        await using TestPeer peer = await broker.ConnectAsync();
        TopicDescription plain = await peer.InvokeAsync(new CreateTopicRequest("plain", TopicSettings.None));
        Assert.Equal(
            (7, TimeSpan.FromHours(5), 12345L),
            (plain.Queues.Count, plain.Settings.RetentionAge, plain.Settings.RetentionBytes));
        var said = new TopicSettings { QueueCount = 2, RetentionAge = TimeSpan.FromHours(1), RetentionBytes = 1 };
        TopicDescription own = await peer.InvokeAsync(new CreateTopicRequest("own", said));
        Assert.Equal(
            (2, TimeSpan.FromHours(1), 1L),
            (own.Queues.Count, own.Settings.RetentionAge, own.Settings.RetentionBytes));
    }

    [Fact]
    [EffectOf("Topics:RetentionInterval", "Groups:ExpiryInterval", "Telemetry:GroupInterval")]
    public async Task GivenIntervals_WhenTheBrokerRuns_ThenItsRoundsComeAtThem()
    {
        var time = new PeriodRecorder();
        TimeSpan[] intervals = [TimeSpan.FromSeconds(61), TimeSpan.FromSeconds(62), TimeSpan.FromSeconds(63)];
        await using TestBroker broker = await TestBroker.StartAsync(
            TestBroker.SmallOptions() with
            {
                Topics = new TopicOptions { RetentionInterval = intervals[0] },
                Groups = new GroupOptions { ExpiryInterval = intervals[1] },
                Telemetry = new TelemetryOptions { GroupInterval = intervals[2] },
            },
            time);

        // The first round of retention comes after a second, the interval behind it.
        await Eventually.TrueAsync(() => Task.FromResult(intervals.All(time.Periods.ContainsKey)));
    }

    /// <summary>The system's clock, which notes with what periods its timers are set.</summary>
    private sealed class PeriodRecorder : TimeProvider
    {
        public ConcurrentDictionary<TimeSpan, bool> Periods { get; } = [];

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            Periods[period] = true;
            return new RecordedTimer(this, base.CreateTimer(callback, state, dueTime, period));
        }

        private sealed class RecordedTimer(PeriodRecorder time, ITimer timer) : ITimer
        {
            public bool Change(TimeSpan dueTime, TimeSpan period)
            {
                time.Periods[period] = true;
                return timer.Change(dueTime, period);
            }

            public void Dispose() => timer.Dispose();

            public ValueTask DisposeAsync() => timer.DisposeAsync();
        }
    }
}
