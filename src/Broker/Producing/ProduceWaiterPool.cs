using System.Collections.Concurrent;

namespace EQueue.Broker;

/// <summary>Keeps produce waiters that are out of work. Thread-safe; holds at most <see cref="MaxKept"/>.</summary>
internal sealed class ProduceWaiterPool(BrokerCounters counters)
{
    private const int MaxKept = 16_384;

    private readonly ConcurrentQueue<ProduceWaiter> _waiters = new();
    private int _count;

    public BrokerCounters Counters => counters;

    public ProduceWaiter Rent()
    {
        if (!_waiters.TryDequeue(out ProduceWaiter? waiter))
            return new ProduceWaiter(this);
        Interlocked.Decrement(ref _count);
        return waiter;
    }

    public void Return(ProduceWaiter waiter)
    {
        if (!waiter.IsPoolable)
            return;
        if (Interlocked.Increment(ref _count) > MaxKept)
            Interlocked.Decrement(ref _count);
        else
            _waiters.Enqueue(waiter);
    }
}
