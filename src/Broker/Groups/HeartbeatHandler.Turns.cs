using EQueue.MessageStore;

namespace EQueue.Broker;

/// <content>One change of a group, and everything that follows from it.</content>
internal sealed partial class HeartbeatHandler
{
    private static readonly TimeSpan RecordRetry = TimeSpan.FromSeconds(1);

    /// <summary>Changes a group under its gate, moves on what can move, and answers the members that have
    /// news.</summary>
    /// <returns>False when the group is gone: nothing was done, look it up again.</returns>
    private bool TryTurn(Group group, Action<TimeSpan, List<HeartbeatReply>> change)
    {
        var replies = new List<HeartbeatReply>();
        try
        {
            lock (group.Gate)
            {
                if (group.IsGone)
                    return false;
                TimeSpan now = _wheel.Now;
                try
                {
                    change(now, replies);
                }
                finally
                {
                    Finish(group, now, replies);
                }
            }
        }
        finally
        {
            foreach (HeartbeatReply reply in replies)
                reply.Send();
        }

        return true;
    }

    /// <summary>As <see cref="TryTurn"/>, where no caller is above that could see a failure.</summary>
    private void TurnAlone(Group group, Action<TimeSpan, List<HeartbeatReply>> change)
    {
        try
        {
            TryTurn(group, change);
        }
        catch (Exception exception)
        {
            _logger.GroupFailed(group.Name, exception);
        }
    }

    private void OnDue(Group group) => TurnAlone(group, (now, replies) =>
    {
        group.ArmedFor = null;
        if (_isStopping)
            return;
        group.Roster.Expire(now);
        foreach (GroupMember member in group.Roster.Members)
        {
            if (now >= member.ParkedUntil)
                Unpark(member, replies, TimeSpan.Zero);
        }
    });

    private void Finish(Group group, TimeSpan now, List<HeartbeatReply> replies)
    {
        Advance(group, now);
        if (group.Roster.HasMoved)
        {
            group.Roster.HasMoved = false;
            foreach (GroupMember member in group.Roster.Members)
            {
                if (member.HasNews && TakeParked(member) is { } call)
                    replies.Add(new HeartbeatReply(call, group.Roster.Tell(member, isWhole: false, TimeSpan.Zero)));
            }

            NoteMoves(group);
        }

        foreach ((GroupMember member, SessionEnd cause) in group.Roster.Ended)
            BidFarewell(group, member, cause, replies);
        group.Roster.Ended.Clear();
        _groups.CountMembers(group);
        bool isRecorded = TryRecord(group);
        _groups.DropIfEmpty(group);
        Arm(group, now, isRecorded);
    }

    private void Advance(Group group, TimeSpan now)
    {
        RefreshTopics(group);
        group.Roster.Settle(now);
    }

    private void RefreshTopics(Group group)
    {
        foreach (string topic in group.Roster.ChangedTopics)
        {
            bool reads = group.Roster.Reads(topic);
            _groups.Watch(topic, group, reads);
            if (reads)
                SetTopic(group, topic);
        }

        group.Roster.ChangedTopics.Clear();
    }

    private void SetTopic(Group group, string topic)
    {
        if (_catalogue.TryFind(topic, out Topic? found))
            group.Roster.SetTopic(topic, found.Queues, found.Unreadable);
        else
            group.Roster.SetTopic(topic, []);
    }

    private void BidFarewell(Group group, GroupMember member, SessionEnd cause, List<HeartbeatReply> replies)
    {
        if (TakeParked(member) is { } call)
        {
            replies.Add(new HeartbeatReply(
                call,
                null,
                cause == SessionEnd.Replaced ? ErrorCode.MemberReplaced : ErrorCode.UnknownMember,
                $"The session of {member.Id} in group '{group.Name}' is over: {cause}."));
        }

        (member.Connection as BrokerConnection)?.FindFeature<PeerMembers>()?.Remove(member);
        if (cause is not (SessionEnd.Left or SessionEnd.Rejoined))
            Interlocked.Increment(ref _counters.SessionsEnded);
        _logger.SessionEnded(group.Name, member.Id, member.Client, cause);
    }

    private void NoteMoves(Group group)
    {
        GroupRoster roster = group.Roster;
        long moves = roster.MoveCount - group.CountedMoves;
        group.CountedMoves = roster.MoveCount;
        Interlocked.Add(ref _counters.QueueMoves, moves);
        bool isStable = roster.State == GroupState.Stable;
        if (isStable && (!group.WasStable || moves > 0))
            _logger.GroupSettled(group.Name, roster.Members.Count, roster.Queues.Count, roster.Generation);
        group.WasStable = isStable;
    }

    /// <summary>Answers the call that a member has parked as things stand; its news are for the next one.</summary>
    private void Unpark(GroupMember member, List<HeartbeatReply> replies, TimeSpan next)
    {
        if (TakeParked(member) is { } call)
            replies.Add(new HeartbeatReply(call, GroupRoster.Repeat(member, next)));
    }

    private HeartbeatCall? TakeParked(GroupMember member)
    {
        HeartbeatCall? call = member.Parked;
        if (call is not null)
        {
            member.Parked = null;
            Interlocked.Decrement(ref _counters.ParkedHeartbeats);
        }

        return call;
    }

    /// <summary>Records whether the group has members when that has changed; it is not waited for.</summary>
    /// <returns>False when the store has no room: try again later.</returns>
    private bool TryRecord(Group group)
    {
        GroupRoster roster = group.Roster;
        bool hasMembers = roster.Members.Count > 0 || roster.IsSettling;
        bool isKept = hasMembers
            || (group.Recorded is not null && (group.HasProgress || roster.HasPendingCommits));
        if (_isStopping
            || (isKept ? group.Recorded is { } known && known.HasMembers == hasMembers : group.Recorded is null))
        {
            return true;
        }

        GroupRecord? record = isKept
            ? new GroupRecord(
                group.Name,
                roster.Kind == GroupKind.Broadcast,
                hasMembers,
                hasMembers ? 0 : _store.NowMs)
            : null;
        try
        {
            AppendStatus status = _store.AppendState(
                [record?.ToEntry() ?? GroupRecord.Removed(group.Name)], new RecordWaiter());
            if (status == AppendStatus.Accepted)
            {
                bool isFirst = group.Recorded is null && record is not null;
                group.Recorded = record;
                if (isFirst)
                    _backlogs.OnFirstMember(group.Name);
            }

            return status != AppendStatus.NoRoom;
        }
        catch (Exception exception) when (exception is EQueueException or DiskException)
        {
            // The store is closed or has latched a fault, which is known: a record only spares moves after a restart.
            return true;
        }
    }

    private void Arm(Group group, TimeSpan now, bool isRecorded)
    {
        TimeSpan? due = group.Roster.NextDue();
        if (!isRecorded && (due is null || due > now + RecordRetry))
            due = now + RecordRetry;
        if (due is null || due == TimeSpan.MaxValue || due >= group.ArmedFor)
            return;
        group.ArmedFor = due;
        _wheel.Add(group, due > now ? due.Value - now : TimeSpan.Zero);
    }

    private sealed class RecordWaiter : AppendWaiter
    {
        protected override void OnCompleted(Exception? fault)
        {
            // It is not waited for; the store has logged its fault.
        }
    }
}
