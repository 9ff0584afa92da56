namespace EQueue.Client;

/// <content>A broker that is away: what was never sent to it, and need not go there, goes on over another.</content>
internal sealed partial class BrokerLane
{
    /// <summary>How long a broker is given to come back before others take its messages.</summary>
    private static readonly TimeSpan Absence = TimeSpan.FromSeconds(1);

    private static long _lastId;

    private readonly long _id = Interlocked.Increment(ref _lastId);
    private long _awaySince;
    private volatile bool _isAway = true;

    /// <summary>The connection was lost: nothing is sent until there is a newer one. Under the gate.</summary>
    private void BeAway(long lostGeneration)
    {
        _lostGeneration = lostGeneration;
        if (!_isAway)
            _awaySince = _time.GetTimestamp();
        _isAway = true;
        Prepare();
    }

    /// <summary>Moves what may move, unless the broker is there. No gate is held.</summary>
    private void MoveFromAway()
    {
        // The memory of a bounded topic's lane is its own.
        if (!_isAway || _isBounded || _time.GetElapsedTime(Volatile.Read(ref _awaySince)) < Absence)
            return;
        List<QueueLane> queues;
        using (_gate.Enter())
            queues = [.. _queues.Values.Where(static queue => queue.First is not null || queue.Open is not null)];
        foreach (QueueLane queue in queues)
        {
            if (queue.Topic.FindElsewhere(this) is { } target)
                Move(queue, target);
        }
    }

    /// <summary>Takes the batches without keys that were never sent to another lane's queue.</summary>
    private void Move(QueueLane queue, QueueLane target)
    {
        BrokerLane other = target.Broker;
        (BrokerLane first, BrokerLane second) = _id < other._id ? (this, other) : (other, this);
        using (first._gate.Enter())
        {
            using (second._gate.Enter())
            {
                if (_isClosed || !_isAway || other._isClosed || other.IsAway || other._isBounded)
                    return;
                if (queue.Open is { HasKeys: false })
                    CloseBatch(queue, wasFull: false);
                SendBatch? next;
                for (SendBatch? batch = queue.First; batch is not null; batch = next)
                {
                    next = batch.Next;
                    if (batch.Attempts > 0 || batch.HasKeys || batch.Size > other.MaxBatchBytes)
                        continue;
                    _producer.NoteMove();
                    queue.Remove(batch);
                    batch.MoveTo(target);
                    target.Add(batch);
                }

                other.List(target);
                other.ArmSweep(other.After(other._sweepInterval));
            }
        }

        other.Dispatch();
    }
}
