namespace EQueue.Broker;

/// <summary>Tells whether the wall clock can be trusted: not for an hour of running time after it was set by more than
/// a minute against the monotonic one, so that a wrong clock can be put right first.</summary>
internal sealed class WallClock(TimeProvider time)
{
    private static readonly TimeSpan LargestStep = TimeSpan.FromMinutes(1);

    private readonly long _begun = time.GetTimestamp();
    private readonly DateTimeOffset _start = time.GetUtcNow();
    private TimeSpan _ahead;
    private TimeSpan? _distrustedUntil;

    /// <summary>How long it is not trusted after a step.</summary>
    public static TimeSpan Pause => TimeSpan.FromHours(1);

    /// <summary>Looks at the clock; between two looks it may drift by less than a step.</summary>
    /// <param name="step">By how much it was set since the last look; zero when it was not.</param>
    public bool IsTrusted(out TimeSpan step)
    {
        TimeSpan running = time.GetElapsedTime(_begun);
        TimeSpan ahead = time.GetUtcNow() - _start - running;
        step = (ahead - _ahead).Duration() > LargestStep ? ahead - _ahead : TimeSpan.Zero;
        _ahead = ahead;
        if (step != TimeSpan.Zero)
            _distrustedUntil = running + Pause;
        return _distrustedUntil is null || running >= _distrustedUntil;
    }
}
