namespace EQueue.MessageStore;

/// <summary>One queue as it stands now.</summary>
/// <param name="Id">The queue.</param>
/// <param name="TopicId">The topic it belongs to.</param>
/// <param name="Number">Its number inside the topic.</param>
/// <param name="Start">The first offset that may be read.</param>
/// <param name="End">The offset after the last visible record.</param>
/// <param name="StagedEnd">The offset that the next record gets.</param>
/// <param name="LastStoredTimeMs">Unix milliseconds of the last append; 0 = none.</param>
/// <param name="Bytes">Bytes of its entries from <paramref name="Start"/> on, as far as known.</param>
public readonly record struct QueueView(
    QueueId Id,
    TopicId TopicId,
    int Number,
    QueueOffset Start,
    QueueOffset End,
    QueueOffset StagedEnd,
    long LastStoredTimeMs,
    long Bytes)
{
    /// <summary>Bytes of all entries that it ever took, those that are gone included, as far as known.</summary>
    public long TakenBytes { get; init; }

    internal static QueueView Of(Queue queue, CommitLog log) => new(
        queue.Id,
        queue.TopicId,
        queue.Number,
        new QueueOffset(queue.VisibleStart),
        new QueueOffset(Math.Max(queue.VisibleStart, queue.VisibleEnd(log.Visible))),
        new QueueOffset(queue.NextOffset),
        log.State.TimeResets.Correct(queue.AppliedPosition - 1, queue.LastStoredTimeMs),
        queue.Bytes - queue.StartBytes)
    {
        TakenBytes = queue.Bytes,
    };
}
