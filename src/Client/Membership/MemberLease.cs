namespace EQueue.Client;

/// <summary>How long a member may hold itself to be one without having heard from its broker.</summary>
/// <remarks>
/// Renewed by the member's heartbeats, looked at by the reader between batches. A process that was stopped, or cut off,
/// finds its lease over before it hands out what may be another member's by now.
/// </remarks>
internal sealed class MemberLease(TimeProvider time)
{
    private readonly Lock _lock = new();
    private long _endsAt = long.MaxValue;
    private long _graceTicks = -1;

    /// <summary>Whether the membership may be over.</summary>
    public bool IsOver => time.GetTimestamp() > Volatile.Read(ref _endsAt);

    /// <summary>A call was answered: its session began, at the earliest, when it was sent.</summary>
    /// <param name="sentAt">Timestamp taken before the call left.</param>
    /// <param name="sessionTimeout">What the broker holds to be one.</param>
    /// <param name="reconnectGrace">What is left of a session without a connection; negative for all of it.</param>
    public void Renew(long sentAt, TimeSpan sessionTimeout, TimeSpan reconnectGrace)
    {
        lock (_lock)
        {
            _graceTicks = reconnectGrace < TimeSpan.Zero ? -1 : time.TicksOf(reconnectGrace);
            Volatile.Write(ref _endsAt, sentAt + time.TicksOf(sessionTimeout));
        }
    }

    /// <summary>The connection is gone: the grace runs.</summary>
    public void OnConnectionLost()
    {
        lock (_lock)
        {
            if (_graceTicks >= 0)
                Volatile.Write(ref _endsAt, Math.Min(_endsAt, time.GetTimestamp() + _graceTicks));
        }
    }
}
