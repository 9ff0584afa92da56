using System.Globalization;
using EQueue.Remoting;
using EQueue.Server.Engine;

namespace EQueue.Server.Services;

/// <summary>Tells systemd what the server does: starting for longer, ready, stopping, alive.</summary>
/// <remarks>Called by the host around the other services. A loop repeats what has to be repeated, from before the first
/// of them starts until the process ends, so that a long recovery or drain is not taken for a hanging one.</remarks>
internal sealed class ServiceNotices : IHostedLifecycleService, IAsyncDisposable
{
    /// <summary>How much longer than now a start or a stop may take, unless it is said again.</summary>
    public static readonly TimeSpan Extension = TimeSpan.FromSeconds(60);

    /// <summary>How often it is said again.</summary>
    public static readonly TimeSpan ExtensionInterval = TimeSpan.FromSeconds(15);

    private readonly NotifySocket? _socket;
    private readonly BrokerService _broker;
    private readonly TimeProvider _time;
    private readonly CancellationTokenSource _ending = new();
    private readonly CancellationTokenRegistration _stopping;
    private readonly Lock _gate = new();
    private Stage _stage = Stage.Starting;
    private Task _loops = Task.CompletedTask;

    public ServiceNotices(
        NotifySocket? socket, BrokerService broker, IHostApplicationLifetime lifetime, TimeProvider time)
    {
        _socket = socket;
        _broker = broker;
        _time = time;
        _stopping = lifetime.ApplicationStopping.Register(SayStopping);
    }

    private enum Stage
    {
        Starting = 0,
        Serving = 1,
        Stopping = 2,
    }

    public Task StartingAsync(CancellationToken cancellationToken)
    {
        if (_socket is null)
            return Task.CompletedTask;
        _socket.Send("STATUS=Recovering");
        Task extending = RepeatAsync(ExtensionInterval, Extend);
        // Twice in its time, as sd_watchdog_enabled(3) advises.
        Task watched = _socket.Watchdog is { } watchdog
            ? RepeatAsync(watchdog / 2, () => _socket.Send("WATCHDOG=1")) : Task.CompletedTask;
        _loops = Task.WhenAll(extending, watched);
        return Task.CompletedTask;
    }

    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>Every service has started: the broker has recovered and serves.</summary>
    public Task StartedAsync(CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (_stage == Stage.Starting && _broker is { IsReady: true, EndPoint: { } endPoint })
            {
                _stage = Stage.Serving;
                _socket?.Send($"READY=1\nSTATUS=Serving on {HostPort.Format(endPoint)}");
            }
        }

        return Task.CompletedTask;
    }

    public Task StoppingAsync(CancellationToken cancellationToken)
    {
        SayStopping();
        return Task.CompletedTask;
    }

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StoppedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public async ValueTask DisposeAsync()
    {
        await _stopping.DisposeAsync();
        await _ending.CancelAsync();
        await _loops;
        _ending.Dispose();
        _socket?.Dispose();
    }

    private static string Extended() => string.Create(
        CultureInfo.InvariantCulture, $"EXTEND_TIMEOUT_USEC={(long)Extension.TotalMicroseconds}");

    private void SayStopping()
    {
        lock (_gate)
        {
            if (_stage == Stage.Stopping)
                return;
            _stage = Stage.Stopping;
            _socket?.Send("STOPPING=1\nSTATUS=Stopping: answering what was read, then closing the store");
        }
    }

    private void Extend()
    {
        lock (_gate)
        {
            if (_stage != Stage.Serving)
                _socket!.Send(Extended());
        }
    }

    private async Task RepeatAsync(TimeSpan interval, Action say)
    {
        using var timer = new PeriodicTimer(interval, _time);
        try
        {
            while (await timer.WaitForNextTickAsync(_ending.Token))
                say();
        }
        catch (OperationCanceledException)
        {
            // The process ends.
        }
    }
}
