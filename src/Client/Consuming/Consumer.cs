using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A member of a consumer group: reads the queues that the group gives it and commits behind itself.</summary>
public sealed class Consumer : IAsyncDisposable
{
    internal Consumer(BrokerDirectory directory, string group, IReadOnlyList<string> topics, ConsumerOptions options, Action<IAsyncDisposable> onDisposed)
    {
        Group = group;
        Topics = topics;
    }

    /// <summary>The group.</summary>
    public string Group { get; }

    /// <summary>The topics subscribed to.</summary>
    public IReadOnlyList<string> Topics { get; }

    /// <summary>Joins the group and learns the queues; reading does it by itself.</summary>
    /// <exception cref="EQueueException">GroupBusy: another live member has the queues.</exception>
    public ValueTask JoinAsync(CancellationToken cancellationToken = default) => throw new NotSupportedException();

    /// <summary>Yields messages without end, each valid until the next step.</summary>
    public IAsyncEnumerable<ReceivedMessage> ReadAllAsync(CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Yields stored batches without end, each valid until the next step.</summary>
    public IAsyncEnumerable<ReceivedBatch> ReadBatchesAsync(CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Commits everything whose step is over.</summary>
    public ValueTask CommitAsync(CancellationToken cancellationToken = default) => throw new NotSupportedException();

    /// <summary>Commits the messages of the queue up to this one, which counts as processed.</summary>
    public ValueTask CommitAsync(ReceivedMessage message, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Goes on elsewhere in a queue that this member owns.</summary>
    public ValueTask SeekAsync(
        string topic, int queue, StartPosition position, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>How far the member has come in each of its queues.</summary>
    public IReadOnlyList<QueueProgress> GetProgress() => throw new NotSupportedException();

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => throw new NotSupportedException();
}
