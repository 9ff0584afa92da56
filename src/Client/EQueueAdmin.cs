using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Topics, groups, offsets and figures of the brokers.</summary>
/// <remarks>
/// Thread-safe. Failures are <see cref="EQueueException"/>. Requests go over one connection to each given address,
/// apart from those of producers and readers, and wait for it no longer than
/// <see cref="ClientOptions.RequestTimeout"/>. With several addresses what is about topics, groups, quotas, users and
/// rules is asked of, and done at, every broker. One that is away fails the call before any is asked; a refusal of one
/// leaves done what others have done. Queues have the numbers that they have for producers and readers.
/// </remarks>
public sealed partial class EQueueAdmin
{
    private const int PageSize = 1000;

    /// <summary>What a broker says that has no share in the topic.</summary>
    private static readonly ErrorCode[] NoTopic = [ErrorCode.UnknownTopic];

    private readonly BrokerDirectory _directory;

    private readonly AdminCalls _calls;

    internal EQueueAdmin(BrokerDirectory directory)
    {
        _directory = directory;
        _calls = new AdminCalls(directory);
    }

    /// <summary>Connects, if need be, and tells what the broker is and allows.</summary>
    public async ValueTask<BrokerDescription> DescribeBrokerAsync(CancellationToken cancellationToken = default) =>
        BrokerDescription.Of(await _calls.GreetAsync(cancellationToken).ConfigureAwait(false));

    /// <summary>Makes a topic; what is not set is the broker's own.</summary>
    /// <exception cref="EQueueException">TopicExists, InvalidName, InvalidArgument, TooManyQueues,
    /// StorageFull.</exception>
    public async ValueTask<TopicDescription> CreateTopicAsync(
        string topic, TopicSettings? settings = null, CancellationToken cancellationToken = default)
    {
        var request = new CreateTopicRequest(topic, settings ?? TopicSettings.None);
        return await DescribeEachAsync(topic, _ => request, [], cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Changes the settings that are named and leaves the rest.</summary>
    /// <remarks>More queues move keys to other queues: messages of one key do not keep their order until those that are
    /// stored already are consumed. Nothing asks before that is done.</remarks>
    /// <exception cref="EQueueException">UnknownTopic, InvalidArgument, TooManyQueues, StorageFull.</exception>
    public async ValueTask<TopicDescription> AlterTopicAsync(
        string topic, TopicSettings settings, CancellationToken cancellationToken = default)
    {
        var request = new AlterTopicRequest(topic, settings);
        return await DescribeEachAsync(topic, _ => request, NoTopic, cancellationToken).ConfigureAwait(false);
    }

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
    public async ValueTask<TopicDescription> AlterQueuesAsync(
        string topic,
        IReadOnlyList<int>? queues,
        bool? isWritable = null,
        bool? isReadable = null,
        CancellationToken cancellationToken = default)
    {
        QueueState mask = (isWritable is null ? QueueState.None : QueueState.Writable)
            | (isReadable is null ? QueueState.None : QueueState.Readable);
        QueueState state = (isWritable == true ? QueueState.Writable : QueueState.None)
            | (isReadable == true ? QueueState.Readable : QueueState.None);
        return await DescribeEachAsync<AlterQueuesRequest>(topic, RequestAt, NoTopic, cancellationToken)
            .ConfigureAwait(false);

        AlterQueuesRequest? RequestAt(int share)
        {
            IReadOnlyList<int>? own = Shares.NumbersAt(queues, share, _directory.ShareCount, out bool isAsked);
            return isAsked ? new AlterQueuesRequest(topic, own, mask, state) : null;
        }
    }

    /// <summary>Removes a topic, its messages and its groups' progress.</summary>
    /// <exception cref="EQueueException">UnknownTopic.</exception>
    public async ValueTask DeleteTopicAsync(string topic, CancellationToken cancellationToken = default) =>
        await _calls.InvokeEachAsync<DeleteTopicRequest, Done>(
            _ => new DeleteTopicRequest(topic), NoTopic, cancellationToken, topic).ConfigureAwait(false);

    /// <summary>Names all topics in ordinal order, a page at a time when there is one broker.</summary>
    public IAsyncEnumerable<TopicListing> ListTopicsAsync(CancellationToken cancellationToken = default) =>
        _calls.ListEachAsync<TopicListing>(
            static async (seed, last, token) =>
            {
                var request = new ListTopicsRequest(last?.Topic, PageSize);
                ListTopicsResponse page = await seed.InvokeAsync(request, token).ConfigureAwait(false);
                return (page.Topics, page.HasMore);
            },
            static topic => topic.Topic,
            Shares.Unite,
            cancellationToken);

    /// <summary>Tells a topic's settings and queues.</summary>
    /// <exception cref="EQueueException">UnknownTopic.</exception>
    public ValueTask<TopicDescription> DescribeTopicAsync(
        string topic, CancellationToken cancellationToken = default) =>
        DescribeEachAsync(topic, _ => new DescribeTopicRequest(topic), NoTopic, cancellationToken);

    /// <summary>Tells an offset of one queue; an offset that is asked for by number is given back as it is.</summary>
    /// <exception cref="EQueueException">UnknownTopic, UnknownQueue, DamagedData.</exception>
    public ValueTask<QueueOffset> FindOffsetAsync(
        string topic, int queue, StartPosition position, CancellationToken cancellationToken = default) =>
        _calls.AskAsync(topic, () => AskOffsetAsync(topic, queue, position, cancellationToken), cancellationToken);

    private async ValueTask<QueueOffset> AskOffsetAsync(
        string topic, int queue, StartPosition position, CancellationToken cancellationToken)
    {
        Route route = await _directory.RouteOfAsync(topic, cancellationToken).ConfigureAwait(false);
        QueueRoute found = route.FindQueue(topic, queue);
        if (position.KnownOffset is { } known)
            return known;
        var request = new FindOffsetsRequest([position.ToQuestion(new QueueKey(found.Log, found.Id))]);
        FindOffsetsResponse response =
            await _directory.InvokeAtAsync(route.AddressOf(found), request, cancellationToken)
            .ConfigureAwait(false);
        return response.Answers is [{ Error: ErrorCode.None } answer]
            ? answer.Offset
            : throw new EQueueException(
                response.Answers.Count == 0 ? ErrorCode.InternalError : response.Answers[0].Error,
                $"{topic}/{queue} has no offset for {position}.");
    }

    /// <summary>Tells what a group has committed in each queue of a topic, in the order of their numbers; -1 for
    /// nothing.</summary>
    /// <exception cref="EQueueException">UnknownTopic, InvalidName, Unreachable.</exception>
    public ValueTask<IReadOnlyList<QueueOffset>> ReadGroupOffsetsAsync(
        string group, string topic, CancellationToken cancellationToken = default) =>
        _calls.AskAsync(topic, () => AskGroupOffsetsAsync(group, topic, cancellationToken), cancellationToken);

    private async ValueTask<IReadOnlyList<QueueOffset>> AskGroupOffsetsAsync(
        string group, string topic, CancellationToken cancellationToken)
    {
        Route route = await _directory.RouteOfAsync(topic, cancellationToken).ConfigureAwait(false);
        IReadOnlyList<QueueRoute> queues = route.QueuesOf(topic);
        Dictionary<int, QueueOffset> committed = [];
        foreach (IGrouping<ServerAddress, QueueRoute> share in queues.GroupBy(route.AddressOf))
        {
            var keys = share.ToDictionary(
                static queue => new QueueKey(queue.Log, queue.Id), static queue => queue.Number);
            var request = new ReadOffsetsRequest(group, [.. keys.Keys]);
            ReadOffsetsResponse response = await _directory.InvokeAtAsync(share.Key, request, cancellationToken)
                .ConfigureAwait(false);
            foreach (CommittedOffset offset in response.Offsets)
            {
                if (keys.TryGetValue(offset.Queue, out int number))
                    committed[number] = offset.Next;
            }
        }

        return [.. queues.Select(queue => committed.GetValueOrDefault(queue.Number, new QueueOffset(-1)))];
    }

    /// <summary>The broker's own figures.</summary>
    public async ValueTask<BrokerFigures> ReadFiguresAsync(CancellationToken cancellationToken = default) =>
        BrokerFigures.Of(
            await _calls.InvokeAsync(new StatsRequest(), cancellationToken).ConfigureAwait(false));

    /// <summary>Has every broker answer with its share of a topic: the topic as a whole.</summary>
    private async ValueTask<TopicDescription> DescribeEachAsync<TRequest>(
        string topic, Func<int, TRequest?> requestOf, ErrorCode[] absences, CancellationToken cancellationToken)
        where TRequest : class, IRequest<TRequest, TopicDescription> => Shares.Unite(
            await _calls.InvokeEachAsync<TRequest, TopicDescription>(requestOf, absences, cancellationToken, topic)
                .ConfigureAwait(false),
            _directory.ShareCount);
}
