using EQueue.Protocol;

namespace EQueue.Broker;

/// <content>How sessions begin, continue and end.</content>
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
        _topics.Subscribe(member, wanted, kind);
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

    /// <inheritdoc cref="RosterQueues.Claim"/>
    public void Claim(
        GroupMember member, IEnumerable<OwnedQueue> owned, Func<QueueKey, GroupGeneration?> committedIn)
    {
        if (IsSettling && Kind == GroupKind.Shared)
            _queues.Claim(member, owned, committedIn);
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
            _queues.Release(member, owned);
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

    private void End(GroupMember member, SessionEnd cause, GroupMember? heir)
    {
        _members.Remove(member.Id);
        if (member.InstanceId is { } instance && _instances.GetValueOrDefault(instance) == member)
            _instances.Remove(instance);
        _queues.PassOn(member, heir);
        Drop(_topics.Unsubscribe(member));
        Ended.Add((member, cause));
        MarkStale();
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
        Drop(_topics.Resubscribe(member, wanted, Kind));
        member.IsListChanged |= Kind == GroupKind.Broadcast;
        MarkStale();
    }

    private void CheckTags(Dictionary<string, string[]> wanted, GroupMember? except) =>
        _topics.CheckTags(wanted, _members.Values.Where(member => member != except));

    private void Drop(List<RosterQueue> unread)
    {
        foreach (RosterQueue queue in unread)
            _queues.Drop(queue);
    }
}
