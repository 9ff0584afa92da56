using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>Membership of groups: heartbeats, leaving, and whatever else moves queues.</summary>
/// <remarks>
/// Everything that changes a roster is one turn (Turns): under the group's gate, with the answers sent after it. A
/// heartbeat without news is parked without a thread; the turn that has news for it answers it.
/// </remarks>
internal sealed partial class HeartbeatHandler : IDisposable
{
    private readonly QueueStore _store;
    private readonly TopicCatalogue _catalogue;
    private readonly GroupTable _groups;
    private readonly GroupGenerations _generations;
    private readonly BacklogTable _backlogs;
    private readonly MemoryPool _memory;
    private readonly BrokerOptions _options;
    private readonly BrokerCounters _counters;
    private readonly FailureAnswers _failures;
    private readonly ILogger _logger;
    private readonly DeadlineWheel<Group> _wheel;
    private volatile bool _isStopping;

    public HeartbeatHandler(
        ModuleContext context, TopicCatalogue catalogue, GroupTable groups, BacklogTable backlogs)
    {
        _store = context.Store;
        _catalogue = catalogue;
        _groups = groups;
        _generations = groups.Generations;
        _backlogs = backlogs;
        _memory = context.Ledger.Members;
        _options = context.Options;
        _counters = context.Counters;
        _failures = context.Failures;
        _logger = context.Logger;
        _wheel = new DeadlineWheel<Group>(context.Time, OnDue);
    }

    /// <summary>The clock of sessions: monotonic, without the broker's own pauses.</summary>
    public TimeSpan Now => _wheel.Now;

    /// <summary>The broker serves: from here on the members of earlier groups have the settle window.</summary>
    public void Start()
    {
        foreach (Group group in _groups.Groups)
        {
            if (group.Recorded is not null)
            {
                TryTurn(group, (now, _) =>
                {
                    if (group.Roster.IsSettling)
                        group.Roster.OpenWindow(now + _options.Groups.SettleWindow, group.Roster.Kind);
                });
            }
        }
    }

    public async ValueTask HandleAsync(BrokerConnection peer, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        try
        {
            if (header.IsOneway || !Payload.TryRead(payload.Span, out GroupHeartbeatRequest request))
            {
                throw new EQueueException(
                    ErrorCode.MalformedRequest,
                    $"The {payload.Length} bytes are not a heartbeat that wants an answer.");
            }

            HeartbeatRules.Check(request);
            var access = PeerAccess.Of(peer);
            access.Check(Opcode.GroupHeartbeat, Permission.Read, ResourceKind.Group, request.Group);
            foreach (TopicSubscription one in request.Subscriptions ?? [])
                access.Check(Opcode.GroupHeartbeat, Permission.Read, ResourceKind.Topic, one.Topic);
            await Heartbeat(peer, header, request);
        }
        catch (OperationCanceledException) when (peer.IsClosed)
        {
            // No caller is left to be answered.
        }
        catch (Exception exception)
        {
            _failures.Answer(peer, header, exception);
        }
    }

    public ValueTask<Done> LeaveAsync(
        BrokerConnection peer, GroupLeaveRequest request, CancellationToken cancellationToken)
    {
        RequestRules.CheckName(request.Group, "group");
        Group group = _groups.Find(request.Group)
            ?? throw HeartbeatRules.UnknownMember(request.Group, request.Member);
        bool isFound = TryTurn(group, (now, replies) =>
        {
            HeartbeatRules.CheckPrincipal(group.Roster.Find(request.Member), peer, request.Group);
            GroupMember member = group.Roster.Leave(request.Member, request.Stays, now);
            if (group.Roster.Find(member.Id) is null)
                return;
            Unpark(member, replies, HeartbeatRules.Interval(member.SessionTimeout));
            peer.FindFeature<PeerMembers>()?.Remove(member);
        });
        return isFound
            ? ValueTask.FromResult(Done.Value)
            : throw HeartbeatRules.UnknownMember(request.Group, request.Member);
    }

    /// <summary>The connection is gone: its members have their grace. On its receive loop, as the last call.</summary>
    public void EndConnection(BrokerConnection peer)
    {
        if (peer.FindFeature<PeerMembers>() is not { } members || _isStopping)
            return;
        foreach ((GroupMember member, Group group) in members.All)
        {
            TryTurn(group, (now, _) =>
            {
                group.Roster.Disconnect(member, peer, now);
                if (member.Connection is null && member.Parked?.Peer == peer)
                    TakeParked(member);
            });
        }
    }

    /// <summary>A topic was made, changed or removed.</summary>
    public void OnTopicChanged(string topic)
    {
        foreach (Group group in _groups.ReadersOf(topic))
            TryTurn(group, (_, _) => SetTopic(group, topic));
    }

    /// <summary>Whether the groups that read a topic have memory for more queues of it.</summary>
    /// <exception cref="EQueueException">LimitReached.</exception>
    public void CheckQueues(string topic, int added)
    {
        long bytes = added <= 0 ? 0 : (long)added * RosterSize.Queue * _groups.ReadersOf(topic).Length;
        if (!_memory.HasRoom(bytes))
            throw _memory.Full($"{added} more queues of topic '{topic}' do not fit into the groups that read it");
    }

    /// <summary>The progress in queues that are gone is gone too.</summary>
    public void Forget(IReadOnlyCollection<QueueId> queues)
    {
        HashSet<QueueId> gone = [.. queues];
        foreach (Group group in _groups.Groups)
            TryTurn(group, (_, _) => group.Forget(gone));
    }

    /// <summary>A commit is visible: what waited for it may pass on.</summary>
    public void OnCommitVisible(Group group, IEnumerable<QueueKey> queues) =>
        TurnAlone(group, (_, _) =>
        {
            foreach (QueueKey queue in queues)
                group.Roster.EndCommit(queue);
        });

    /// <summary>Answers what is parked, parks no more and ends no session, so that connections can drain.</summary>
    public void Stop()
    {
        _isStopping = true;
        foreach (Group group in _groups.Groups)
        {
            TryTurn(group, (_, replies) =>
            {
                foreach (GroupMember member in group.Roster.Members)
                    Unpark(member, replies, HeartbeatRules.Interval(member.SessionTimeout));
            });
        }
    }

    public void Dispose() => _wheel.Dispose();

    /// <returns>Done when the connection may be read on.</returns>
    private ValueTask Heartbeat(BrokerConnection peer, FrameHeader header, GroupHeartbeatRequest request)
    {
        // A generation of another start of the broker: its holder joins, with claims.
        bool isJoin = request.Generation == GroupGeneration.Join || request.Generation.Epoch != _generations.Epoch;
        if (isJoin && request.Subscriptions is null or { Count: 0 })
            throw HeartbeatRules.UnknownMember(request.Group, request.Member);
        ValueTask room = ValueTask.CompletedTask;
        while (true)
        {
            Group group = isJoin
                ? _groups.FindOrAdd(request.Group)
                : _groups.Find(request.Group) ?? throw HeartbeatRules.UnknownMember(request.Group, request.Member);
            if (TryTurn(group, (now, replies) => room = Heartbeat(peer, header, request, isJoin, group, now, replies)))
                return room;
        }
    }

    private ValueTask Heartbeat(
        BrokerConnection peer,
        in FrameHeader header,
        GroupHeartbeatRequest request,
        bool isJoin,
        Group group,
        TimeSpan now,
        List<HeartbeatReply> replies)
    {
        CheckMemory(group, request, isJoin);
        HeartbeatRules.CheckPrincipal(group.Roster.Find(request.Member), peer, request.Group);
        (GroupMember member, bool isWhole) = isJoin
            ? (Join(peer, request, group, now), true)
            : group.Roster.Beat(request, peer, peer.Peer, now);
        peer.Feature<PeerMembers>().Set(member, group);
        Advance(group, now);
        Unpark(member, replies, TimeSpan.Zero);
        TimeSpan wait = HeartbeatRules.Wait(request.MaxWait, member.SessionTimeout);
        if (isWhole || member.HasNews || wait == TimeSpan.Zero || _isStopping)
        {
            TimeSpan next = wait == TimeSpan.Zero || _isStopping
                ? HeartbeatRules.Interval(member.SessionTimeout)
                : TimeSpan.Zero;
            replies.Add(new HeartbeatReply(
                new HeartbeatCall(peer, header, IsHeld: false), group.Roster.Tell(member, isWhole, next)));
            return ValueTask.CompletedTask;
        }

        member.Parked = new HeartbeatCall(peer, header, IsHeld: true);
        member.ParkedUntil = now + wait;
        Interlocked.Increment(ref _counters.ParkedHeartbeats);
        return peer.BeginRequestAsync();
    }

    private GroupMember Join(BrokerConnection peer, GroupHeartbeatRequest request, Group group, TimeSpan now)
    {
        GroupRoster roster = group.Roster;
        if (roster.FindPredecessor(request) is null)
            CheckRoom(group);
        GroupKind kind = request.IsBroadcast ? GroupKind.Broadcast : GroupKind.Shared;
        if (group.KindOfProgress is { } progress && progress != kind)
        {
            throw new EQueueException(
                ErrorCode.GroupKindDiffers,
                $"Group '{group.Name}' has progress as {progress}; {peer.Peer} asks for {kind}.");
        }

        GroupMember member = roster.Join(request, peer, peer.Peer, now);
        member.Principal = PeerAccess.Of(peer).Principal;
        RefreshTopics(group);
        if (request.Generation != GroupGeneration.Join && request.Owned is { } owned)
            roster.Claim(member, owned, queue => group.Find(null, queue)?.Grant);
        _logger.MemberJoined(group.Name, member.Id, peer.Peer, roster.Members.Count);
        return member;
    }

    /// <summary>Whether there is memory for what a call wants more than there was.</summary>
    private void CheckMemory(Group group, GroupHeartbeatRequest request, bool isJoin)
    {
        if (request.Subscriptions is not { } wanted)
            return;
        long own = RosterSize.Of(wanted);
        if (own > _options.Limits.MaxSubscriptionBytes)
        {
            throw new EQueueException(
                ErrorCode.LimitReached,
                $"The subscriptions of {request.Member} take {own} bytes of memory; a member may have "
                + $"{_options.Limits.MaxSubscriptionBytes} (Limits:MaxSubscriptionBytes).")
            {
                RetryAfter = MemoryPool.RetryAfter,
            };
        }

        GroupRoster roster = group.Roster;
        GroupMember? before = isJoin ? roster.FindPredecessor(request) : roster.Find(request.Member);
        long bytes = RosterSize.Member + RosterSize.Names + own - (before?.Bytes ?? 0);
        if (roster.Members.Count == 0)
            bytes += RosterSize.Group;
        foreach (TopicSubscription one in wanted)
        {
            if (roster.Reads(one.Topic))
                continue;
            bytes += RosterSize.Topic;
            if (_catalogue.TryFind(one.Topic, out Topic? topic))
                bytes += (long)topic.Queues.Length * RosterSize.Queue;
        }

        if (!_memory.HasRoom(bytes))
            throw _memory.Full($"Member {request.Member} of group '{group.Name}' cannot be taken");
    }

    private void CheckRoom(Group group)
    {
        LimitOptions limits = _options.Limits;
        if (group.Roster.Members.Count >= limits.MaxMembersPerGroup)
        {
            throw new EQueueException(
                ErrorCode.LimitReached,
                $"Group '{group.Name}' has {group.Roster.Members.Count} members, the limit "
                + "(Limits:MaxMembersPerGroup).");
        }

        if (_groups.MemberCount >= limits.MaxMembers)
        {
            throw new EQueueException(
                ErrorCode.LimitReached,
                $"The groups of this broker have {_groups.MemberCount} members, the limit (Limits:MaxMembers).");
        }
    }
}
