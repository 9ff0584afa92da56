namespace EQueue.MessageStore;

/// <summary>Wakes one waiting thread. Raised while no thread waits it is remembered, raised often it is one
/// wake-up.</summary>
/// <remarks>
/// The waiter spins for a few microseconds, in which a busy log mostly brings the next work, then parks: an idle log
/// costs nothing.
/// Raising costs one interlocked exchange unless the waiter is parked.
/// </remarks>
internal sealed class WorkSignal
{
    private const int Idle = 0;
    private const int Raised = 1;
    private const int Parked = 2;
    private const int Spins = 40;
    private const int SpinLength = 8;

    private readonly object _gate = new();
    private int _state;

    /// <summary>Whether the waiter sleeps.</summary>
    public bool IsParked => Volatile.Read(ref _state) == Parked;

    /// <summary>Lets the waiter go on, now or at its next wait. Any thread.</summary>
    public void Raise()
    {
        if (Interlocked.Exchange(ref _state, Raised) == Parked)
        {
            lock (_gate)
                Monitor.Pulse(_gate);
        }
    }

    /// <summary>Waits until it is raised. One thread only.</summary>
    public void Wait() => Wait(Timeout.InfiniteTimeSpan);

    /// <summary>Waits until it is raised or the time is over. One thread only.</summary>
    /// <returns>Whether it was raised.</returns>
    public bool Wait(TimeSpan timeout)
    {
        for (int i = 0; i < Spins; i++)
        {
            if (Volatile.Read(ref _state) == Raised)
            {
                Interlocked.Exchange(ref _state, Idle);
                return true;
            }
            Thread.SpinWait(SpinLength);
        }
        lock (_gate)
        {
            if (Interlocked.CompareExchange(ref _state, Parked, Idle) == Idle)
            {
                // One wait is enough: only Raise pulses, and the waiting thread looks again at what there is to do.
                Monitor.Wait(_gate, timeout);
            }
            return Interlocked.Exchange(ref _state, Idle) == Raised;
        }
    }
}
