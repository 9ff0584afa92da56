using Microsoft.Extensions.Logging;

namespace EQueue.MessageStore;

/// <summary>The time that a store stamps and expires by: the wall clock as far as it can be believed.</summary>
/// <remarks>
/// Thread-safe. The monotonic clock counts on from the last time that was believed; that is the estimate. A wall clock
/// that was set against it by more than <see cref="LargestStep"/> expires nothing for <see cref="Pause"/>. One that
/// is ahead by more than <see cref="LargestLead"/> is not stamped either until that pause is over; one that is behind
/// by more is not stamped at all. Nothing tells whether the clock of a start is right: one that is far beyond the last
/// stored time is stamped at once, but expires nothing for a pause, and when it is set back meanwhile, stored times go
/// back with it (<see cref="TryTakeReset"/>).
/// docs/decisions/0033 says why.
/// </remarks>
internal sealed class WallClock
{
    /// <summary>A wall clock may drift by so much between two looks.</summary>
    public static readonly TimeSpan LargestStep = TimeSpan.FromMinutes(1);

    /// <summary>How far a stored time may be ahead of the estimate, and how long after the last stored time a store may
    /// be opened before its clock is in doubt.</summary>
    public static readonly TimeSpan LargestLead = TimeSpan.FromDays(1);

    private readonly TimeProvider _time;
    private readonly ILogger _logger;
    private readonly Lock _gate = new();
    private readonly long _begun;
    private readonly long _confirmedMs;
    private readonly TimeSpan _startJump;
    private long _anchorMs;
    private long _anchorAt;
    private long _gapMs;
    private long _resetMs;
    private long _plainFromMs;
    private long _plainToMs;
    private TimeSpan? _distrustedUntil;

    /// <summary>Looks at the clock for the first time.</summary>
    /// <param name="time">Both clocks.</param>
    /// <param name="logger">Is told of steps.</param>
    /// <param name="storedMs">The last stored time of the log, Unix ms; 0 = the log is empty.</param>
    /// <param name="confirmedMs">The latest time at which the log was used with a clock that was not in doubt; 0 = not
    /// known.</param>
    public WallClock(TimeProvider time, ILogger logger, long storedMs = 0, long confirmedMs = 0)
    {
        (_time, _logger) = (time, logger);
        _confirmedMs = confirmedMs > 0 ? confirmedMs : storedMs;
        _begun = _anchorAt = time.GetTimestamp();
        long wallMs = WallMs;
        bool isBehind = IsFar(wallMs, storedMs);
        bool isSetRight = isBehind && IsFar(_confirmedMs, storedMs) && IsSince(wallMs, _confirmedMs);
        _resetMs = isSetRight ? wallMs : 0;
        _anchorMs = isBehind && !isSetRight ? storedMs : wallMs;
        _gapMs = wallMs - _anchorMs;
        _startJump = TimeSpan.FromMilliseconds(_confirmedMs == 0 ? 0 : Math.Max(0, wallMs - _confirmedMs));
        NotePlain(_anchorMs);
        if (_gapMs < 0)
            Log.ClockBehindLog(logger, TimeSpan.FromMilliseconds(-_gapMs));
        else if (_startJump > LargestLead)
            Log.ClockAheadAtStart(logger, _startJump, Pause);
    }

    /// <summary>How long a clock in doubt expires nothing.</summary>
    public static TimeSpan Pause => TimeSpan.FromHours(1);

    /// <summary>The latest time at which the log was used with a clock that was not in doubt; Unix ms.</summary>
    public long ConfirmedMs => IsStartDoubted ? _confirmedMs : NowMs();

    /// <summary>The wall clock, right or wrong; Unix ms.</summary>
    public long WallMs => _time.GetUtcNow().ToUnixTimeMilliseconds();

    private bool IsStartDoubted => _startJump > LargestLead && Running < Pause;

    private TimeSpan Running => _time.GetElapsedTime(_begun);

    /// <summary>What an entry is stamped with now (Unix ms), unless the one before it has a later stamp. One look at
    /// the wall clock while that is plausible.</summary>
    public long NowMs()
    {
        long wallMs = WallMs;
        return wallMs >= Volatile.Read(ref _plainFromMs) && wallMs <= Volatile.Read(ref _plainToMs)
            ? wallMs
            : Judge(wallMs);
    }

    /// <summary>What ages are counted from (Unix ms): the earlier of the wall clock and of what is stamped
    /// now.</summary>
    public long ExpiryNowMs() => Math.Min(WallMs, NowMs());

    /// <summary>Looks at the clock: whether it was set within the last <see cref="Pause"/>.</summary>
    /// <param name="step">By how much it was set since the last look; zero when it was not.</param>
    public bool IsTrusted(out TimeSpan step)
    {
        lock (_gate)
        {
            step = Look(WallMs);
            return _distrustedUntil is null;
        }
    }

    /// <summary>Whether something may go for its age now.</summary>
    /// <param name="age">What is older goes: a start so long after the last stored time might be a wrong clock's.
    /// </param>
    public bool MayExpire(TimeSpan age)
    {
        TimeSpan doubtful = age < LargestLead ? age : LargestLead;
        return IsTrusted(out _) && (_startJump <= doubtful || Running >= Pause);
    }

    /// <summary>Whether stored times must go back: the clock of the start was ahead of the last stored time, and was
    /// set back within the pause to a time behind which nothing had been stored before the start.</summary>
    /// <param name="timeMs">What is right, Unix ms.</param>
    public bool TryTakeReset(out long timeMs)
    {
        lock (_gate)
        {
            Look(WallMs);
            timeMs = _resetMs;
            _resetMs = 0;
            return timeMs > 0;
        }
    }

    /// <summary>The wall clock is right although the log may be ahead of it: its stored times go back.</summary>
    public void Accept()
    {
        lock (_gate)
        {
            _resetMs = WallMs;
            Believe(_resetMs);
        }
    }

    private long Judge(long wallMs)
    {
        lock (_gate)
        {
            Look(wallMs);
            return Math.Abs(_gapMs) <= LargestLead.TotalMilliseconds ? wallMs : wallMs - _gapMs;
        }
    }

    private TimeSpan Look(long wallMs)
    {
        TimeSpan running = Running;
        long estimateMs = _anchorMs + (long)_time.GetElapsedTime(_anchorAt).TotalMilliseconds;
        long gapMs = wallMs - estimateMs;
        var step = TimeSpan.FromMilliseconds(gapMs - _gapMs);
        step = step.Duration() > LargestStep ? step : TimeSpan.Zero;
        _gapMs = gapMs;
        if (step != TimeSpan.Zero)
            NoteStep(step, wallMs, running);
        else if (_distrustedUntil is { } until && running >= until)
            EndDistrust();
        bool isBelieved = Math.Abs(_gapMs) <= LargestStep.TotalMilliseconds
            || (_distrustedUntil is null && _gapMs >= -LargestLead.TotalMilliseconds);
        if (isBelieved)
            Believe(wallMs);
        else
            NotePlain(estimateMs);
        return step;
    }

    private void NoteStep(TimeSpan step, long wallMs, TimeSpan running)
    {
        _distrustedUntil = running + Pause;
        Log.ClockSet(_logger, step, Pause);
        if (IsStartDoubted && _gapMs < -LargestLead.TotalMilliseconds && IsSince(wallMs, _confirmedMs))
        {
            _resetMs = wallMs;
            Believe(wallMs);
        }
    }

    private void EndDistrust()
    {
        _distrustedUntil = null;
        if (_gapMs < -LargestLead.TotalMilliseconds)
            Log.ClockBehindLog(_logger, TimeSpan.FromMilliseconds(-_gapMs));
        else if (_gapMs > LargestStep.TotalMilliseconds)
            Log.ClockBelieved(_logger, TimeSpan.FromMilliseconds(_gapMs));
    }

    private void Believe(long wallMs)
    {
        _anchorMs = wallMs;
        _anchorAt = _time.GetTimestamp();
        _gapMs = 0;
        NotePlain(wallMs);
    }

    private static bool IsFar(long timeMs, long laterMs) => laterMs - timeMs > LargestLead.TotalMilliseconds;

    private static bool IsSince(long timeMs, long earlierMs) => timeMs >= earlierMs - LargestStep.TotalMilliseconds;

    private void NotePlain(long estimateMs)
    {
        Volatile.Write(ref _plainFromMs, estimateMs - (long)LargestLead.TotalMilliseconds);
        Volatile.Write(ref _plainToMs, estimateMs + (long)LargestLead.TotalMilliseconds);
    }
}
