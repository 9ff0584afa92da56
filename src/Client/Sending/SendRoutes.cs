using System.Collections.Concurrent;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Where a producer's topics are sent: their queues, and the lane to each broker.</summary>
/// <remarks>Owns the topics, the lanes, and the loop that asks for routes anew. Thread-safe.</remarks>
internal sealed class SendRoutes : IAsyncDisposable
{
    private readonly BrokerDirectory _directory;
    private readonly ConcurrentDictionary<string, TopicLane> _topics = new(StringComparer.Ordinal);

    /// <summary>By broker, and by topic where its backlog is bounded.</summary>
    private readonly Dictionary<(ServerAddress Address, string? Topic), BrokerLane> _lanes = [];
    private readonly Endings _retired = new();
    private readonly Lock _lock = new();
    private readonly Task _refreshes;

    public SendRoutes(BrokerDirectory directory, SendTerms terms)
    {
        _directory = directory;
        Terms = terms;
        _refreshes = Task.Run(RunRefreshesAsync);
    }

    public SendTerms Terms { get; }

    /// <summary>The topics that were sent to.</summary>
    public ICollection<TopicLane> Topics => _topics.Values;

    /// <summary>Why brokers cannot be asked for routes, in words; null = nothing is known to be wrong.</summary>
    public string? Trouble => _directory.Trouble;

    /// <summary>The ways to the brokers, as they are now.</summary>
    public BrokerLane[] Lanes()
    {
        lock (_lock)
            return [.. _lanes.Values];
    }

    /// <summary>A topic, which is asked about when it is first sent to.</summary>
    /// <exception cref="EQueueException">InvalidName.</exception>
    public TopicLane Find(string topic)
    {
        if (_topics.TryGetValue(topic, out TopicLane? lane))
            return lane;
        if (!NameRules.IsValid(topic))
        {
            throw new EQueueException(
                ErrorCode.InvalidName, $"{ErrorCodes.Describe(ErrorCode.InvalidName)}: '{topic}'.");
        }

        return _topics.GetOrAdd(topic, static (name, routes) => new TopicLane(routes, name), this);
    }

    /// <summary>Asks for a topic's queues and makes their lanes.</summary>
    /// <param name="topic">The topic.</param>
    /// <param name="whole">Whether every broker must have told its share: which queue a key goes to is known only
    /// then.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public async ValueTask<TopicRoutes> ResolveAsync(
        TopicLane topic, bool whole, CancellationToken cancellationToken)
    {
        while (true)
        {
            try
            {
                TopicRoutes routes = await RouteAsync(topic, Terms.Options.AutoCreateTopics, cancellationToken)
                    .ConfigureAwait(false);
                topic.LastRefusal = null;
                if (routes.IsWhole || !whole)
                    return routes;
            }
            catch (EQueueException exception) when (exception.IsRetriable)
            {
                // The caller's deadline ends this.
                topic.LastRefusal = exception;
            }

            await Task.Delay(Terms.Options.RetryBackoffMax, Terms.Time, cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Asks for a topic's route anew, without waiting for the next interval.</summary>
    public void RefreshSoon(TopicLane topic)
    {
        if (topic.TryBeginRefresh())
            _ = Task.Run(() => RefreshNowAsync(topic));
    }

    /// <summary>Ends the lanes, when the producer is closing and none is made any more.</summary>
    public async ValueTask DisposeAsync()
    {
        await _refreshes.ConfigureAwait(false);
        foreach (BrokerLane lane in Lanes())
            await lane.DisposeAsync().ConfigureAwait(false);
        await _retired.WhenAllAsync().ConfigureAwait(false);
    }

    private async ValueTask<TopicRoutes> RouteAsync(
        TopicLane topic, bool autoCreate, CancellationToken cancellationToken)
    {
        Route route = await _directory.RouteAsync([topic.Name], autoCreate, cancellationToken).ConfigureAwait(false);
        TopicRoute answer = route.Answer.Topics[0];
        if (answer.Error != ErrorCode.None)
        {
            var failure = new EQueueException(answer.Error, $"{ErrorCodes.Describe(answer.Error)}: {topic.Name}.");
            throw answer.Error == ErrorCode.UnknownTopic
                ? await NearNames.AddAsync(failure, _directory, topic.Name).ConfigureAwait(false) : failure;
        }

        if (answer.Queues.Count == 0)
            throw new EQueueException(ErrorCode.UnknownQueue, $"{topic.Name} has no queues.");
        QueueRoute? bounded = answer.Queues.FirstOrDefault(static queue => queue.State.HasFlag(QueueState.Bounded));
        SendBound? bound = bounded is null
            ? null
            : await FindBoundAsync(topic, route.AddressOf(bounded), cancellationToken).ConfigureAwait(false);
        string? name = bound is null ? null : topic.Name;
        return new TopicRoutes(
            [.. answer.Queues.Select(queue => GetLane(route.AddressOf(queue), name).GetQueue(topic, queue, bound))],
            answer.MaxMessageBytes,
            route.IsComplete);
    }

    private async ValueTask<SendBound?> FindBoundAsync(
        TopicLane topic, ServerAddress address, CancellationToken cancellationToken)
    {
        TopicDescription description = await _directory
            .InvokeAtAsync(address, new DescribeTopicRequest(topic.Name), cancellationToken).ConfigureAwait(false);
        return SendBound.From(description.Settings);
    }

    private async Task RunRefreshesAsync()
    {
        try
        {
            while (true)
            {
                await Task.Delay(RefreshInterval(), Terms.Time, Terms.Closing).ConfigureAwait(false);
                foreach (TopicLane topic in _topics.Values)
                    await RefreshAsync(topic).ConfigureAwait(false);
            }
        }
        catch (OperationCanceledException)
        {
            // The producer ends.
        }
    }

    /// <summary>Soon while a broker has never told its share.</summary>
    private TimeSpan RefreshInterval() =>
        Terms.Options.RetryBackoffMax < Terms.Options.RouteRefreshInterval
        && _topics.Values.Any(static topic => topic.IsResolved && !topic.IsWhole)
            ? Terms.Options.RetryBackoffMax : Terms.Options.RouteRefreshInterval;

    private async ValueTask RefreshAsync(TopicLane topic)
    {
        if (!topic.IsResolved)
            return;
        try
        {
            TopicRoutes routes = await RouteAsync(topic, autoCreate: false, Terms.Closing).ConfigureAwait(false);
            if (topic.WouldMove(routes))
                await MoveAsync(topic, routes).ConfigureAwait(false);
            else
                topic.Update(routes);
        }
        catch (EQueueException exception)
        {
            // The known route serves on; a send that meets a gone queue asks for itself.
            if (!Terms.Closing.IsCancellationRequested)
                Log.RefreshFailed(Terms.Logger, topic.Name, exception.Message);
        }
    }

    /// <summary>The topic's queues go on over other lanes, when everything sent over the old ones is settled.</summary>
    private async ValueTask MoveAsync(TopicLane topic, TopicRoutes routes)
    {
        using IDisposable turn = await topic.Lines.TakeTurnAsync(keysAsWell: topic.IsWhole, Terms.Closing)
            .ConfigureAwait(false);
        List<Task> pending = [];
        do
        {
            pending.Clear();
            topic.GatherPending(pending);
            await Task.WhenAll(pending).WaitAsync(Terms.Closing).ConfigureAwait(false);
        }
        while (pending.Count > 0);
        topic.Update(routes);
    }

    private async Task RefreshNowAsync(TopicLane topic)
    {
        try
        {
            await RefreshAsync(topic).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // The producer ends.
        }
        finally
        {
            topic.EndRefresh();
        }
    }

    private BrokerLane GetLane(ServerAddress address, string? boundedTopic)
    {
        lock (_lock)
        {
            if (Terms.Closing.IsCancellationRequested)
                throw Faults.Disposed("producer");
            (ServerAddress Address, string? Topic) key = (address, boundedTopic);
            if (_lanes.TryGetValue(key, out BrokerLane? lane) && !lane.IsClosed)
                return lane;
            if (lane is not null)
                _retired.Begin(lane);
            lane = new BrokerLane(
                Terms,
                _directory.Open(address),
                isBounded: boundedTopic is not null,
                hasOthers: _directory.ShareCount > 1);
            _lanes[key] = lane;
            lane.Start();
            return lane;
        }
    }
}
