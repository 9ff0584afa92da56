using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>Every <see cref="GroupOptions.ExpiryInterval"/> removes the groups without members that gave no sign for
/// <see cref="GroupOptions.OffsetRetention"/>.</summary>
/// <remarks>
/// The last sign is the end of the last member or the youngest commit, by the wall clock: while that cannot be trusted
/// (<see cref="WallClock"/>) nothing is removed.
/// One round at a time; one that fails is logged and the next one tries again.
/// </remarks>
internal sealed class GroupExpiry(
    GroupTable groups,
    GroupRemover remover,
    GroupOptions options,
    BrokerCounters counters,
    TimeProvider time,
    ILogger logger) : IAsyncDisposable
{
    private readonly CancellationTokenSource _stopping = new();
    private Task _loop = Task.CompletedTask;

    /// <summary>Begins; the first round comes after one interval.</summary>
    public void Start()
    {
        if (options.OffsetRetention > TimeSpan.Zero)
            _loop = RunAsync();
    }

    /// <summary>Ends the loop and waits for the round that is under way.</summary>
    public async ValueTask DisposeAsync()
    {
        await _stopping.CancelAsync();
        await _loop;
        _stopping.Dispose();
    }

    private async Task RunAsync()
    {
        var clock = new WallClock(time);
        using var timer = new PeriodicTimer(options.ExpiryInterval, time);
        try
        {
            while (await timer.WaitForNextTickAsync(_stopping.Token))
            {
                bool isTrusted = clock.IsTrusted(out TimeSpan step);
                if (step != TimeSpan.Zero)
                    logger.ExpiryPaused(step, WallClock.Pause);
                if (isTrusted)
                    await RunOnceAsync(time.GetUtcNow());
            }
        }
        catch (OperationCanceledException)
        {
            // The broker stops.
        }
    }

    private async Task RunOnceAsync(DateTimeOffset now)
    {
        long oldestMs = (now - options.OffsetRetention).ToUnixTimeMilliseconds();
        foreach (Group group in groups.Groups)
        {
            lock (group.Gate)
            {
                if (group.IsGone || !IsExpired(group, oldestMs))
                    continue;
            }

            try
            {
                if (!await remover.RemoveAsync(group, null, one => IsExpired(one, oldestMs), _stopping.Token))
                    continue;
                Interlocked.Increment(ref counters.GroupsExpired);
                logger.GroupExpired(group.Name, options.OffsetRetention);
            }
            catch (Exception exception) when (exception is not OperationCanceledException)
            {
                logger.GroupExpiryFailed(group.Name, exception);
                return;
            }
        }
    }

    /// <summary>Whether a group is to go. The caller holds its gate.</summary>
    private static bool IsExpired(Group group, long oldestMs) =>
        group.Roster.Members.Count == 0 && !group.Roster.IsSettling && LastSignMs(group) < oldestMs;

    private static long LastSignMs(Group group)
    {
        long last = group.Recorded?.EmptySinceMs ?? 0;
        foreach (ProgressKey key in group.Progress)
            last = Math.Max(last, group.Find(key.Instance, key.Queue)?.CommittedMs ?? 0);
        return last;
    }
}
