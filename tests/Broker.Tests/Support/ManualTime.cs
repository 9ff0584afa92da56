namespace EQueue.Broker.Tests;

/// <summary>A clock that the test sets; timers and time stamps run as usual.</summary>
internal sealed class ManualTime : TimeProvider
{
    private long _aheadTicks;

    public override DateTimeOffset GetUtcNow() => base.GetUtcNow().AddTicks(Volatile.Read(ref _aheadTicks));

    public void Advance(TimeSpan by) => Interlocked.Add(ref _aheadTicks, by.Ticks);
}
