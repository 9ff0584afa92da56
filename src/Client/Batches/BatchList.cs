namespace EQueue.Client;

/// <summary>Batches in an order, linked through themselves: a batch is in one list at a time.</summary>
/// <remarks>Belongs to the gate of the lane.</remarks>
internal sealed class BatchList
{
    public int Count { get; private set; }

    public SendBatch? First { get; private set; }

    public SendBatch? Last { get; private set; }

    /// <summary>Puts a batch behind the others.</summary>
    public void Add(SendBatch batch)
    {
        batch.Previous = Last;
        batch.Next = null;
        if (Last is null)
            First = batch;
        else
            Last.Next = batch;
        Last = batch;
        Count++;
    }

    /// <summary>Takes a batch out.</summary>
    public void Remove(SendBatch batch)
    {
        if (batch.Previous is null)
            First = batch.Next;
        else
            batch.Previous.Next = batch.Next;
        if (batch.Next is null)
            Last = batch.Previous;
        else
            batch.Next.Previous = batch.Previous;
        batch.Previous = batch.Next = null;
        Count--;
    }

    /// <summary>Adds a task for each batch, which completes when that is settled.</summary>
    public void Gather(List<Task> pending)
    {
        for (SendBatch? batch = First; batch is not null; batch = batch.Next)
            pending.Add(batch.WhenDone());
    }
}
