namespace EQueue.Client;

/// <summary>Notices heartbeats that leave late, because this process did not run as it should.</summary>
/// <remarks>Used by the one loop that beats.</remarks>
/// <param name="terms">Of the member.</param>
/// <param name="address">Of the broker.</param>
internal sealed class Punctuality(MemberTerms terms, ServerAddress address)
{
    private long _dueBy;

    /// <summary>A call leaves; its answer, and what follows, is due when the broker has held it for so long.</summary>
    public void Expect(TimeSpan wait) => _dueBy = Time.After(wait);

    /// <summary>Says so when what was expected comes later than a part of the session's time.</summary>
    public void Check()
    {
        if (_dueBy == 0)
            return;
        TimeSpan late = Time.GetElapsedTime(_dueBy);
        _dueBy = 0;
        if (late < terms.Options.SessionTimeout / 4)
            return;
        Log.HeartbeatLate(
            terms.Logger,
            terms.Group,
            address,
            (long)late.TotalMilliseconds,
            (long)terms.Options.SessionTimeout.TotalMilliseconds,
            ThreadPool.ThreadCount,
            ThreadPool.PendingWorkItemCount);
    }

    private TimeProvider Time => terms.Client.TimeProvider;
}
