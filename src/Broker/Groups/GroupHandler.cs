using EQueue.MessageStore;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>
/// Membership of a group: until groups are shared, its only live member owns every queue of its topics.
/// </summary>
internal sealed partial class GroupHandler(
    QueueStore store,
    TopicCatalogue catalogue,
    GroupTable groups,
    BrokerCounters counters,
    FailureAnswers failures,
    TimeProvider time,
    ILogger logger)
{
    private const int MaxSubscriptions = 1_000;

    private static readonly TimeSpan ShortestSession = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LongestSession = TimeSpan.FromMinutes(30);
    private static readonly TimeSpan UsualSession = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan LongestInterval = TimeSpan.FromSeconds(3);

    public ValueTask<GroupHeartbeatResponse> HeartbeatAsync(
        BrokerConnection peer, GroupHeartbeatRequest request, CancellationToken cancellationToken)
    {
        Check(request);
        while (true)
        {
            Group group = request.Generation == GroupGeneration.Join
                ? groups.FindOrAdd(request.Group)
                : groups.Find(request.Group) ?? throw UnknownMember(request.Group, request.Member);
            lock (group.Gate)
            {
                if (group.IsGone)
                    continue;
                try
                {
                    return ValueTask.FromResult(Heartbeat(peer, group, request));
                }
                finally
                {
                    groups.DropIfEmpty(group);
                }
            }
        }
    }

    public ValueTask<Done> LeaveAsync(
        BrokerConnection peer, GroupLeaveRequest request, CancellationToken cancellationToken)
    {
        TopicRules.CheckName(request.Group, "group");
        Group group = groups.Find(request.Group) ?? throw UnknownMember(request.Group, request.Member);
        lock (group.Gate)
        {
            if (group.Member is not { } member || member.Id != request.Member)
                throw UnknownMember(request.Group, request.Member);
            group.Member = null;
            groups.DropIfEmpty(group);
        }

        logger.MemberLeft(request.Group, request.Member, peer.Transport.RemoteEndPoint);
        return ValueTask.FromResult(Done.Value);
    }

    private static void Check(GroupHeartbeatRequest request)
    {
        TopicRules.CheckName(request.Group, "group");
        if (request.Member == Guid.Empty)
            throw TopicRules.Invalid("A member needs an id of its own.");
        if (request.Generation < GroupGeneration.Join)
            throw TopicRules.Invalid($"A generation is 0 (join) or more; asked with {request.Generation}.");
        if (request.SessionTimeout != TimeSpan.Zero
            && (request.SessionTimeout < ShortestSession || request.SessionTimeout > LongestSession))
        {
            throw TopicRules.Invalid(
                $"A session timeout is {ShortestSession} to {LongestSession}, or 0 for {UsualSession}; "
                + $"asked for {request.SessionTimeout}.");
        }

        if (request.IsBroadcast)
            throw TopicRules.Invalid("This broker has no broadcast groups: give each reader a group of its own.");
        if (request.Generation == GroupGeneration.Join && request.Subscriptions is null or { Count: 0 })
            throw TopicRules.Invalid("A member joins with the topics that it reads.");
        if (request.Subscriptions?.Count > MaxSubscriptions)
            throw TopicRules.Invalid(
                $"A member reads at most {MaxSubscriptions} topics; asked for {request.Subscriptions.Count}.");
    }

    private static EQueueException UnknownMember(string group, Guid member) =>
        new(ErrorCode.UnknownMember, $"{member} is not (or no longer) the member of group '{group}'.");

    private GroupHeartbeatResponse Heartbeat(BrokerConnection peer, Group group, GroupHeartbeatRequest request)
    {
        DateTimeOffset now = time.GetUtcNow();
        bool isJoin = request.Generation == GroupGeneration.Join;
        if (isJoin)
            RefuseSecondMember(group, request.Member, now);
        else if (group.Member is not { } known || known.Id != request.Member)
            throw UnknownMember(group.Name, request.Member);
        else if (new GroupGeneration(group.Generation) != request.Generation)
            throw Fenced(group, request.Generation);
        if (request.Subscriptions is { } wanted)
            CheckTopics(wanted);

        TimeSpan session = request.SessionTimeout == TimeSpan.Zero
            ? isJoin ? UsualSession : group.Member!.SessionTimeout
            : request.SessionTimeout;
        if (isJoin)
            Join(peer, group, request.Member, session, now + session);

        GroupMember member = group.Member!;
        member.Peer = peer;
        member.SessionTimeout = session;
        member.Deadline = now + session;
        IReadOnlyList<MemberQueue>? changed = Assign(member, request, isJoin);
        TimeSpan interval = session / 3 < LongestInterval ? session / 3 : LongestInterval;
        return new GroupHeartbeatResponse
        {
            Generation = new GroupGeneration(group.Generation),
            NextHeartbeat = interval,
            SessionTimeout = session,
            Assignment = changed is null ? null : ByTopic(changed, new GroupGeneration(group.Generation)),
        };
    }

    private static EQueueException Fenced(Group group, GroupGeneration generation) => new(
        ErrorCode.FencedGeneration,
        $"Group '{group.Name}' is in generation {group.Generation}; the call names {generation}.");

    private static AssignedTopic[] ByTopic(IReadOnlyList<MemberQueue> queues, GroupGeneration generation) =>
    [
        .. queues.GroupBy(queue => queue.Topic).Select(topic => new AssignedTopic(
            topic.Key, [.. topic.Select(queue => new AssignedQueue(queue.Number, queue.Queue, generation))])),
    ];

    private static void RefuseSecondMember(Group group, Guid joining, DateTimeOffset now)
    {
        if (group.Member is { } member && member.Id != joining && member.IsLive(now))
            throw Busy(group, member, now);
    }

    private static BusyException Busy(Group group, GroupMember member, DateTimeOffset now) => new(
        ErrorCode.GroupBusy,
        $"Group '{group.Name}' is read by {member.Peer.Peer} (member {member.Id}), "
        + $"at least until {member.Deadline:yyyy-MM-dd HH:mm:ss}Z unless it leaves or its connection ends.",
        member.Deadline - now);

    private void Join(BrokerConnection peer, Group group, Guid member, TimeSpan session, DateTimeOffset deadline)
    {
        if (group.Member is { } old && old.Id != member)
            logger.MemberReplaced(group.Name, old.Id, old.Peer.Peer);
        IReadOnlyList<TopicSubscription> before = group.Member?.Id == member ? group.Member.Subscriptions : [];
        group.Generation = group.Generation == int.MaxValue ? 1 : group.Generation + 1;
        group.Member = new GroupMember(member)
        {
            Peer = peer,
            SessionTimeout = session,
            Deadline = deadline,
            Subscriptions = before,
        };
        logger.MemberJoined(group.Name, member, peer.Peer, group.Generation);
    }

    private void CheckTopics(IReadOnlyList<TopicSubscription> subscriptions)
    {
        foreach (TopicSubscription subscription in subscriptions)
        {
            TopicRules.CheckName(subscription.Topic, "topic");
            catalogue.Find(subscription.Topic);
        }
    }

    /// <summary>The member's queues when they differ from what it was told, or from what it says it reads.</summary>
    private IReadOnlyList<MemberQueue>? Assign(GroupMember member, GroupHeartbeatRequest request, bool isJoin)
    {
        bool isStale = isJoin || request.Subscriptions is not null || member.CatalogueVersion != catalogue.Version;
        if (request.Subscriptions is { } wanted)
            member.Subscriptions = wanted;
        bool hasChanged = false;
        if (isStale)
        {
            member.CatalogueVersion = catalogue.Version;
            List<MemberQueue> queues = QueuesOf(member.Subscriptions);
            hasChanged = isJoin || !queues.SequenceEqual(member.Assignment);
            member.Assignment = queues;
        }

        bool isOther = request.Owned is { } owned
            && !owned.Select(queue => queue.Queue).ToHashSet().SetEquals(member.Assignment.Select(queue => queue.Queue));
        return hasChanged || isOther ? member.Assignment : null;
    }

    private List<MemberQueue> QueuesOf(IReadOnlyList<TopicSubscription> subscriptions)
    {
        var queues = new List<MemberQueue>();
        foreach (string name in subscriptions.Select(subscription => subscription.Topic).Distinct())
        {
            if (!catalogue.TryFind(name, out Topic? topic))
                continue;
            for (int number = 0; number < topic.Queues.Length; number++)
                queues.Add(new MemberQueue(name, number, new FetchQueueKey(0, topic.Queues[number])));
        }

        return queues;
    }
}
