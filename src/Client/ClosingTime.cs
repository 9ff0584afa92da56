using System.Diagnostics.CodeAnalysis;

namespace EQueue.Client;

/// <summary>The time in which something is to end: of all that were asked for, the one that is over first.</summary>
/// <remarks>Thread-safe.</remarks>
[SuppressMessage("Design", "CA1001", Justification = "Others hold its token longer than it lives.")]
internal sealed class ClosingTime(TimeProvider time)
{
    /// <summary>How long the application's own code may still run when the time is over.</summary>
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(2);

    private readonly CancellationTokenSource _over = new(Timeout.InfiniteTimeSpan, time);
    private readonly Lock _lock = new();
    private long _endsAt = long.MaxValue;

    /// <summary>Cancelled when the time is over.</summary>
    public CancellationToken Over => _over.Token;

    /// <summary>Asks for an end within a time; zero = at once.</summary>
    /// <returns>Completes when what an end at once cancels has been told.</returns>
    public Task EndWithinAsync(TimeSpan timeout)
    {
        lock (_lock)
        {
            long endsAt = time.After(timeout);
            if (endsAt >= _endsAt)
                return Task.CompletedTask;
            _endsAt = endsAt;
            if (timeout > TimeSpan.Zero)
            {
                _over.CancelAfter(timeout);
                return Task.CompletedTask;
            }
        }

        return _over.CancelAsync();
    }

    /// <summary>Waits for work in which the application's own code runs, until a little after the time.</summary>
    /// <returns>Whether it completed.</returns>
    public async ValueTask<bool> CompletesAsync(Task work)
    {
        TimeSpan left;
        lock (_lock)
            left = time.GetElapsedTime(time.GetTimestamp(), _endsAt);
        await work.WaitAsync(left > TimeSpan.Zero ? left + Grace : Grace, time)
            .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (!work.IsCompleted)
            return false;
        await work.ConfigureAwait(false);
        return true;
    }
}
