namespace EQueue.Client;

/// <summary>Asks the broker what it knows of one message and one group, and judges it.</summary>
internal sealed class Explainer(EQueueAdmin admin, TimeProvider time)
{
    /// <summary>One explanation; of a broadcast group one for each instance.</summary>
    /// <exception cref="EQueueException">UnknownTopic, UnknownQueue, UnknownGroup, and what keeps the broker from
    /// answering.</exception>
    public async ValueTask<IReadOnlyList<Explanation>> ExplainAsync(
        string topic, int number, long offset, string group, CancellationToken cancellationToken)
    {
        // The group comes first: a message that is committed meanwhile must not look like one that is gone.
        GroupDescription described = await admin.DescribeGroupAsync(
            group, topic, withAges: false, cancellationToken).ConfigureAwait(false);
        TopicDescription found = await admin.DescribeTopicAsync(topic, cancellationToken)
            .ConfigureAwait(false);
        QueueDescription queue = found.Queues.FirstOrDefault(one => one.Number == number)
            ?? throw new EQueueException(
                ErrorCode.UnknownQueue,
                $"{topic} has no queue {number}: its queues are 0 to {found.Queues.Count - 1}.");
        (DetachedMessage? message, ConsumptionStatus absence) =
            await ReadAsync(topic, number, offset, cancellationToken).ConfigureAwait(false);
        var facts = new Explanation
        {
            Topic = topic,
            Group = group,
            Offset = offset,
            Queue = queue,
            Status = absence,
            Message = message,
            MemberCount = described.Members.Count,
            AskedAt = time.GetUtcNow(),
        };
        GroupQueueDescription[] rows = [.. described.Queues.Where(row => row.Topic == topic && row.Number == number)];
        if (described.Kind != GroupKind.Broadcast)
            return [Judge(facts with { Progress = rows.FirstOrDefault() }, described)];
        string[] instances =
        [
            .. rows.Select(row => row.InstanceId).Concat(described.Members.Select(member => member.InstanceId))
                .OfType<string>().Distinct(StringComparer.Ordinal).Order(StringComparer.Ordinal),
        ];
        return instances.Length == 0
            ? [Judge(facts, described)]
            : [.. instances.Select(instance => Judge(
                facts with
                {
                    Instance = instance,
                    Progress = rows.FirstOrDefault(row => row.InstanceId == instance),
                },
                described))];
    }

    /// <summary>The message; without one how the place stands.</summary>
    private async ValueTask<(DetachedMessage? Message, ConsumptionStatus Absence)> ReadAsync(
        string topic, int number, long offset, CancellationToken cancellationToken)
    {
        try
        {
            DetachedMessage? message = await admin.ReadMessageAsync(topic, number, offset, cancellationToken)
                .ConfigureAwait(false);
            return (message, ConsumptionStatus.Missing);
        }
        catch (EQueueException exception)
            when (exception.Code is ErrorCode.DamagedData or ErrorCode.CorruptBatch or ErrorCode.UnsupportedCodec)
        {
            return (null, ConsumptionStatus.Damaged);
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.QueueNotReadable)
        {
            return (null, ConsumptionStatus.QueueClosed);
        }
    }

    private static Explanation Judge(Explanation facts, GroupDescription group)
    {
        MemberDescription? member = MemberOf(facts, group);
        TopicSubscription[] subscriptions =
        [
            .. (member is not null ? [member] : facts.Instance is null ? group.Members : [])
                .SelectMany(one => one.Subscriptions).Where(one => one.Topic == facts.Topic),
        ];
        bool isFiltered = facts.Message is { } message && subscriptions.Length > 0
            && subscriptions.All(one => one.Tags.Count > 0 && (message.Tag is null || !one.Tags.Contains(message.Tag)));
        return facts with
        {
            Member = member,
            Tags = subscriptions.Any(one => one.Tags.Count == 0)
                ? [] : [.. subscriptions.SelectMany(one => one.Tags).Distinct(StringComparer.Ordinal)],
            Status = StatusOf(facts, subscriptions.Length, isFiltered),
        };
    }

    private static ConsumptionStatus StatusOf(Explanation facts, int subscriptionCount, bool isFiltered)
    {
        long committed = facts.Progress?.Committed.Value ?? -1;
        if (facts.Offset >= facts.Queue.End.Value)
            return ConsumptionStatus.NotStored;
        if (isFiltered)
            return ConsumptionStatus.Filtered;
        // Also when retention took it since: it was consumed, and that is what was asked.
        if (committed > facts.Offset)
            return ConsumptionStatus.Committed;
        if (facts.Offset < facts.Queue.Start.Value)
            return ConsumptionStatus.Expired;
        if (facts.Message is null)
            return facts.Status;
        if (committed < 0 && subscriptionCount == 0)
            return ConsumptionStatus.NotSubscribed;
        if (subscriptionCount == 0)
            return ConsumptionStatus.NoMembers;
        bool isOwned = facts.Instance is not null || facts.Progress is { Owner: >= 0 };
        return isOwned ? ConsumptionStatus.InHands : ConsumptionStatus.Moving;
    }

    private static MemberDescription? MemberOf(Explanation facts, GroupDescription group)
    {
        if (facts.Instance is { } instance)
            return group.Members.FirstOrDefault(member => member.InstanceId == instance);
        if (facts.Progress is not { } progress)
            return null;
        int index = progress.Owner >= 0 ? progress.Owner : progress.Target;
        return index >= 0 && index < group.Members.Count ? group.Members[index] : null;
    }
}
