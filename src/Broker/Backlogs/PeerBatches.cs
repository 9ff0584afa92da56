namespace EQueue.Broker;

/// <summary>The batches of one connection that wait for room in a backlog. Thread-safe.</summary>
internal sealed class PeerBatches
{
    private readonly HashSet<WaitingBatch> _batches = [];

    public void Add(WaitingBatch batch)
    {
        lock (_batches)
            _batches.Add(batch);
    }

    public void Remove(WaitingBatch batch)
    {
        lock (_batches)
            _batches.Remove(batch);
    }

    public WaitingBatch[] ToArray()
    {
        lock (_batches)
            return [.. _batches];
    }
}
