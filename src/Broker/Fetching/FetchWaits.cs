namespace EQueue.Broker;

/// <summary>How long requests wait for messages.</summary>
internal sealed class FetchWaits(LimitOptions limits, TimeProvider time)
{
    /// <summary>What is left of the request's wait, which does not begin anew when it is taken up in vain.</summary>
    public TimeSpan Take(FetchSession session)
    {
        bool hasBegun = session.HasWaited || session.PassedCount > 0;
        TimeSpan wait = hasBegun ? Left(session) : Longest(session);
        session.HasWaited = true;
        return wait > TimeSpan.Zero ? wait : TimeSpan.Zero;
    }

    /// <summary>What is left of it; zero or less when it is over.</summary>
    public TimeSpan Left(FetchSession session) =>
        Longest(session) - time.GetElapsedTime(session.LastUsed);

    private TimeSpan Longest(FetchSession session)
    {
        var wait = TimeSpan.FromMilliseconds(session.Request.MaxWaitMs);
        return wait < limits.MaxFetchWait ? wait : limits.MaxFetchWait;
    }
}
