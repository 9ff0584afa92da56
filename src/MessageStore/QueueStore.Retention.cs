namespace EQueue.MessageStore;

/// <content>Retention: the starts of queues move at once, by state records; files go in the background.</content>
public sealed partial class QueueStore
{
    /// <summary>Is told of all messages that go; <see langword="null"/>: none is.</summary>
    public IDeletionWatch? DeletionWatch
    {
        get => _upkeep.Starts.Watch;
        set => _upkeep.Starts.Watch = value;
    }

    /// <summary>Moves the first offset that may be read of queues forward; completes when the flush policy is
    /// met.</summary>
    /// <param name="starts">A start behind the present one moves nothing, one beyond the visible end moves to it;
    /// queues that do not exist are passed over.</param>
    /// <param name="cancellationToken">Gives up between batches of 1,000 queues.</param>
    /// <returns>How many queues moved.</returns>
    /// <exception cref="EQueueException">StoreFaulted or ShuttingDown.</exception>
    /// <exception cref="DiskException">An index file cannot be read.</exception>
    public Task<int> MoveStartsAsync(
        IReadOnlyList<(QueueId Queue, QueueOffset Start)> starts, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(starts);
        return _upkeep.Starts.MoveAsync(starts, cancellationToken);
    }

    /// <summary>
    /// Moves the starts of all queues to what their limits keep, and past the oldest messages when the log takes more
    /// than <see cref="StoreOptions.MaxLogBytes"/>. Call it now and then: nothing goes without.
    /// </summary>
    /// <param name="limits">What a queue keeps; called on a thread of the store.</param>
    /// <param name="cancellationToken">Gives up between batches of 1,000 queues.</param>
    /// <returns>How many queues moved.</returns>
    /// <exception cref="EQueueException">StoreFaulted or ShuttingDown.</exception>
    /// <exception cref="DiskException">An index file cannot be read.</exception>
    public Task<int> ApplyRetentionAsync(
        Func<QueueView, RetentionLimits> limits, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(limits);
        return _upkeep.Starts.ApplyLimitsAsync(limits, cancellationToken);
    }

    /// <summary>Moves the starts of queues past the oldest messages when the log takes more than it may, and nothing
    /// else: cheap enough for every second.</summary>
    /// <param name="cancellationToken">Gives up between batches of 1,000 queues.</param>
    /// <returns>How many queues moved.</returns>
    /// <exception cref="EQueueException">StoreFaulted or ShuttingDown.</exception>
    /// <exception cref="DiskException">An index file cannot be read.</exception>
    public Task<int> ApplyBoundAsync(CancellationToken cancellationToken) =>
        _upkeep.Starts.ApplyBoundAsync(cancellationToken);

    /// <summary>Bytes of a queue's entries that end in a range of offsets, their headers included: an entry counts
    /// in the range that holds its last message.</summary>
    /// <param name="queue">The queue; 0 bytes if it does not exist.</param>
    /// <param name="from">The first offset.</param>
    /// <param name="to">The offset after the last.</param>
    /// <param name="cancellationToken">Gives up before it begins.</param>
    /// <exception cref="DiskException">An index file cannot be read.</exception>
    public Task<long> SumBytesAsync(
        QueueId queue, QueueOffset from, QueueOffset to, CancellationToken cancellationToken) =>
        _upkeep.Starts.SumBytesAsync(queue, from, to, cancellationToken);
}
