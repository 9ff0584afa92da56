namespace EQueue.MessageStore;

/// <summary>A producer in a snapshot: its epoch and the last batches it stored in each queue. Layout:
/// <see cref="SnapshotWriter"/>.</summary>
/// <param name="Id">Producer id.</param>
/// <param name="Epoch">Its newest epoch.</param>
/// <param name="LastSeenMs">Unix milliseconds.</param>
/// <param name="Windows">By queue id; at most 16 batches each, oldest first.</param>
internal sealed record SnapshotProducer(
    long Id, short Epoch, long LastSeenMs, IReadOnlyList<(uint Queue, SequencedBatch[] Batches)> Windows)
{
    /// <summary>A copy of the producer as it stands; under the log's lock.</summary>
    public static SnapshotProducer Of(ProducerState producer)
    {
        var windows = new List<(uint, SequencedBatch[])>(producer.Windows.Count);
        foreach ((uint queue, SequenceWindow window) in producer.Windows)
        {
            var batches = new SequencedBatch[window.Count];
            for (int i = 0; i < batches.Length; i++)
                batches[i] = window[i];
            windows.Add((queue, batches));
        }

        return new SnapshotProducer(producer.Id, producer.Epoch, producer.LastSeenMs, windows);
    }
}
