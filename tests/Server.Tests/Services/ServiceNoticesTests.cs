using EQueue.Server.Configuration;
using EQueue.Server.Engine;
using EQueue.Server.Services;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Server.Tests.Services;

/// <summary>What systemd hears, on a real socket, while a broker in this process starts, serves and stops.</summary>
public sealed class ServiceNoticesTests : IAsyncDisposable
{
    private const string Extended = "EXTEND_TIMEOUT_USEC=60000000";

    private static readonly TimeSpan Watchdog = TimeSpan.FromSeconds(8);

    private readonly NotifyListener _systemd = new($"@equeue-{Guid.NewGuid():N}");
    private readonly HandTime _time = new();
    private readonly HandLifetime _lifetime = new();
    private readonly BrokerService _broker;
    private readonly ServiceNotices _notices;

    public ServiceNoticesTests()
    {
        ServerOptions options = Given.Settings(("Server:Listen", "127.0.0.1:0"), ("Store:Memory", "134217728"));
        _broker = Given.Broker(options, _lifetime);
        var socket = new NotifySocket(_systemd.Address, Watchdog, NullLogger.Instance);
        _notices = new ServiceNotices(socket, _broker, _lifetime, _time);
    }

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenALongRecoveryAndALongDrain_WhenTheServerLives_ThenSystemdHearsEachStage()
    {
        await _notices.StartingAsync(Token);
        Assert.Equal("STATUS=Recovering", await _systemd.ReceiveAsync());
        for (int i = 0; i < 3; i++)
        {
            _time.Tick(ServiceNotices.ExtensionInterval);
            Assert.Equal(Extended, await _systemd.ReceiveAsync());
        }

        await _broker.StartAsync(Token);
        Assert.True(_systemd.IsSilent);
        await _notices.StartedAsync(Token);
        Assert.StartsWith("READY=1\nSTATUS=Serving on 127.0.0.1:", await _systemd.ReceiveAsync());

        // What serves asks for no time, and shows twice in the watchdog's time that it lives.
        _time.Tick(ServiceNotices.ExtensionInterval);
        _time.Tick(Watchdog / 2);
        Assert.Equal("WATCHDOG=1", await _systemd.ReceiveAsync());

        _lifetime.StopApplication();
        Assert.StartsWith("STOPPING=1\n", await _systemd.ReceiveAsync());
        await _notices.StoppingAsync(Token);
        await _broker.StopAsync(Token);
        _time.Tick(ServiceNotices.ExtensionInterval);
        Assert.Equal(Extended, await _systemd.ReceiveAsync());
        _time.Tick(Watchdog / 2);
        Assert.Equal("WATCHDOG=1", await _systemd.ReceiveAsync());
        Assert.True(_systemd.IsSilent);
    }

    [Fact]
    public async Task GivenASignalDuringRecovery_WhenTheStartEndsAllTheSame_ThenReadyIsNotSaid()
    {
        await _notices.StartingAsync(Token);
        Assert.Equal("STATUS=Recovering", await _systemd.ReceiveAsync());
        _lifetime.StopApplication();
        Assert.StartsWith("STOPPING=1\n", await _systemd.ReceiveAsync());
        await _notices.StartedAsync(Token);
        Assert.True(_systemd.IsSilent);
    }

    [Fact]
    public async Task GivenABrokerThatDoesNotServe_WhenTheHostHasStarted_ThenReadyIsNotSaid()
    {
        await _notices.StartingAsync(Token);
        Assert.Equal("STATUS=Recovering", await _systemd.ReceiveAsync());
        await _notices.StartedAsync(Token);
        Assert.True(_systemd.IsSilent);
    }

    [Fact]
    public async Task GivenNoSystemd_WhenTheServerLives_ThenNothingIsRepeated()
    {
        var time = new HandTime();
        await using var notices = new ServiceNotices(null, _broker, _lifetime, time);
        await notices.StartingAsync(Token);
        await notices.StartedAsync(Token);
        await notices.StoppingAsync(Token);
        Assert.Equal(0, time.Count);
    }

    public async ValueTask DisposeAsync()
    {
        _lifetime.StopApplication();
        await _broker.StopAsync(Token);
        await _notices.DisposeAsync();
        _systemd.Dispose();
        _lifetime.Dispose();
    }

    /// <summary>A clock whose timers tick when the test says so, known by their periods.</summary>
    private sealed class HandTime : TimeProvider
    {
        private readonly List<(TimeSpan Period, Action Call)> _timers = [];

        public int Count => _timers.Count;

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            _timers.Add((period, () => callback(state)));
            return System.CreateTimer(callback, state, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        }

        public void Tick(TimeSpan period)
        {
            foreach ((_, Action call) in _timers.Where(timer => timer.Period == period))
                call();
        }
    }
}
