namespace EQueue.Client;

/// <summary>Batches in an order, linked through themselves: a batch is in one list at a time. For <c>foreach</c>, in
/// which the present batch may be taken out, without an allocation.</summary>
/// <remarks>Belongs to the gate of the lane.</remarks>
internal sealed class BatchList
{
    public int Count { get; private set; }

    public SendBatch? First { get; private set; }

    public SendBatch? Last { get; private set; }

    public Enumerator GetEnumerator() => new(First);

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
        foreach (SendBatch batch in this)
            pending.Add(batch.WhenDone());
    }

    /// <summary>Has the next batch before the present one is looked at.</summary>
    public struct Enumerator(SendBatch? first)
    {
        private SendBatch? _next = first;

        public SendBatch Current { get; private set; } = null!;

        public bool MoveNext()
        {
            if (_next is not { } batch)
                return false;
            Current = batch;
            _next = batch.Next;
            return true;
        }
    }
}
