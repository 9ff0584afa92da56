namespace EQueue.Broker;

/// <summary>Work that is done again and again while the broker runs.</summary>
/// <remarks>On the pool; one round at a time. A round handles its own errors.</remarks>
/// <param name="interval">Between the beginnings of two rounds.</param>
/// <param name="time">Measures it.</param>
/// <param name="first">When the first round comes; none = after an interval.</param>
internal abstract class PeriodicLoop(TimeSpan interval, TimeProvider time, TimeSpan? first = null)
    : IBrokerModule, IAsyncDisposable
{
    private readonly CancellationTokenSource _stopping = new();
    private Task _loop = Task.CompletedTask;

    protected TimeProvider Time { get; } = time;

    /// <inheritdoc/>
    public void Start() => _loop = RunAsync();

    /// <inheritdoc/>
    public ValueTask StopAsync() => DisposeAsync();

    /// <summary>Ends the loop and waits for the round that is under way.</summary>
    public async ValueTask DisposeAsync()
    {
        await _stopping.CancelAsync();
        await _loop;
        _stopping.Dispose();
    }

    /// <summary>One round.</summary>
    /// <param name="cancellationToken">The broker stops.</param>
    protected abstract Task RunOnceAsync(CancellationToken cancellationToken);

    private async Task RunAsync()
    {
        using var timer = new PeriodicTimer(first ?? interval, Time);
        try
        {
            while (await timer.WaitForNextTickAsync(_stopping.Token))
            {
                // Setting a timer wakes the runtime's thread of timers: once is enough.
                if (timer.Period != interval)
                    timer.Period = interval;
                await RunOnceAsync(_stopping.Token);
            }
        }
        catch (OperationCanceledException)
        {
            // The broker stops.
        }
    }
}
