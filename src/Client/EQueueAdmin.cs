using System.Runtime.CompilerServices;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Topics, groups, offsets and figures of the brokers.</summary>
/// <remarks>
/// Thread-safe. Failures are <see cref="EQueueException"/>. Requests go over one connection, apart from those of
/// producers and readers;
/// they wait for it no longer than <see cref="ClientOptions.RequestTimeout"/>.
/// </remarks>
public sealed partial class EQueueAdmin
{
    private const int PageSize = 1000;

    private readonly BrokerDirectory _directory;

    internal EQueueAdmin(BrokerDirectory directory) => _directory = directory;

    /// <summary>Connects, if need be, and tells what the broker is and allows.</summary>
    public async ValueTask<HelloResponse> HelloAsync(CancellationToken cancellationToken = default)
    {
        var link = await _directory.GetAdminAsync(cancellationToken).ConfigureAwait(false);
        return await link
            .ConnectAsync(_directory.Options.RequestTimeout, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Makes a topic; what is not set is the broker's own.</summary>
    /// <exception cref="EQueueException">TopicExists, InvalidName, InvalidArgument, TooManyQueues,
    /// StorageFull.</exception>
    public ValueTask<TopicDescription> CreateTopicAsync(
        string topic, TopicSettings? settings = null, CancellationToken cancellationToken = default) =>
        _directory.InvokeAsync(new CreateTopicRequest(topic, settings ?? TopicSettings.None), cancellationToken);

    /// <summary>Changes the settings that are named and leaves the rest.</summary>
    /// <exception cref="EQueueException">UnknownTopic, InvalidArgument, TooManyQueues, StorageFull.</exception>
    public ValueTask<TopicDescription> AlterTopicAsync(
        string topic, TopicSettings settings, CancellationToken cancellationToken = default) =>
        _directory.InvokeAsync(new AlterTopicRequest(topic, settings), cancellationToken);

    /// <summary>Says which queues of a topic may be written and read; when it returns it holds, over restarts as
    /// well.</summary>
    /// <param name="topic">The topic's name.</param>
    /// <param name="queues">By number; null = all that the topic has now.</param>
    /// <param name="isWritable">Whether they take messages; null = as it is.</param>
    /// <param name="isReadable">Whether they may be read; null = as it is.</param>
    /// <param name="cancellationToken">Gives up waiting, not what the broker has begun.</param>
    /// <remarks>Before queues or a broker are retired: not writable, wait until they are
    /// <see cref="QueueState.Drained"/>, not readable.</remarks>
    /// <exception cref="EQueueException">UnknownTopic; InvalidArgument: a number that the topic does not have, nothing
    /// to set.</exception>
    public ValueTask<TopicDescription> AlterQueuesAsync(
        string topic,
        IReadOnlyList<int>? queues,
        bool? isWritable = null,
        bool? isReadable = null,
        CancellationToken cancellationToken = default)
    {
        var mask = (isWritable is null ? QueueState.None : QueueState.Writable)
            | (isReadable is null ? QueueState.None : QueueState.Readable);
        var state = (isWritable == true ? QueueState.Writable : QueueState.None)
            | (isReadable == true ? QueueState.Readable : QueueState.None);
        return _directory.InvokeAsync(new AlterQueuesRequest(topic, queues, mask, state), cancellationToken);
    }

    /// <summary>Removes a topic, its messages and its groups' progress.</summary>
    /// <exception cref="EQueueException">UnknownTopic.</exception>
    public async ValueTask DeleteTopicAsync(string topic, CancellationToken cancellationToken = default) =>
        await _directory.InvokeAsync(new DeleteTopicRequest(topic), cancellationToken).ConfigureAwait(false);

    /// <summary>Names all topics in ordinal order, a page at a time.</summary>
    public async IAsyncEnumerable<TopicListing> ListTopicsAsync(
        [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        string? after = null;
        while (true)
        {
            var page = await _directory
                .InvokeAsync(new ListTopicsRequest(after, PageSize), cancellationToken).ConfigureAwait(false);
            foreach (var topic in page.Topics)
                yield return topic;
            if (!page.HasMore || page.Topics.Count == 0)
                yield break;
            after = page.Topics[^1].Topic;
        }
    }

    /// <summary>Tells a topic's settings and queues.</summary>
    /// <exception cref="EQueueException">UnknownTopic.</exception>
    public ValueTask<TopicDescription> DescribeTopicAsync(
        string topic, CancellationToken cancellationToken = default) =>
        _directory.InvokeAsync(new DescribeTopicRequest(topic), cancellationToken);

    /// <summary>Tells an offset of one queue; an offset that is asked for by number is given back as it is.</summary>
    /// <exception cref="EQueueException">UnknownTopic, UnknownQueue, DamagedData.</exception>
    public async ValueTask<QueueOffset> FindOffsetAsync(
        string topic, int queue, StartPosition position, CancellationToken cancellationToken = default)
    {
        var key = await FindQueueAsync(topic, queue, cancellationToken).ConfigureAwait(false);
        if (position.KnownOffset is { } known)
            return known;
        var response = await _directory
            .InvokeAsync(new FindOffsetsRequest([position.ToQuestion(key)]), cancellationToken).ConfigureAwait(false);
        return response.Answers is [{ Error: ErrorCode.None } answer]
            ? answer.Offset
            : throw new EQueueException(
                response.Answers.Count == 0 ? ErrorCode.InternalError : response.Answers[0].Error,
                $"{topic}/{queue} has no offset for {position}.");
    }

    /// <summary>Tells what a group has committed in each queue of a topic, by queue number; -1 for nothing.</summary>
    /// <exception cref="EQueueException">UnknownTopic, InvalidName.</exception>
    public async ValueTask<IReadOnlyList<QueueOffset>> ReadGroupOffsetsAsync(
        string group, string topic, CancellationToken cancellationToken = default)
    {
        var queues = await FindQueuesAsync(topic, cancellationToken).ConfigureAwait(false);
        var response = await _directory
            .InvokeAsync(new ReadOffsetsRequest(group, queues), cancellationToken).ConfigureAwait(false);
        return [.. queues.Select(key =>
            response.Offsets.FirstOrDefault(offset => offset.Queue == key)?.Next ?? new QueueOffset(-1))];
    }

    /// <summary>The broker's own figures.</summary>
    public ValueTask<StatsResponse> StatsAsync(CancellationToken cancellationToken = default) =>
        _directory.InvokeAsync(new StatsRequest(), cancellationToken);

    private async ValueTask<FetchQueueKey> FindQueueAsync(string topic, int queue, CancellationToken cancellationToken)
    {
        var queues = await FindQueuesAsync(topic, cancellationToken).ConfigureAwait(false);
        return queue >= 0 && queue < queues.Length
            ? queues[queue]
            : throw new EQueueException(
                ErrorCode.UnknownQueue, $"{topic} has queues 0 to {queues.Length - 1}, none with number {queue}.");
    }

    private async ValueTask<FetchQueueKey[]> FindQueuesAsync(string topic, CancellationToken cancellationToken)
    {
        var route = await _directory.RouteAsync([topic], autoCreate: false, cancellationToken).ConfigureAwait(false);
        var answer = route.Answer.Topics[0];
        if (answer.Error != ErrorCode.None)
            throw new EQueueException(answer.Error, $"{ErrorCodes.Describe(answer.Error)}: {topic}.");
        return [.. answer.Queues.Select(static queue => new FetchQueueKey(queue.Log, queue.Id))];
    }
}
