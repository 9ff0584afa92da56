using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Topics, offsets and figures of the brokers.</summary>
/// <remarks>Thread-safe. Failures are <see cref="EQueueException"/>.</remarks>
public sealed class EQueueAdmin
{
    internal EQueueAdmin()
    {
    }

    /// <summary>Asks the broker who it is and what it allows.</summary>
    public ValueTask<HelloResponse> HelloAsync(CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Makes a topic.</summary>
    public ValueTask<TopicDescription> CreateTopicAsync(
        string topic, TopicSettings? settings = null, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Changes the settings that are named.</summary>
    public ValueTask<TopicDescription> AlterTopicAsync(
        string topic, TopicSettings settings, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Removes a topic, its messages and its groups' progress.</summary>
    public ValueTask DeleteTopicAsync(string topic, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Names all topics in ordinal order.</summary>
    public IAsyncEnumerable<TopicListing> ListTopicsAsync(CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Tells a topic's settings and queues.</summary>
    public ValueTask<TopicDescription> DescribeTopicAsync(string topic, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Tells an offset of one queue.</summary>
    public ValueTask<QueueOffset> FindOffsetAsync(
        string topic, int queue, StartPosition position, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>Tells what a group has committed in each queue of a topic; -1 for nothing. By queue number.</summary>
    public ValueTask<IReadOnlyList<QueueOffset>> ReadGroupOffsetsAsync(
        string group, string topic, CancellationToken cancellationToken = default) => throw new NotSupportedException();

    /// <summary>Sets where a group without a live member goes on in a queue.</summary>
    public ValueTask CommitGroupOffsetAsync(
        string group, string topic, int queue, QueueOffset next, CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();

    /// <summary>The broker's own figures.</summary>
    public ValueTask<StatsResponse> StatsAsync(CancellationToken cancellationToken = default) =>
        throw new NotSupportedException();
}
