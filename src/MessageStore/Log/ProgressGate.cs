using System.Diagnostics;

namespace EQueue.MessageStore;

/// <summary>Lets threads in the background wait until the log has come somewhere. Costs those who move it on one look
/// while no thread waits.</summary>
internal sealed class ProgressGate
{
    private readonly object _lock = new();
    private int _waiting;

    /// <summary>Something has moved: those who wait look again.</summary>
    public void Note()
    {
        // What moved is written before, the count read after; a waiter does it the other way round: one sees the other.
        Interlocked.MemoryBarrier();
        if (Volatile.Read(ref _waiting) == 0)
            return;
        lock (_lock)
            Monitor.PulseAll(_lock);
    }

    /// <summary>Waits for a condition; looks whenever something has moved.</summary>
    /// <param name="condition">Must be quick and take no lock.</param>
    /// <param name="timeout">How long; infinite is allowed.</param>
    /// <returns>Whether it holds.</returns>
    public bool TryWait(Func<bool> condition, TimeSpan timeout)
    {
        long began = Stopwatch.GetTimestamp();
        lock (_lock)
        {
            Interlocked.Increment(ref _waiting);
            try
            {
                while (!condition())
                {
                    TimeSpan left = timeout == Timeout.InfiniteTimeSpan
                        ? timeout
                        : timeout - Stopwatch.GetElapsedTime(began);
                    if (left <= TimeSpan.Zero && timeout != Timeout.InfiniteTimeSpan)
                        return false;
                    Monitor.Wait(_lock, left);
                }
                return true;
            }
            finally
            {
                Interlocked.Decrement(ref _waiting);
            }
        }
    }
}
