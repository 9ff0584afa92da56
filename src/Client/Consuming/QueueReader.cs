namespace EQueue.Client;

/// <summary>Reads queues that the application names, from where it says, as a member of no group.</summary>
public sealed class QueueReader : IAsyncDisposable
{
    internal QueueReader(BrokerDirectory directory, ReaderOptions options, Action<IAsyncDisposable> onDisposed)
    {
    }

    /// <summary>Reads a queue from a place on.</summary>
    public ValueTask AssignAsync(
        string topic, int queue, StartPosition position, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Reads all queues of a topic from a place on.</summary>
    public ValueTask AssignAllAsync(
        string topic, StartPosition position, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Reads a queue no longer.</summary>
    public void Unassign(string topic, int queue) => throw new NotSupportedException();

    /// <summary>Goes on elsewhere in an assigned queue.</summary>
    public ValueTask SeekAsync(
        string topic, int queue, StartPosition position, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Fetches no more of a queue until <see cref="Resume"/>.</summary>
    public void Pause(string topic, int queue) => throw new NotSupportedException();

    /// <summary>Fetches a paused queue again.</summary>
    public void Resume(string topic, int queue) => throw new NotSupportedException();

    /// <summary>Yields messages without end, each valid until the next step.</summary>
    public IAsyncEnumerable<ReceivedMessage> ReadAllAsync(CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Yields stored batches without end, each valid until the next step.</summary>
    public IAsyncEnumerable<ReceivedBatch> ReadBatchesAsync(CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Takes up to <paramref name="maxCount"/> messages, waiting up to <paramref name="maxWait"/> for the first.</summary>
    public ValueTask<IReadOnlyList<DetachedMessage>> PullAsync(
        int maxCount, TimeSpan maxWait, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Commits everything whose step is over for a group that has no live member.</summary>
    public ValueTask CommitAsync(string group, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>How far the reader has come in each of its queues.</summary>
    public IReadOnlyList<QueueProgress> GetProgress() => throw new NotSupportedException();

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => throw new NotSupportedException();
}
