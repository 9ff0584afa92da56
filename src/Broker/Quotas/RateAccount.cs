namespace EQueue.Broker;

/// <summary>Charges a client for its use and says how long it has to wait. Thread-safe, without a
/// lock.</summary>
/// <remarks>
/// The generic cell rate algorithm (ITU-T I.371): one number says until when everything charged is paid. A credit of
/// one second is kept, and no debt grows beyond <see cref="MaxDebt"/>.
/// </remarks>
/// <param name="perSecond">The rate, above 0.</param>
/// <param name="time">Its monotonic clock counts.</param>
internal sealed class RateAccount(long perSecond, TimeProvider time)
{
    /// <summary>More than that is forgiven.</summary>
    public static readonly TimeSpan MaxDebt = TimeSpan.FromSeconds(20);

    private readonly long _second = time.TimestampFrequency;
    private long _paidUntil = time.GetTimestamp() - time.TimestampFrequency;

    public long PerSecond => perSecond;

    /// <summary>How long it takes until what was charged is paid.</summary>
    public TimeSpan Debt => ToDebt(Volatile.Read(ref _paidUntil), time.GetTimestamp());

    /// <summary>Whether it says no more than a new one would.</summary>
    public bool IsIdle => Volatile.Read(ref _paidUntil) <= time.GetTimestamp() - _second;

    /// <summary>Charges what was used.</summary>
    /// <returns>The debt after it.</returns>
    public TimeSpan Charge(long used)
    {
        double cost = (double)used * _second / perSecond;
        while (true)
        {
            long now = time.GetTimestamp();
            long paid = Volatile.Read(ref _paidUntil);
            double until = Math.Max(paid, now - _second) + cost;
            long next = (long)Math.Min(until, now + (MaxDebt.TotalSeconds * _second));
            if (Interlocked.CompareExchange(ref _paidUntil, next, paid) == paid)
                return ToDebt(next, now);
        }
    }

    private TimeSpan ToDebt(long paidUntil, long now) =>
        paidUntil <= now ? TimeSpan.Zero : time.GetElapsedTime(now, paidUntil);
}
