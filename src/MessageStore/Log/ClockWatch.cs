using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>Has stored times go back, by a state record, when the clock turns out to have been ahead.</summary>
/// <remarks>At the start the thread that opens the store asks for it, later the preparer.</remarks>
/// <param name="appender">Takes the record.</param>
/// <param name="staging">Has the stored time of the newest entry.</param>
/// <param name="clock">Says what is right.</param>
/// <param name="gate">The log's lock.</param>
/// <param name="directory">For the log line.</param>
/// <param name="logger">Is told when it was done.</param>
internal sealed class ClockWatch(
    Appender appender, Staging staging, WallClock clock, Lock gate, string directory, ILogger logger)
{
    private long _wantedMs;

    /// <summary>At the start, before anything else can be appended.</summary>
    /// <param name="isAccepted">Whether the wall clock is right although the log may be ahead of it.</param>
    public void Begin(bool isAccepted)
    {
        if (isAccepted)
        {
            Log.ClockAccepted(logger);
            clock.Accept();
        }

        if (clock.TryTakeReset(out long timeMs))
            TryReset(timeMs);
    }

    /// <summary>Takes a wrong time back. Without room the next call tries again.</summary>
    public void Check()
    {
        if (_wantedMs == 0 && clock.TryTakeReset(out long timeMs))
            _wantedMs = timeMs;
        if (_wantedMs > 0 && TryReset(_wantedMs))
            _wantedMs = 0;
    }

    /// <summary>Has stored times continue from an earlier time than they have come to.</summary>
    /// <returns>False when there is no room now, or the log takes no more.</returns>
    private bool TryReset(long timeMs)
    {
        long lastMs;
        lock (gate)
            lastMs = staging.LastStoredTimeMs;
        if (timeMs >= lastMs)
            return true;
        StateEntry[] reset = [LogState.ResetTime(timeMs)];
        ReadOnlySpan<byte> batch = new StateBatchEncoder().Encode(reset, timeMs).Span;
        try
        {
            AppendStatus status =
                appender.AppendState(batch, reset.Length, reset, Durability.Policy, new UnheardWaiter());
            if (status == AppendStatus.NoRoom)
                return false;
        }
        catch (EQueueException)
        {
            return false;
        }
        Log.StoredTimeReset(
            logger,
            directory,
            TimeSpan.FromMilliseconds(lastMs - timeMs),
            DateTimeOffset.FromUnixTimeMilliseconds(timeMs));
        return true;
    }

    /// <summary>No thread waits for the end of the append.</summary>
    private sealed class UnheardWaiter : AppendWaiter
    {
        protected internal override void OnCompleted(Exception? fault)
        {
        }
    }
}
