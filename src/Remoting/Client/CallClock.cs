namespace EQueue.Remoting;

/// <summary>What the deadlines of a client's calls are measured by.</summary>
/// <param name="time">The client's clock.</param>
/// <param name="usual">The timeout of calls that name none.</param>
internal sealed class CallClock(TimeProvider time, TimeSpan usual)
{
    private static readonly TimeSpan LongestTimeout = TimeSpan.FromDays(24);

    /// <summary>The client's clock.</summary>
    public TimeProvider Time => time;

    /// <summary>Now, in milliseconds. The system's coarse clock, a few ms behind, is enough for timeouts and takes a
    /// quarter of the time of the precise one, which every call would pay.</summary>
    public long NowMs() => ReferenceEquals(time, TimeProvider.System)
        ? Environment.TickCount64
        : (long)time.GetElapsedTime(0, time.GetTimestamp()).TotalMilliseconds;

    /// <summary>When a call that begins now is overdue.</summary>
    /// <param name="timeout">Zero = the usual one.</param>
    /// <exception cref="ArgumentOutOfRangeException">Negative and not infinite, or above 24 days.</exception>
    public long DeadlineOf(TimeSpan timeout)
    {
        if (timeout == Timeout.InfiniteTimeSpan)
            return long.MaxValue;
        ArgumentOutOfRangeException.ThrowIfLessThan(timeout, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(timeout, LongestTimeout);
        TimeSpan counted = timeout == TimeSpan.Zero ? usual : timeout;
        return NowMs() + ((counted.Ticks + TimeSpan.TicksPerMillisecond - 1) / TimeSpan.TicksPerMillisecond);
    }

    /// <summary>How long a wait until then may take.</summary>
    public TimeSpan TimeLeft(long deadline)
    {
        if (deadline == long.MaxValue)
            return Timeout.InfiniteTimeSpan;
        return TimeSpan.FromMilliseconds(Math.Max(0, deadline - NowMs()));
    }
}
