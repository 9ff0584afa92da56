using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A batch that has left its queue, and is to be settled under no gate.</summary>
/// <param name="Batch">The batch.</param>
/// <param name="Result">Where it is stored.</param>
/// <param name="Failure">Why it is not, or why that is not known; null = it is stored.</param>
internal readonly record struct SettledBatch(SendBatch Batch, ProduceResult Result, EQueueException? Failure)
{
    /// <summary>Completes its messages, and tells listeners and the log.</summary>
    public void Settle(SendTerms terms, ServerAddress server)
    {
        IBatchOwner queue = Batch.Owner;
        if (Failure?.InnerException is ProducerClosedException closed)
        {
            // Logged once for each topic, when all have been counted.
            terms.NoteUnsent(queue.TopicName, Batch.RecordCount, closed.MayBeStored);
        }
        else if (Failure is not null)
        {
            Log.BatchFailed(
                terms.Logger, Batch.RecordCount, queue.TopicName, queue.Number, Failure.Code, Failure.Message);
        }

        Batch.Trace.ObserveSettled(Batch, terms.Logger, server, Failure);
        Batch.Settle(Result, Failure);
    }
}
