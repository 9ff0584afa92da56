namespace EQueue.Server.Security;

/// <summary>Tells the log that audit lines cannot be written, once a minute at most, and that they can again.</summary>
internal sealed class AuditTrouble(string path, TimeProvider time, ILogger logger)
{
    private static readonly TimeSpan BetweenReports = TimeSpan.FromMinutes(1);

    private readonly Lock _lock = new();
    private long _lostAt;
    private long _refusedAt;
    private bool _isRefused;

    /// <summary>Lines are lost.</summary>
    /// <param name="lost">How many since the start.</param>
    public void Lost(long lost)
    {
        lock (_lock)
        {
            if (!IsDue(ref _lostAt))
                return;
        }

        Log.AuditLost(logger, lost, path);
    }

    /// <summary>The disk refuses.</summary>
    public void Refused(Exception cause)
    {
        lock (_lock)
        {
            _isRefused = true;
            if (!IsDue(ref _refusedAt))
                return;
        }

        Log.AuditRefused(logger, path, cause.Message);
    }

    /// <summary>The disk has taken lines.</summary>
    public void Written()
    {
        lock (_lock)
        {
            if (!_isRefused)
                return;
            _isRefused = false;
        }

        Log.AuditTaken(logger, path);
    }

    private bool IsDue(ref long last)
    {
        if (last != 0 && time.GetElapsedTime(last) < BetweenReports)
            return false;
        last = Math.Max(time.GetTimestamp(), 1);
        return true;
    }
}
