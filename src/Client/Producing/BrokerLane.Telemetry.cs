using EQueue.Protocol;

namespace EQueue.Client;

/// <content>What listeners are told, outside the gate, by batch and request. While there is none, each of these is a
/// branch. A listener that throws is logged and holds nothing up.</content>
internal sealed partial class BrokerLane
{
    /// <summary>Produce requests that are not answered.</summary>
    public int InFlight => Volatile.Read(ref _inFlight);

    /// <summary>Bytes of the batches in them.</summary>
    public long InFlightBytes
    {
        get
        {
            var bytes = 0L;
            lock (_gate)
            {
                foreach (var queue in _queues.Values)
                {
                    for (var batch = queue.First; batch is not null; batch = batch.Next)
                        bytes += batch.State == BatchState.Sent ? batch.Size : 0;
                }
            }

            return bytes;
        }
    }

    private void ObserveLeaving(ProduceRequest request)
    {
        request.SentAt = ClientMeter.Duration.Enabled ? _time.GetTimestamp() : 0;
        if (!ClientTrace.IsListenedTo && !ClientMeter.Retries.Enabled)
            return;
        foreach (var batch in request.Batches)
            ObserveLeaving(batch);
    }

    /// <summary>The first sending of a batch begins its span, the others count.</summary>
    private void ObserveLeaving(SendBatch batch)
    {
        try
        {
            if (batch.Attempts > 1 && ClientMeter.Retries.Enabled)
                ClientMeter.CountRetry(batch.Queue.Topic.Name, Address, batch.LastError);
            else if (batch.Attempts <= 1 && batch.Span is null && ClientTrace.IsListenedTo)
                batch.Span = ClientTrace.StartSend(batch, Address);
        }
        catch (Exception exception)
        {
            Log.ListenerThrew(_logger, exception);
        }
    }

    private void ObserveAnswer(ProduceRequest request, EQueueException? failure)
    {
        if (request.SentAt == 0)
            return;
        var topic = request.Batches[0].Queue.Topic;
        foreach (var batch in request.Batches)
        {
            if (batch.Queue.Topic != topic)
            {
                topic = null;
                break;
            }
        }

        try
        {
            ClientMeter.RecordDuration(_time, request.SentAt, "send", topic?.Name, group: null, Address, failure);
        }
        catch (Exception exception)
        {
            Log.ListenerThrew(_logger, exception);
        }
    }

    private void ObserveSettled(SendBatch batch, EQueueException? failure)
    {
        try
        {
            if (ClientMeter.Sent.Enabled)
                ClientMeter.CountSent(batch.RecordCount, batch.Queue.Topic.Name, Address, failure);
            if (batch.Span is { } span)
                ClientTrace.EndSend(span, batch.Attempts, failure);
        }
        catch (Exception exception)
        {
            Log.ListenerThrew(_logger, exception);
        }
    }
}
