using EQueue.Protocol;

namespace EQueue.Client;

/// <content>Where the queues of topics are, and over which lanes they are sent to.</content>
public sealed partial class Producer
{
    /// <summary>Asks for a topic's queues and makes their lanes.</summary>
    /// <param name="topic">The topic.</param>
    /// <param name="whole">Whether every broker must have told its share: which queue a key goes to is known only
    /// then.</param>
    /// <param name="cancellationToken">Gives up.</param>
    internal async ValueTask<TopicRoutes> ResolveAsync(
        TopicLane topic, bool whole, CancellationToken cancellationToken)
    {
        while (true)
        {
            try
            {
                TopicRoutes routes = await RouteAsync(topic, Options.AutoCreateTopics, cancellationToken)
                    .ConfigureAwait(false);
                topic.LastRefusal = null;
                if (routes.IsWhole || !whole)
                    return routes;
                await Task.Delay(Options.RetryBackoffMax, Time, cancellationToken).ConfigureAwait(false);
            }
            catch (EQueueException exception) when (exception.IsRetriable)
            {
                // The caller's deadline ends this.
                topic.LastRefusal = exception;
                await Task.Delay(Options.RetryBackoffMax, Time, cancellationToken).ConfigureAwait(false);
            }
        }
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
                await Task.Delay(RefreshInterval(), Time, _closing.Token).ConfigureAwait(false);
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
        Options.RetryBackoffMax < Options.RouteRefreshInterval
        && _topics.Values.Any(static topic => topic.IsResolved && !topic.IsWhole)
            ? Options.RetryBackoffMax : Options.RouteRefreshInterval;

    private async ValueTask RefreshAsync(TopicLane topic)
    {
        if (!topic.IsResolved)
            return;
        try
        {
            TopicRoutes routes = await RouteAsync(topic, autoCreate: false, _closing.Token).ConfigureAwait(false);
            if (topic.WouldMove(routes))
                await MoveAsync(topic, routes).ConfigureAwait(false);
            else
                topic.Update(routes);
        }
        catch (EQueueException exception)
        {
            // The known route serves on; a send that meets a gone queue asks for itself.
            if (!_closing.IsCancellationRequested)
                Log.RefreshFailed(Logger, topic.Name, exception.Message);
        }
    }

    /// <summary>The topic's queues go on over other lanes, when everything sent over the old ones is settled.</summary>
    private async ValueTask MoveAsync(TopicLane topic, TopicRoutes routes)
    {
        using IDisposable turn =
            await topic.TakeTurnAsync(keysAsWell: topic.IsWhole, _closing.Token).ConfigureAwait(false);
        List<Task> pending = [];
        do
        {
            pending.Clear();
            topic.GatherPending(pending);
            await Task.WhenAll(pending).WaitAsync(_closing.Token).ConfigureAwait(false);
        }
        while (pending.Count > 0);
        topic.Update(routes);
    }

    /// <summary>Asks for a topic's route anew, without waiting for the next interval.</summary>
    internal void RefreshSoon(TopicLane topic)
    {
        if (topic.TryBeginRefresh())
            _ = Task.Run(() => RefreshNowAsync(topic));
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
            if (_closing.IsCancellationRequested)
                throw Faults.Disposed("producer");
            (ServerAddress address, string? boundedTopic) key = (address, boundedTopic);
            if (_lanes.TryGetValue(key, out BrokerLane? lane) && !lane.IsClosed)
                return lane;
            if (lane is not null)
                _retired.Begin(lane);
            lane = new BrokerLane(this, _directory.Open(address), isBounded: boundedTopic is not null);
            _lanes[key] = lane;
            lane.Start();
            return lane;
        }
    }
}
