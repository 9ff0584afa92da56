using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>
/// A request in flight: its batches, and what became of those that its answer settled. Pooled by its lane.
/// </summary>
internal sealed class ProduceRequest(int index)
{
    /// <summary>Its number in the lane; the token of its answer.</summary>
    public int Index { get; } = index;

    /// <summary>The connection it was sent on, or an older one.</summary>
    public long Generation { get; set; }

    /// <summary>When its batches were taken, in the time provider's units.</summary>
    public long TakenAt { get; set; }

    /// <summary>When it left, in the time provider's units; 0 = nobody wants to know how long it takes.</summary>
    public long SentAt { get; set; }

    public List<SendBatch> Batches { get; } = [];

    public List<SettledBatch> Settled { get; } = [];

    public void Clear()
    {
        Batches.Clear();
        Settled.Clear();
    }
}

/// <summary>A batch that left the queue's pending list and is to be settled outside the gate.</summary>
internal readonly record struct SettledBatch(SendBatch Batch, ProduceResult Result, EQueueException? Failure);
