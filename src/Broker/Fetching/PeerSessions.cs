namespace EQueue.Broker;

/// <summary>The fetch sessions of one connection. Its receive loop's own, but for <see cref="Bytes"/>.</summary>
internal sealed class PeerSessions
{
    /// <summary>Memory that they take; changed with Interlocked.</summary>
    public long Bytes;

    /// <summary>By id.</summary>
    public Dictionary<uint, FetchSession> ById { get; } = [];

    public uint LastId { get; set; }

    /// <summary>Lets go of sessions that a failure ended, on whatever thread it came: their places are free.</summary>
    public void ForgetEnded()
    {
        foreach ((uint id, FetchSession session) in ById)
        {
            if (session.Phase == FetchPhase.Ended)
                ById.Remove(id);
        }
    }
}
