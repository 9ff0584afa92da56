namespace EQueue.Broker;

/// <content>Queues that take no messages: nothing of them waits for room.</content>
internal sealed partial class TopicBacklog
{
    // Guarded by the gate.
    private HashSet<QueueId> _unwritable = [];

    /// <summary>Takes over which queues take no messages: what waits for room in them is refused, now and
    /// later.</summary>
    public void SetUnwritable(IEnumerable<QueueId> queues)
    {
        WaitingBatch[] expelled;
        lock (_gate)
        {
            _unwritable = [.. queues];
            if (_unwritable.Count == 0)
                return;
            expelled = [.. _line.Where(batch => _unwritable.Contains(batch.Ticket.Queue))];
            foreach (WaitingBatch batch in expelled)
            {
                _line.Remove(batch);
                batch.Node = null;
            }

            OnChanged();
        }

        foreach (WaitingBatch batch in expelled)
            Expel(batch);
    }

    /// <summary>Answers a batch that stands in no line and may not stand there.</summary>
    private void Expel(WaitingBatch batch)
    {
        if (table.Store.CheckSequence(batch.Ticket.Queue, batch.Bytes) != ErrorCode.DuplicateSequence)
        {
            batch.Refuse(ErrorCode.QueueNotWritable);
            return;
        }

        // An earlier copy was let in meanwhile: the store says where it is. The room is given back at once.
        lock (_gate)
            _count.Reserve(batch.Ticket.Queue, batch.Ticket.Messages, batch.Ticket.Bytes);
        Task answering = batch.AppendAsync().AsTask();
        System.Diagnostics.Debug.Assert(!answering.IsFaulted, "A batch that is let in handles its own errors.");
    }
}
