using EQueue.Protocol;

namespace EQueue.Client;

/// <content>What listeners are told, outside the gate, by batch and request.</content>
internal sealed partial class BrokerLane
{
    /// <summary>Produce requests that are not answered.</summary>
    public int InFlight => Volatile.Read(ref _inFlight);

    /// <summary>Bytes of the batches in them.</summary>
    public long InFlightBytes
    {
        get
        {
            long bytes = 0L;
            using (_gate.Enter())
            {
                foreach (QueueLane queue in _queues.Values)
                {
                    for (SendBatch? batch = queue.First; batch is not null; batch = batch.Next)
                        bytes += batch.State == BatchState.Sent ? batch.Size : 0;
                }
            }

            return bytes;
        }
    }

    private void ObserveLeaving(ProduceRequest request)
    {
        request.SentAt = ClientMeter.Begin(_time);
        if (!ClientTrace.IsListenedTo && !ClientMeter.Retries.Enabled)
            return;
        foreach (SendBatch batch in request.Batches)
            ObserveLeaving(batch);
    }

    /// <summary>The first sending of a batch begins its span, the others count.</summary>
    private void ObserveLeaving(SendBatch batch)
    {
        if (batch.Attempts > 1)
            ClientMeter.CountRetry(_logger, batch.Queue.Topic.Name, Address, batch.LastError);
        else
            batch.Span ??= ClientTrace.StartSend(_logger, batch, Address);
    }

    private void ObserveAnswer(ProduceRequest request, EQueueException? failure)
    {
        if (request.SentAt == 0)
            return;
        TopicLane? topic = request.Batches[0].Queue.Topic;
        foreach (SendBatch batch in request.Batches)
        {
            if (batch.Queue.Topic != topic)
            {
                topic = null;
                break;
            }
        }

        ClientMeter.RecordDuration(
            _logger, _time, request.SentAt, "send", topic?.Name, group: null, Address, failure);
    }

    private void ObserveSettled(SendBatch batch, EQueueException? failure)
    {
        ClientMeter.CountSent(_logger, batch.RecordCount, batch.Queue.Topic.Name, Address, failure);
        if (batch.Span is { } span)
            ClientTrace.EndSend(_logger, span, batch.Attempts, failure);
    }
}
