namespace EQueue.Client;

/// <summary>Batches that need not stay where they are go on over another queue: those without keys, of a queue that
/// takes no messages, or of a broker that is away.</summary>
internal static class BatchMoves
{
    /// <summary>How long a broker is given to come back before others take its messages.</summary>
    private static readonly TimeSpan Absence = TimeSpan.FromSeconds(1);

    /// <summary>Gives the batches of a queue that takes no messages to another one of its broker, if they are known not
    /// to be stored. Under the gate.</summary>
    /// <returns>False when this broker has no other queue of the topic that takes messages.</returns>
    public static bool TryLeave(QueueLane queue)
    {
        BrokerLane lane = queue.Broker;
        if (queue.Topic.FindWritable(lane) is not { } target)
            return false;
        foreach (SendBatch batch in queue.Pending)
        {
            // After a loss an older copy of it may still come, and the queue may take messages by then.
            if (batch.State != BatchState.Waiting || batch.HasKeys || batch.MayBeStored || batch.HadLoss)
                continue;
            queue.Pending.Remove(batch);
            lane.Answers.OnGivenUp(batch, "goes elsewhere");
            target.TakeOver(batch);
        }

        if (queue.Pending.First is null)
            queue.Pending.RetryAt = 0;
        lane.Dispatch.List(queue);
        lane.Dispatch.List(target);
        return true;
    }

    /// <summary>Moves what was never sent to a broker that is away for long. Under no gate.</summary>
    public static void LeaveBroker(BrokerLane lane)
    {
        // The memory of a bounded topic's lane is its own.
        if (lane.IsBounded || !lane.Session.Presence.IsAwayFor(Absence))
            return;
        List<QueueLane> queues;
        using (lane.Gate.Enter())
            queues = [.. lane.Queues.Where(static queue => queue.Pending.First is not null || queue.Open is not null)];
        foreach (QueueLane queue in queues)
        {
            if (queue.Topic.FindElsewhere(lane) is { } target)
                Move(queue, target);
        }
    }

    private static void Move(QueueLane queue, QueueLane target)
    {
        BrokerLane from = queue.Broker;
        BrokerLane to = target.Broker;
        (BrokerLane first, BrokerLane second) = from.Id < to.Id ? (from, to) : (to, from);
        using (first.Gate.Enter())
        {
            using (second.Gate.Enter())
            {
                if (from.IsClosed || !from.Session.Presence.IsAway || to.IsClosed || to.IsAway || to.IsBounded)
                    return;
                if (queue.Open is { HasKeys: false })
                    from.Dispatch.CloseBatch(queue, wasFull: false);
                foreach (SendBatch batch in queue.Pending)
                {
                    if (batch.Attempts > 0 || batch.HasKeys || batch.Size > to.Session.MaxBatchBytes)
                        continue;
                    from.Terms.NoteMove();
                    queue.Pending.Remove(batch);
                    target.TakeOver(batch);
                }

                to.Dispatch.List(target);
                to.Sweep.ArmSweep();
            }
        }

        to.Dispatch.Run();
    }
}
