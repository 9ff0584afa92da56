namespace EQueue.MessageStore;

/// <content>Look-up by key.</content>
public sealed partial class QueueStore
{
    /// <summary>Finds the records of one queue that have a key, oldest first, reading at most what the question
    /// allows.</summary>
    /// <param name="question">Its key is lent until the task completes.</param>
    /// <param name="cancellationToken">Looked at before each read.</param>
    /// <returns>What was found; <see cref="KeyMatches.NextOffset"/> below the asked end says that there is more to
    /// look at.</returns>
    /// <remarks>
    /// Thread-safe. Reads on the reader threads, within their budget, in pieces of at most 1 MiB between which other
    /// cold reads have their turn.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">A bound is below 1.</exception>
    /// <exception cref="EQueueException">UnknownQueue, also when the queue is removed meanwhile; LimitReached:
    /// too many reads wait for the disk.</exception>
    public ValueTask<KeyMatches> FindByKeyAsync(KeyQuestion question, CancellationToken cancellationToken)
    {
        if (question.MaxCount < 1 || question.MaxBytes < 1)
        {
            throw new ArgumentOutOfRangeException(
                nameof(question), $"Asked for {question.MaxCount} records in {question.MaxBytes} bytes: 1 or more.");
        }
        return _keyFinder.FindAsync(question, cancellationToken);
    }
}
