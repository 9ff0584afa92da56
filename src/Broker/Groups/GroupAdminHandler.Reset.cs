using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <content>Sets where groups go on.</content>
internal sealed partial class GroupAdminHandler
{
    private const int MaxResetQueues = 10_000;
    private const int RecordOverheadBytes = 64;

    public async ValueTask<ResetOffsetsResponse> ResetAsync(
        BrokerConnection peer, ResetOffsetsRequest request, CancellationToken cancellationToken)
    {
        RequestRules.CheckName(request.Group, "group");
        if (request.InstanceId is { } instance)
            RequestRules.CheckName(instance, "instance");
        if (request.Numbers is not null && request.Topic is null)
            throw RequestRules.Invalid("Numbers name queues of a topic, and none is named.");
        new OffsetReset(request.To, request.Value).Check();
        long bytes = (long)RowBytes * Math.Min(MaxResetQueues, request.Topic is { } topic
            ? request.Numbers?.Count ?? catalogue.Find(topic).Queues.Length
            : Find(request.Group).ProgressCount);
        // A long request holds memory of this pool while it is handled: those that also waited for some would wait for
        // each other.
        if (!_memory.TryTake(bytes))
            throw _memory.Full($"{bytes} bytes for the queues to be reset cannot be had");
        try
        {
            return await ResetNowAsync(peer, request, cancellationToken);
        }
        finally
        {
            _memory.Give(bytes);
        }
    }

    private async ValueTask<ResetOffsetsResponse> ResetNowAsync(
        BrokerConnection peer, ResetOffsetsRequest request, CancellationToken cancellationToken)
    {
        ResetGoal[] goals = await FindGoalsAsync(request, cancellationToken);
        bool mustExist = request.Topic is null || request.To == ResetTarget.ShiftBy;
        if (request.IsPreview || goals.Length == 0)
        {
            Group? known = mustExist ? Find(request.Group) : groups.Find(request.Group);
            return new ResetOffsetsResponse(Place(request, known, goals));
        }

        while (true)
        {
            Group group = mustExist ? Find(request.Group) : groups.FindOrAdd(request.Group);
            ResetQueue[] queues = [];
            bool isWritten = await progress.WriteAsync(
                group,
                () =>
                {
                    ProgressWriter.CheckFree(group);
                    queues = Place(request, group, goals);
                    return ChangesOf(request, group, goals, queues);
                },
                cancellationToken);
            if (!isWritten)
                continue;
            _logger.OffsetsReset(request.Group, queues.Count(queue => queue.Error == ErrorCode.None), peer.Peer);
            return new ResetOffsetsResponse(queues);
        }
    }

    /// <summary>The queues that are meant, with the errors that are known already and times as offsets.</summary>
    private async ValueTask<ResetGoal[]> FindGoalsAsync(
        ResetOffsetsRequest request, CancellationToken cancellationToken)
    {
        ResetGoal[] goals = request.Topic is { } topic
            ? GoalsOf(catalogue.Find(topic), request.Numbers)
            : GoalsOf(Find(request.Group).CommittedQueues(request.InstanceId));
        if (goals.Length > MaxResetQueues)
        {
            throw RequestRules.Invalid(
                $"A reset sets at most {MaxResetQueues} queues; this one has {goals.Length}: name topics or queues.");
        }

        int recordBytes = ProgressName.Of(request.Group, request.InstanceId).Length + RecordOverheadBytes;
        if ((long)goals.Length * recordBytes > _store.MaxRequestBytes / 2)
        {
            throw RequestRules.Invalid(
                $"{goals.Length} queues under a name this long are too much for one step: name topics or queues.");
        }

        var reset = new OffsetReset(request.To, request.Value);
        for (int i = 0; i < goals.Length; i++)
        {
            if (goals[i].Error != ErrorCode.None)
                continue;
            try
            {
                goals[i] = goals[i] with
                {
                    Reset = await reset.ResolveAsync(_store, goals[i].Queue, cancellationToken),
                };
            }
            catch (EQueueException exception) when (exception.Code is ErrorCode.UnknownQueue or ErrorCode.DamagedData)
            {
                goals[i] = goals[i] with { Error = exception.Code };
            }
        }

        return goals;
    }

    private static ResetGoal[] GoalsOf(Topic topic, IReadOnlyList<int>? numbers) =>
    [
        .. (numbers?.Distinct() ?? Enumerable.Range(0, topic.Queues.Length)).Order().Select(number =>
            number >= 0 && number < topic.Queues.Length
                ? new ResetGoal(topic.Name, number, topic.Queues[number], default, ErrorCode.None)
                : new ResetGoal(topic.Name, number, default, default, ErrorCode.UnknownQueue)),
    ];

    private ResetGoal[] GoalsOf(IEnumerable<QueueKey> queues)
    {
        var goals = new List<ResetGoal>();
        foreach (QueueKey queue in queues)
        {
            if (catalogue.TryFindByQueue(queue.Id, out Topic? topic)
                && _store.TryGetQueue(queue.Id, out QueueView view))
            {
                goals.Add(new ResetGoal(topic.Name, view.Number, queue.Id, default, ErrorCode.None));
            }
        }

        return [.. goals.OrderBy(goal => goal.Topic, StringComparer.Ordinal).ThenBy(goal => goal.Number)];
    }

    /// <summary>What becomes of each queue as things stand.</summary>
    private ResetQueue[] Place(ResetOffsetsRequest request, Group? group, ResetGoal[] goals)
    {
        GroupKind kind = request.InstanceId is null ? GroupKind.Shared : GroupKind.Broadcast;
        if (group?.KindOfProgress is { } known && known != kind)
        {
            throw new EQueueException(
                ErrorCode.GroupKindDiffers,
                known == GroupKind.Broadcast
                    ? $"Group '{group.Name}' has progress of each instance: name one."
                    : $"Group '{group.Name}' has progress of its own and none of instances.");
        }

        string name = ProgressName.Of(request.Group, request.InstanceId);
        return [.. goals.Select(goal => Place(name, goal))];
    }

    private ResetQueue Place(string name, ResetGoal goal)
    {
        var none = new QueueOffset(-1);
        if (goal.Error != ErrorCode.None)
            return new ResetQueue(goal.Topic, goal.Number, goal.Error, none, none);
        // As the log has it: a last commit may be under way, and what is stored here comes behind it.
        var key = new GroupOffsetKey(name, new QueueKey(0, goal.Queue));
        QueueOffset? from = context.State.Groups.FindOffset(key)?.Next;
        if (!catalogue.TryFindByQueue(goal.Queue, out _) || !_store.TryGetQueue(goal.Queue, out QueueView view))
            return new ResetQueue(goal.Topic, goal.Number, ErrorCode.UnknownQueue, from ?? none, none);
        return goal.Reset.Place(view, from) is { } to
            ? new ResetQueue(goal.Topic, goal.Number, ErrorCode.None, from ?? none, to)
            : new ResetQueue(goal.Topic, goal.Number, ErrorCode.InvalidArgument, none, none);
    }

    /// <summary>What is to be stored; null = nothing. The caller holds the group's gate.</summary>
    private List<ProgressChange>? ChangesOf(
        ResetOffsetsRequest request, Group group, ResetGoal[] goals, ResetQueue[] queues)
    {
        if (request.InstanceId is { } instance)
            CommitHandler.CheckInstance(group, instance);
        long nowMs = _store.NowMs;
        GroupGeneration generation = groups.Generations.Next();
        string name = ProgressName.Of(request.Group, request.InstanceId);
        var changes = new List<ProgressChange>(queues.Length);
        long growth = 0;
        for (int i = 0; i < queues.Length; i++)
        {
            if (queues[i].Error == ErrorCode.None)
            {
                var queue = new QueueKey(0, goals[i].Queue);
                var offset = new GroupOffset(queues[i].To, -1, nowMs, generation, null);
                changes.Add(new ProgressChange(new ProgressKey(request.InstanceId, queue), offset));
                growth += rules.GrowthOf(new GroupOffsetKey(name, queue), offset);
            }
        }

        try
        {
            rules.CheckRoom(request.Group, growth);
        }
        catch
        {
            groups.DropIfEmpty(group);
            throw;
        }

        if (changes.Count > 0)
            return changes;
        groups.DropIfEmpty(group);
        return null;
    }

    /// <summary>A queue that is to be set.</summary>
    private readonly record struct ResetGoal(
        string Topic, int Number, QueueId Queue, OffsetReset Reset, ErrorCode Error);
}
