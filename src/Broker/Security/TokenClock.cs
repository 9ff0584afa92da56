namespace EQueue.Broker;

/// <summary>The time by which tokens end: the wall clock, which does not go back while the broker runs, so that a clock
/// that is set back does not bring an expired token back.</summary>
/// <remarks>A clock that is set ahead ends tokens early: the safe side. Thread-safe.</remarks>
internal sealed class TokenClock(TimeProvider time)
{
    private long _latestMs;

    /// <summary>Unix milliseconds.</summary>
    public long NowMs
    {
        get
        {
            long nowMs = time.GetUtcNow().ToUnixTimeMilliseconds();
            long latestMs = Volatile.Read(ref _latestMs);
            while (nowMs > latestMs)
            {
                long seen = Interlocked.CompareExchange(ref _latestMs, nowMs, latestMs);
                if (seen == latestMs)
                    return nowMs;
                latestMs = seen;
            }

            return latestMs;
        }
    }
}
