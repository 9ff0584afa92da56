using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>
/// A request in flight: its batches, and what became of those that its answer settled. Pooled by its lane.
/// </summary>
/// <remarks>Belongs to the thread that dispatches, then to the one that brings the answer.</remarks>
internal sealed class ProduceRequest(int index)
{
    /// <summary>When it left, in the clock's units; 0 = no listener wants to know how long it takes.</summary>
    private long _sentAt;

    /// <summary>Its number in the lane; the token of its answer.</summary>
    public int Index { get; } = index;

    /// <summary>The connection it was sent on, or an older one.</summary>
    public long Generation { get; set; }

    /// <summary>When its batches were taken, in the clock's units.</summary>
    public long TakenAt { get; set; }

    public List<SendBatch> Batches { get; } = [];

    public List<SettledBatch> Settled { get; } = [];

    /// <summary>How long it may take: no longer than its oldest batch has left. One that may have to wait for room is
    /// sent once: that its connection lives is the keep-alive's to find out.</summary>
    /// <param name="terms">Of the producer.</param>
    /// <param name="isBounded">Whether it may have to wait for room at the broker.</param>
    public TimeSpan TimeLeft(SendTerms terms, bool isBounded)
    {
        ProducerOptions options = terms.Options;
        long oldest = long.MaxValue;
        foreach (SendBatch batch in Batches)
            oldest = Math.Min(oldest, batch.CreatedAt);
        TimeSpan left = options.DeliveryTimeout - terms.Time.GetElapsedTime(oldest);
        TimeSpan timeout = isBounded || left < options.RequestTimeout ? left : options.RequestTimeout;
        return timeout < TimeSpan.FromMilliseconds(1) ? TimeSpan.FromMilliseconds(1) : timeout;
    }

    /// <summary>Encodes the batches: a single one leaves without a copy, several small ones are copied.</summary>
    public FrameBuffer ToFrame(Durability durability, TimeSpan timeout, BatchPacker? packer)
    {
        int deadlineMs = (int)Math.Min(timeout.TotalMilliseconds, int.MaxValue);
        var header = new ProduceRequestHeader(durability, deadlineMs, TransactionId: 0, Batches.Count);
        int size = ProduceRequestHeader.Size;
        foreach (SendBatch batch in Batches)
        {
            batch.Encode(packer);
            size += ProduceBatchHeader.Size + batch.Size;
        }

        if (Batches.Count == 1)
            return Batches[0].ToRequest(header);
        var frame = FrameBuffer.Rent(size);
        header.Write(frame.Reserve(ProduceRequestHeader.Size));
        foreach (SendBatch batch in Batches)
        {
            batch.WriteBatchHeader(frame.Reserve(ProduceBatchHeader.Size));
            batch.Bytes.CopyTo(frame.Reserve(batch.Size));
        }

        return frame;
    }

    /// <summary>Tells listeners that it leaves.</summary>
    public void ObserveLeaving(SendTerms terms, ServerAddress server)
    {
        _sentAt = ClientMeter.Begin(terms.Time);
        if (!ClientTrace.IsListenedTo && !ClientMeter.Retries.Enabled)
            return;
        foreach (SendBatch batch in Batches)
            batch.Trace.ObserveLeaving(batch, terms.Logger, server);
    }

    /// <summary>Tells listeners that it was answered, or why not.</summary>
    public void ObserveAnswer(SendTerms terms, ServerAddress server, EQueueException? failure)
    {
        if (_sentAt == 0)
            return;
        string? topic = Batches[0].Owner.TopicName;
        foreach (SendBatch batch in Batches)
        {
            if (batch.Owner.TopicName != topic)
            {
                topic = null;
                break;
            }
        }

        ClientMeter.RecordDuration(terms.Logger, terms.Time, _sentAt, "send", topic, group: null, server, failure);
    }

    public void Clear()
    {
        Batches.Clear();
        Settled.Clear();
    }
}
