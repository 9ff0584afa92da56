using EQueue.Protocol;

namespace EQueue.Broker;

/// <content>How sessions begin, go on and end.</content>
internal sealed partial class GroupRoster
{
    /// <summary>Whose session a join of this request ends; null = none.</summary>
    public GroupMember? FindPredecessor(GroupHeartbeatRequest request) =>
        Find(request.Member)
        ?? (request.InstanceId is { } instance ? _instances.GetValueOrDefault(instance) : null);

    /// <summary>Begins a session; what the member had under an earlier one of its names passes to it.</summary>
    /// <param name="request">Checked by <see cref="HeartbeatRules"/>.</param>
    /// <param name="connection">Where it came from.</param>
    /// <param name="client">How messages for people name the caller.</param>
    /// <param name="now">The time.</param>
    /// <exception cref="EQueueException">FencedGeneration, GroupKindDiffers, TagsDiffer.</exception>
    public GroupMember Join(GroupHeartbeatRequest request, object? connection, string client, TimeSpan now)
    {
        GroupMember? old = FindPredecessor(request);
        if (old is not null && old.Id == request.Member)
            CheckSequence(old, request);
        GroupKind kind = request.IsBroadcast ? GroupKind.Broadcast : GroupKind.Shared;
        if (kind != Kind && (IsSettling || _members.Count > (old is null ? 0 : 1)))
        {
            throw new EQueueException(
                ErrorCode.GroupKindDiffers, $"Group '{name}' is {Kind}; {client} asks for {kind}.");
        }

        Dictionary<string, string[]> wanted = HeartbeatRules.ReadSubscriptions(request.Subscriptions!);
        if (kind == GroupKind.Shared)
            CheckTags(wanted, old);
        Kind = kind;
        var member = new GroupMember(request.Member, request.InstanceId, brokerId, reconnectGrace)
        {
            SessionTimeout = HeartbeatRules.SessionTimeout(request.SessionTimeout),
            ReleaseTimeout = HeartbeatRules.ReleaseTimeout(request.ReleaseTimeout),
        };
        Touch(member, request, connection, client, now);
        Subscribe(member, wanted);
        if (old is not null)
            End(old, old.Id == member.Id ? SessionEnd.Rejoined : SessionEnd.Replaced, member);
        if (member.InstanceId is { } instance && _instances.TryGetValue(instance, out GroupMember? other))
            End(other, SessionEnd.Replaced, member);
        _members.Add(member.Id, member);
        if (member.InstanceId is { } own)
            _instances.Add(own, member);
        MarkStale();
        return member;
    }

    /// <summary>Lets a member that has joined in the settle window have what it had, where that holds.</summary>
    /// <param name="member">Who claims.</param>
    /// <param name="owned">What it had, with grants of an earlier epoch.</param>
    /// <param name="committedIn">The generation of a queue's last commit; null = none.</param>
    public void Claim(
        GroupMember member, IEnumerable<OwnedQueue> owned, Func<QueueKey, GroupGeneration?> committedIn)
    {
        if (!IsSettling || Kind == GroupKind.Broadcast)
            return;
        foreach (OwnedQueue claim in owned)
        {
            if (claim.Grant.Epoch >= generations.Epoch
                || !_queues.TryGetValue(claim.Queue, out RosterQueue? queue)
                || queue.Owner is not null
                || !queue.IsReadable
                || (queue.IsClaimed && queue.Target != member)
                || !member.Subscriptions.ContainsKey(queue.Topic)
                || committedIn(claim.Queue) > claim.Grant)
            {
                continue;
            }

            queue.Target = member;
            queue.IsClaimed = true;
            _isChanged = true;
        }
    }

    /// <summary>A call of a member that has joined.</summary>
    /// <returns>The member, and whether it must be told its whole list.</returns>
    /// <exception cref="EQueueException">UnknownMember, MemberReplaced, FencedGeneration, InvalidArgument,
    /// TagsDiffer.</exception>
    public (GroupMember Member, bool IsWhole) Beat(
        GroupHeartbeatRequest request, object? connection, string client, TimeSpan now)
    {
        if (Find(request.Member) is not { } member)
        {
            throw request.InstanceId is { } instance && _instances.TryGetValue(instance, out GroupMember? other)
                ? new EQueueException(
                    ErrorCode.MemberReplaced,
                    $"Instance '{instance}' of group '{name}' is {other.Id} of {other.Client} now.")
                : HeartbeatRules.UnknownMember(name, request.Member);
        }

        CheckSequence(member, request);
        if (request.Generation > member.Told)
        {
            throw RequestRules.Invalid(
                $"Member {member.Id} was told generation {member.Told}; it names {request.Generation}.");
        }

        if (request.Subscriptions is { } subscriptions)
            Resubscribe(member, HeartbeatRules.ReadSubscriptions(subscriptions));
        if (request.SessionTimeout > TimeSpan.Zero)
            member.SessionTimeout = request.SessionTimeout;
        if (request.ReleaseTimeout > TimeSpan.Zero)
            member.ReleaseTimeout = request.ReleaseTimeout;
        Touch(member, request, connection, client, now);
        member.Seen = request.Generation;
        if (request.Owned is { } owned)
            Release(member, owned);
        return (member, member.Seen != member.Told);
    }

    /// <summary>A commit of a member shows that it lives.</summary>
    public static void Renew(GroupMember member, TimeSpan now) => member.LastCall = now;

    /// <summary>Ends a session, or lets a static member be away for its session timeout.</summary>
    /// <exception cref="EQueueException">UnknownMember.</exception>
    public GroupMember Leave(Guid id, bool stays, TimeSpan now)
    {
        GroupMember member = Find(id) ?? throw HeartbeatRules.UnknownMember(name, id);
        if (!stays || !member.IsStatic)
        {
            End(member, SessionEnd.Left, null);
            return member;
        }

        member.Connection = null;
        member.CutOff = null;
        member.LastCall = now;
        return member;
    }

    /// <summary>The connection of a member is gone.</summary>
    public void Disconnect(GroupMember member, object connection, TimeSpan now)
    {
        if (member.Connection != connection || Find(member.Id) != member)
            return;
        member.Connection = null;
        member.CutOff = now;
    }

    /// <summary>Ends the sessions whose time is over.</summary>
    public void Expire(TimeSpan now)
    {
        foreach (GroupMember member in _members.Values.ToArray())
        {
            if (member.FindEnd(now) is { } cause)
                End(member, cause, null);
        }
    }

    private static void Touch(
        GroupMember member, GroupHeartbeatRequest request, object? connection, string client, TimeSpan now)
    {
        member.Sequence = request.Sequence;
        member.Connection = connection;
        member.Client = client;
        member.LastCall = now;
        member.CutOff = null;
    }

    private void CheckSequence(GroupMember member, GroupHeartbeatRequest request)
    {
        if ((int)(request.Sequence - member.Sequence) > 0)
            return;
        throw new EQueueException(
            ErrorCode.FencedGeneration,
            $"Call {request.Sequence} of member {member.Id} of group '{name}' comes after call {member.Sequence}.");
    }

    /// <summary>What the member does not list any more is free, if it has heard that it was given it.</summary>
    private void Release(GroupMember member, IReadOnlyList<OwnedQueue> owned)
    {
        var listed = owned.ToHashSet();
        foreach (RosterQueue queue in _queues.Values)
        {
            if (queue.Owner == member
                && queue.Grant <= member.Seen
                && !listed.Contains(new OwnedQueue(queue.Key, queue.Grant)))
            {
                Free(queue);
            }
        }
    }

    private void End(GroupMember member, SessionEnd cause, GroupMember? heir)
    {
        _members.Remove(member.Id);
        if (member.InstanceId is { } instance && _instances.GetValueOrDefault(instance) == member)
            _instances.Remove(instance);
        foreach (RosterQueue queue in _queues.Values)
        {
            if (queue.Owner == member)
                Free(queue);
            if (queue.Target == member)
            {
                queue.Target = heir;
                queue.IsClaimed &= heir is not null;
            }
        }

        Unread(member);
        Ended.Add((member, cause));
        MarkStale();
    }

    private void CheckTags(Dictionary<string, string[]> wanted, GroupMember? except)
    {
        foreach ((string topic, string[] tags) in wanted)
        {
            if (!_topics.TryGetValue(topic, out RosterTopic? read) || read.Tags.AsSpan().SequenceEqual(tags))
                continue;
            GroupMember? other = _members.Values.FirstOrDefault(
                member => member != except && member.Subscriptions.ContainsKey(topic));
            if (other is not null)
            {
                throw new EQueueException(
                    ErrorCode.TagsDiffer,
                    $"Group '{name}' reads {HeartbeatRules.Describe(read.Tags)} of topic '{topic}' "
                    + $"({other.Client}); this member asks for {HeartbeatRules.Describe(tags)}.");
            }
        }
    }

    private void Resubscribe(GroupMember member, Dictionary<string, string[]> wanted)
    {
        if (wanted.Count == member.Subscriptions.Count && wanted.All(
            one => member.Subscriptions.TryGetValue(one.Key, out string[]? tags) && tags.SequenceEqual(one.Value)))
        {
            return;
        }

        if (Kind == GroupKind.Shared)
            CheckTags(wanted, member);
        IReadOnlyDictionary<string, string[]> before = member.Subscriptions;
        _bytes -= member.Bytes;
        Subscribe(member, wanted);
        foreach (string topic in before.Keys)
            Unread(topic);
        member.IsListChanged |= Kind == GroupKind.Broadcast;
        MarkStale();
    }

    private void Subscribe(GroupMember member, Dictionary<string, string[]> wanted)
    {
        // Members of a group mostly read the same: they share names and tags.
        var shared = new Dictionary<string, string[]>(wanted.Count);
        member.Bytes = RosterSize.Member + RosterSize.OfText(member.InstanceId) + RosterSize.OfText(member.Client);
        foreach ((string topic, string[] tags) in wanted)
        {
            if (!_topics.TryGetValue(topic, out RosterTopic? read))
            {
                _topics.Add(topic, read = new RosterTopic(topic));
                _bytes += RosterSize.Topic + RosterSize.OfText(topic);
                ChangedTopics.Add(topic);
            }

            string[] own = read.Tags;
            if (!own.AsSpan().SequenceEqual(tags))
            {
                own = tags;
                if (Kind == GroupKind.Broadcast && read.ReaderCount > 0)
                {
                    member.Bytes += RosterSize.Of(tags);
                }
                else
                {
                    _bytes += RosterSize.Of(tags) - RosterSize.Of(read.Tags);
                    read.Tags = tags;
                }
            }

            read.ReaderCount++;
            shared.Add(read.Name, own);
            member.Bytes += RosterSize.Subscription;
        }

        member.Subscriptions = shared;
        _bytes += member.Bytes;
    }

    private void Unread(GroupMember member)
    {
        _bytes -= member.Bytes;
        foreach (string topic in member.Subscriptions.Keys)
            Unread(topic);
    }

    private void Unread(string topic)
    {
        RosterTopic read = _topics[topic];
        if (--read.ReaderCount > 0)
            return;
        foreach (RosterQueue queue in read.Queues)
            Drop(queue);
        _bytes -= RosterSize.Topic + RosterSize.OfText(topic) + RosterSize.Of(read.Tags)
            + ((long)RosterSize.Queue * read.Queues.Length);
        _topics.Remove(topic);
        ChangedTopics.Add(topic);
    }
}
