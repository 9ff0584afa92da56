namespace EQueue.MessageStore;

/// <summary>The waiters of appends that neither the writer nor the flusher has taken yet, by the level that they wait
/// for. Everything is called under the log's lock.</summary>
/// <param name="policy">The level of those that leave it to the store.</param>
/// <param name="marks">Is told how far the flusher is to come.</param>
internal sealed class IncomingWaiters(FlushPolicy policy, Watermarks marks)
{
    private WaiterQueue _written;
    private WaiterQueue _durable;

    /// <summary>Takes the waiter of a request that ends at a position.</summary>
    public void Add(Durability durability, AppendWaiter waiter, long target)
    {
        bool durable = durability == Durability.Durable
            || (durability == Durability.Policy && policy == FlushPolicy.Sync);
        if (durable)
        {
            _durable.Add(waiter, target);
            marks.WantDurable(target);
        }
        else
        {
            _written.Add(waiter, target);
        }
    }

    /// <summary>Gives those that wait for written: the writer's.</summary>
    public WaiterQueue TakeWritten()
    {
        WaiterQueue taken = _written;
        _written = default;
        return taken;
    }

    /// <summary>Gives those that wait for durable: the flusher's.</summary>
    public WaiterQueue TakeDurable()
    {
        WaiterQueue taken = _durable;
        _durable = default;
        return taken;
    }

    /// <summary>Gives all: the log has ended.</summary>
    public WaiterQueue TakeAll()
    {
        WaiterQueue taken = TakeWritten();
        taken.TakeAll(ref _durable);
        return taken;
    }
}
