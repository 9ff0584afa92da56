using EQueue.Protocol;

namespace EQueue.Client;

/// <content>Queues that take no messages now: what need not stay there goes on with another queue.</content>
internal sealed partial class BrokerLane
{
    /// <summary>
    /// A batch was refused because its queue takes no messages. One with keys fails at once, for a key's queue is its
    /// own; one without goes elsewhere, or waits. Under the gate.
    /// </summary>
    private void OnNotWritable(ProduceRequest request, SendBatch batch, EQueueException failure, int retryAfterMs)
    {
        QueueLane queue = batch.Queue;
        bool mustAsk = queue.IsWritable;
        queue.IsWritable = false;
        if (batch.HasKeys && !batch.MayBeStored)
        {
            batch.State = BatchState.Waiting;
            Fail(batch, failure, request.Settled);
            OnGivenUp(batch, $"({failure.Code})");
            List(queue);
        }
        else
        {
            SendAgain(batch, failure, isUnknown: false, retryAfterMs);
            mustAsk |= !TryMoveAway(queue);
        }

        if (mustAsk)
            _producer.RefreshSoon(queue.Topic);
    }

    /// <summary>Gives the batches without keys that are known not to be stored to another queue. Under the
    /// gate.</summary>
    /// <returns>False when this broker has no other queue of the topic that takes messages.</returns>
    private bool TryMoveAway(QueueLane queue)
    {
        if (queue.Topic.FindWritable(this) is not { } target)
            return false;
        SendBatch? next;
        for (SendBatch? batch = queue.First; batch is not null; batch = next)
        {
            next = batch.Next;

            // After a loss an older copy of it may still come, and the queue may take messages by then.
            if (batch.State != BatchState.Waiting || batch.HasKeys || batch.MayBeStored || batch.HadLoss)
                continue;
            queue.Remove(batch);
            OnGivenUp(batch, "goes elsewhere");
            batch.MoveTo(target);
            target.Add(batch);
        }

        if (queue.First is null)
            queue.RetryAt = 0;
        List(queue);
        List(target);
        return true;
    }
}
