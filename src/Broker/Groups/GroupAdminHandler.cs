using EQueue.MessageStore;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>The operations on groups from outside: list, describe, reset, delete.</summary>
internal sealed partial class GroupAdminHandler(
    ModuleContext context,
    TopicCatalogue catalogue,
    GroupTable groups,
    HeartbeatHandler heartbeats,
    ProgressWriter progress,
    GroupRemover remover,
    ProgressRules rules)
{
    private const int MaxListed = 1_000;

    /// <summary>What a queue of a group takes in memory while it is described or reset.</summary>
    private const int RowBytes = 300;

    /// <summary>The fewest bytes of a queue, and of a subscription, in a description.</summary>
    private const int LeastQueueBytes = 72;

    private const int LeastSubscriptionBytes = 6;

    private readonly QueueStore _store = context.Store;
    private readonly MemoryPool _memory = context.Ledger.Requests;
    private readonly ILogger _logger = context.Logger;

    public ValueTask<ListGroupsResponse> ListAsync(
        BrokerConnection peer, ListGroupsRequest request, CancellationToken cancellationToken)
    {
        if (request.Limit < 1)
            throw RequestRules.Invalid($"A page has 1 or more groups; asked for {request.Limit}.");
        int limit = Math.Min(request.Limit, MaxListed);
        var access = PeerAccess.Of(peer);
        Group[] found =
        [
            .. groups.Groups
                .Where(group => request.After is null || string.CompareOrdinal(group.Name, request.After) > 0)
                .Where(group => access.May(Permission.Describe, ResourceKind.Group, group.Name))
                .OrderBy(group => group.Name, StringComparer.Ordinal)
                .Take(limit + 1),
        ];
        return ValueTask.FromResult(
            new ListGroupsResponse([.. found.Take(limit).Select(List)], found.Length > limit));
    }

    public async ValueTask<GroupDescription> DescribeAsync(
        BrokerConnection peer, DescribeGroupRequest request, CancellationToken cancellationToken)
    {
        Group group = Find(request.Group);
        if (request.Topic is { } topic)
            catalogue.Find(topic);
        long bytes = RowBytes * CountRows(group, request, peer.MaxFrameBytes);
        await _memory.TakeAsync(bytes, cancellationToken);
        try
        {
            bool showsIds = PeerAccess.Of(peer).May(Permission.Alter, ResourceKind.Group, group.Name);
            return await DescribeAsync(request, group, showsIds, cancellationToken);
        }
        finally
        {
            _memory.Give(bytes);
        }
    }

    private async ValueTask<GroupDescription> DescribeAsync(
        DescribeGroupRequest request, Group group, bool showsIds, CancellationToken cancellationToken)
    {
        (GroupDescription description, QueueRow[] rows) = Describe(group, showsIds);
        long nowMs = _store.NowMs;
        var queues = new List<GroupQueueDescription>();
        foreach (QueueRow row in rows)
        {
            if (!catalogue.TryFindByQueue(row.Progress.Queue.Id, out Topic? found)
                || (request.Topic is not null && found.Name != request.Topic)
                || !_store.TryGetQueue(row.Progress.Queue.Id, out QueueView view))
            {
                continue;
            }

            GroupOffset? committed = group.Find(row.Progress.Instance, row.Progress.Queue);
            queues.Add(new GroupQueueDescription
            {
                Topic = found.Name,
                Number = view.Number,
                Queue = row.Progress.Queue,
                Owner = row.Owner,
                Target = row.Target,
                InstanceId = row.Progress.Instance,
                Committed = committed?.Next ?? new QueueOffset(-1),
                CommittedMs = committed?.CommittedMs ?? -1,
                Start = view.Start,
                End = view.End,
                Lag = GroupLag.Count(view, committed?.Next),
                LagMs = request.WithAges
                    ? await GroupLag.FindAgeMsAsync(_store, view, committed?.Next, nowMs, cancellationToken)
                    : -1,
            });
        }

        return description with
        {
            Queues =
            [
                .. queues
                    .OrderBy(queue => queue.Topic, StringComparer.Ordinal)
                    .ThenBy(queue => queue.Number)
                    .ThenBy(queue => queue.InstanceId, StringComparer.Ordinal),
            ],
        };
    }

    public async ValueTask<Done> DeleteAsync(
        BrokerConnection peer, DeleteGroupRequest request, CancellationToken cancellationToken)
    {
        Group group = Find(request.Group);
        Topic? topic = request.Topic is { } name ? catalogue.Find(name) : null;
        if (!await remover.RemoveAsync(group, topic, IsFree, cancellationToken))
            throw Unknown(request.Group);
        if (topic is null)
            _logger.GroupDeleted(request.Group, peer.Peer);
        else
            _logger.GroupProgressDeleted(request.Group, topic.Name, peer.Peer);
        return Done.Value;
    }

    /// <exception cref="EQueueException">InvalidName, UnknownGroup.</exception>
    private Group Find(string name)
    {
        RequestRules.CheckName(name, "group");
        return groups.Find(name) ?? throw Unknown(name);
    }

    private static bool IsFree(Group group)
    {
        ProgressWriter.CheckFree(group);
        return true;
    }

    private static EQueueException Unknown(string name) =>
        new(ErrorCode.UnknownGroup, $"There is no group '{name}'.");

    private static GroupListing List(Group group)
    {
        lock (group.Gate)
        {
            return new GroupListing(
                group.Name, KindOf(group), group.Roster.State, (uint)group.Roster.Members.Count);
        }
    }

    private static GroupKind KindOf(Group group) => group.Roster.Members.Count > 0 || group.Roster.IsSettling
        ? group.Roster.Kind
        : group.KindOfProgress
            ?? (group.Recorded is { IsBroadcast: true } ? GroupKind.Broadcast : GroupKind.Shared);

    /// <summary>The group without its queues, and which queues it has, all at one moment.</summary>
    /// <param name="group">Which.</param>
    /// <param name="showsIds">Whether ids are told: who knows a member's id speaks for it.</param>
    private (GroupDescription Description, QueueRow[] Rows) Describe(Group group, bool showsIds)
    {
        lock (group.Gate)
        {
            GroupRoster roster = group.Roster;
            GroupMember[] members =
            [
                .. roster.Members
                    .OrderBy(member => member.InstanceId ?? member.Client, StringComparer.Ordinal)
                    .ThenBy(member => member.Id),
            ];
            var description = new GroupDescription(
                KindOf(group),
                roster.State,
                roster.Generation,
                [
                    .. members.Zip(
                        CountOwned(roster, members), (member, owned) => Describe(member, owned, showsIds)),
                ],
                []);
            return (description, RowsOf(group, members));
        }
    }

    /// <summary>Queues that a description looks at.</summary>
    /// <exception cref="EQueueException">LimitReached: it could not fit into a frame.</exception>
    private static long CountRows(Group group, DescribeGroupRequest request, int maxFrameBytes)
    {
        lock (group.Gate)
        {
            long rows = group.Roster.Queues.Count + (long)group.ProgressCount;
            long subscriptions = group.Roster.Members.Sum(member => (long)member.Subscriptions.Count);

            // A queue that is read may be one of those with progress; of one topic there are fewer.
            long queues = request.Topic is null ? Math.Max(group.Roster.Queues.Count, group.ProgressCount) : 0;
            long least = (LeastQueueBytes * queues) + (LeastSubscriptionBytes * subscriptions);
            if (least <= maxFrameBytes)
                return rows;
            throw new EQueueException(
                ErrorCode.LimitReached,
                $"A description of group '{group.Name}' is longer than {least} bytes; a frame has {maxFrameBytes}: ask "
                + "for one topic.");
        }
    }

    /// <summary>How many queues each member has; in a broadcast group all of its topics.</summary>
    private static int[] CountOwned(GroupRoster roster, GroupMember[] members)
    {
        if (roster.Kind == GroupKind.Broadcast)
        {
            var queues = roster.Queues.CountBy(queue => queue.Topic).ToDictionary();
            return
            [
                .. members.Select(member => member.Subscriptions.Keys.Sum(topic => queues.GetValueOrDefault(topic))),
            ];
        }

        var owned =
            roster.Queues.Select(queue => queue.Owner).OfType<GroupMember>().CountBy(owner => owner).ToDictionary();
        return [.. members.Select(member => owned.GetValueOrDefault(member))];
    }

    private MemberDescription Describe(GroupMember member, int owned, bool showsIds)
    {
        var connection = member.Connection as BrokerConnection;
        TimeSpan silent = heartbeats.Now - member.LastCall;
        return new MemberDescription(
            showsIds ? member.Id : Guid.Empty,
            member.InstanceId,
            connection?.Client?.Name ?? member.Client,
            connection?.Transport.RemoteEndPoint.ToString() ?? "",
            member.SessionTimeout,
            silent < TimeSpan.Zero ? TimeSpan.Zero : silent,
            [
                .. member.Subscriptions
                    .OrderBy(subscription => subscription.Key, StringComparer.Ordinal)
                    .Select(subscription => new TopicSubscription(subscription.Key, subscription.Value)),
            ],
            (uint)owned,
            (uint)member.Pending);
    }

    /// <summary>Queues that the members read, and whatever progress there is: once per instance in a broadcast
    /// group.</summary>
    private static QueueRow[] RowsOf(Group group, GroupMember[] members)
    {
        var rows = new Dictionary<ProgressKey, QueueRow>();
        foreach (ProgressKey key in group.Progress)
            rows.Add(key, new QueueRow(key, -1, -1));
        HashSet<QueueKey> known = [.. rows.Keys.Select(key => key.Queue)];
        bool isBroadcast = group.Roster.Kind == GroupKind.Broadcast;
        var places =
            members.Select((member, place) => KeyValuePair.Create(member, place)).ToDictionary();
        foreach (RosterQueue queue in group.Roster.Queues)
        {
            var key = new ProgressKey(null, queue.Key);
            if (isBroadcast && known.Contains(queue.Key))
                continue;
            rows[key] = new QueueRow(key, PlaceOf(queue.Owner), PlaceOf(queue.Target));
        }

        return [.. rows.Values];

        int PlaceOf(GroupMember? member) =>
            member is not null && places.TryGetValue(member, out int place) ? place : -1;
    }

    /// <summary>A queue of a group; owner and target by their place among the members, -1 = none.</summary>
    private readonly record struct QueueRow(ProgressKey Progress, int Owner, int Target);
}
