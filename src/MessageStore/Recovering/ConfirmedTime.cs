namespace EQueue.MessageStore;

/// <summary>The latest time at which a log was used with a clock that was not in doubt: read back from the
/// log.</summary>
/// <remarks>An epoch that begins far behind what was stored before is in doubt until it has lasted for
/// <see cref="WallClock.Pause"/>: a restart does not make a wrong clock right.</remarks>
/// <param name="timeMs">What the snapshot says, Unix ms.</param>
/// <param name="lastStoredMs">The last stored time as of the snapshot: far behind, it is in doubt.</param>
internal struct ConfirmedTime(long timeMs, long lastStoredMs)
{
    private long _doubtedSinceMs = IsFar(timeMs, lastStoredMs) ? lastStoredMs : 0;

    /// <summary>Unix ms; 0 = not known.</summary>
    public long TimeMs { get; private set; } = timeMs;

    /// <summary>The next entry of the log.</summary>
    public void Note(EntryKind kind, long storedMs)
    {
        if (kind == EntryKind.EpochStart && _doubtedSinceMs == 0 && IsFar(TimeMs, storedMs))
            _doubtedSinceMs = storedMs;
        if (_doubtedSinceMs > 0 && storedMs - _doubtedSinceMs < WallClock.Pause.TotalMilliseconds)
            return;
        Reset(Math.Max(TimeMs, storedMs));
    }

    /// <summary>This time is right.</summary>
    public void Reset(long timeMs)
    {
        TimeMs = timeMs;
        _doubtedSinceMs = 0;
    }

    private static bool IsFar(long timeMs, long laterMs) =>
        timeMs > 0 && laterMs - timeMs > WallClock.LargestLead.TotalMilliseconds;
}
