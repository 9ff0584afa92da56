using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>The operations on topics: create, alter, delete, list, describe, route.</summary>
internal sealed class TopicHandler(QueueStore store, TopicCatalogue catalogue, GroupModule groups)
{
    private const int MaxListed = 1_000;
    private const int MaxRouted = 1_000;

    public async ValueTask<TopicDescription> CreateAsync(
        BrokerConnection peer, CreateTopicRequest request, CancellationToken cancellationToken)
    {
        groups.Heartbeats.CheckQueues(request.Topic, request.Settings.QueueCount ?? catalogue.Defaults.QueueCount);
        Topic topic = await catalogue.CreateAsync(request.Topic, request.Settings, cancellationToken);
        groups.Heartbeats.OnTopicChanged(topic.Name);
        return Describe(topic);
    }

    public async ValueTask<TopicDescription> AlterAsync(
        BrokerConnection peer, AlterTopicRequest request, CancellationToken cancellationToken)
    {
        if (request.Settings.QueueCount is { } count && catalogue.TryFind(request.Topic, out Topic? before))
            groups.Heartbeats.CheckQueues(request.Topic, count - before.Queues.Length);
        Topic topic = await catalogue.AlterAsync(request.Topic, request.Settings, cancellationToken);
        groups.Heartbeats.OnTopicChanged(topic.Name);
        return Describe(topic);
    }

    public async ValueTask<TopicDescription> AlterQueuesAsync(
        BrokerConnection peer, AlterQueuesRequest request, CancellationToken cancellationToken)
    {
        Topic topic = await catalogue.AlterQueuesAsync(request, cancellationToken);
        groups.Heartbeats.OnTopicChanged(topic.Name);
        return Describe(topic);
    }

    public async ValueTask<Done> DeleteAsync(
        BrokerConnection peer, DeleteTopicRequest request, CancellationToken cancellationToken)
    {
        Topic topic;
        try
        {
            topic = await catalogue.DeleteAsync(request.Topic, groups.Table.WaitForCommits, cancellationToken);
        }
        finally
        {
            groups.Heartbeats.OnTopicChanged(request.Topic);
        }

        groups.Heartbeats.Forget(topic.Queues);
        return Done.Value;
    }

    public ValueTask<ListTopicsResponse> ListAsync(
        BrokerConnection peer, ListTopicsRequest request, CancellationToken cancellationToken)
    {
        if (request.Limit < 1)
            throw RequestRules.Invalid($"A page has 1 or more topics; asked for {request.Limit}.");
        int limit = Math.Min(request.Limit, MaxListed);
        var access = PeerAccess.Of(peer);
        var found = new List<TopicListing>();
        string? after = request.After;
        while (found.Count <= limit)
        {
            ArraySegment<Topic> next = catalogue.List(after, limit + 1);
            foreach (Topic topic in next)
            {
                if (found.Count <= limit && access.May(Permission.Describe, ResourceKind.Topic, topic.Name))
                    found.Add(new TopicListing(topic.Name, topic.Id, topic.Queues.Length));
            }

            if (next.Count <= limit)
                break;
            after = next[^1].Name;
        }

        bool hasMore = found.Count > limit;
        return ValueTask.FromResult(new ListTopicsResponse([.. found.Take(limit)], hasMore));
    }

    public ValueTask<TopicDescription> DescribeAsync(
        BrokerConnection peer, DescribeTopicRequest request, CancellationToken cancellationToken) =>
        ValueTask.FromResult(Describe(catalogue.Find(request.Topic)));

    public async ValueTask<RouteResponse> RouteAsync(
        BrokerConnection peer, RouteRequest request, CancellationToken cancellationToken)
    {
        if (request.Topics.Count > MaxRouted)
        {
            throw RequestRules.Invalid(
                $"At most {MaxRouted} topics are routed at once; asked for {request.Topics.Count}.");
        }

        RequestRules.CheckNamedOnce(request.Topics, "Topic");
        var access = PeerAccess.Of(peer);
        var routes = new TopicRoute[request.Topics.Count];
        for (int i = 0; i < routes.Length; i++)
            routes[i] = await RouteAsync(access, request.Topics[i], request.AutoCreate, cancellationToken);
        return new RouteResponse([new BrokerAddress(store.StoreId, "", 0)], routes);
    }

    private async ValueTask<TopicRoute> RouteAsync(
        PeerAccess access, string name, bool autoCreate, CancellationToken cancellationToken)
    {
        if (!access.Permit(Opcode.Route, Permission.Describe, ResourceKind.Topic, name))
            return new TopicRoute(ErrorCode.NotAuthorized, name, default, 0, []);
        if (!catalogue.TryFind(name, out Topic? topic))
        {
            if (!NameRules.IsValid(name))
                return new TopicRoute(ErrorCode.InvalidName, name, default, 0, []);
            if (!autoCreate || !catalogue.Defaults.AutoCreate)
                return new TopicRoute(ErrorCode.UnknownTopic, name, default, 0, []);
            if (!access.Permit(Opcode.Route, Permission.Create, ResourceKind.Topic, name))
                return new TopicRoute(ErrorCode.NotAuthorized, name, default, 0, []);
            try
            {
                groups.Heartbeats.CheckQueues(name, catalogue.Defaults.QueueCount);
                (topic, bool isNew) = await catalogue.FindOrCreateAsync(name, cancellationToken);
                if (isNew)
                    access.NoteMade(Opcode.Route, topic);
                groups.Heartbeats.OnTopicChanged(name);
            }
            catch (EQueueException exception)
            {
                return new TopicRoute(exception.Code, name, default, 0, []);
            }
        }

        int epoch = store.Epoch;
        QueueId[] queues = topic.Queues;

        // Each is made when it is written: a thousand topics may have very many.
        var routes = new LazyList<QueueRoute>(
            queues.Length,
            number => new QueueRoute(number, 0, topic.StateOf(number), queues[number], epoch, 0));
        return new TopicRoute(ErrorCode.None, name, topic.Id, (uint)topic.MaxMessageBytes, routes);
    }

    private TopicDescription Describe(Topic topic)
    {
        var queues = new List<QueueDescription>(topic.Queues.Length);
        QueueDrain? drain = null;
        for (int number = 0; number < topic.Queues.Length; number++)
        {
            if (store.TryGetQueue(topic.Queues[number], out QueueView view))
            {
                QueueState queueState = topic.StateOf(number);
                if (!queueState.HasFlag(QueueState.Writable)
                    && (drain ??= new QueueDrain(groups.Table, topic)).IsDrained(view))
                {
                    queueState |= QueueState.Drained;
                }

                queues.Add(new QueueDescription(
                    number,
                    0,
                    view.Id,
                    queueState,
                    view.Start,
                    view.End,
                    view.Bytes,
                    view.LastStoredTimeMs));
            }
        }

        return new TopicDescription(topic.Name, topic.Id, topic.Record.CreatedMs, topic.Record.Settings, queues);
    }
}
