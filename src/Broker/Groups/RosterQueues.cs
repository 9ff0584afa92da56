using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>The queues that one group reads: who has each, who shall have it, and the grants by which it passes
/// on.</summary>
/// <remarks>Guarded by the group's gate. No lock, no I/O and no clock of its own: time is handed in.</remarks>
internal sealed class RosterQueues(GroupGenerations generations)
{
    private readonly Dictionary<QueueKey, RosterQueue> _queues = [];
    private readonly Dictionary<QueueKey, int> _pendingCommits = [];

    public IReadOnlyCollection<RosterQueue> All => _queues.Values;

    /// <summary>Of the newest grant or list.</summary>
    public GroupGeneration Generation { get; private set; } = GroupGeneration.Join;

    /// <summary>Grants to another than the last owner, since the group is in memory.</summary>
    public long MoveCount { get; private set; }

    /// <summary>Whether there is something to settle.</summary>
    public bool IsChanged { get; set; }

    public bool HasPendingCommits => _pendingCommits.Count > 0;

    /// <summary>A grant or list is given: it gets a generation of its own.</summary>
    public GroupGeneration NextGeneration() => Generation = generations.Next();

    /// <summary>A topic that the group reads has the queue.</summary>
    public void Add(RosterQueue queue) => _queues[queue.Key] = queue;

    /// <summary>No topic that the group reads has the queue any more.</summary>
    public void Drop(RosterQueue queue)
    {
        Free(queue);
        queue.Target = null;
        _queues.Remove(queue.Key);
    }

    /// <summary>The owner has it no more.</summary>
    public void Free(RosterQueue queue)
    {
        if (queue.Owner is { } owner)
            owner.IsListChanged |= queue.Target == owner;
        queue.Owner = null;
        queue.OwedSince = null;
        IsChanged = true;
    }

    /// <summary>A commit of the queue enters the log.</summary>
    public void BeginCommit(QueueKey queue) =>
        _pendingCommits[queue] = _pendingCommits.GetValueOrDefault(queue) + 1;

    /// <summary>A commit of the queue is visible.</summary>
    public void EndCommit(QueueKey queue)
    {
        if (--_pendingCommits[queue] > 0)
            return;
        _pendingCommits.Remove(queue);
        // The commit of a queue that has its owner is not waited for.
        IsChanged |= _queues.TryGetValue(queue, out RosterQueue? read) && read.Owner is null;
    }

    /// <summary>Whether a member of a shared group may commit in a queue.</summary>
    public ErrorCode CheckCommit(GroupMember member, QueueKey key, GroupGeneration grant)
    {
        if (!_queues.TryGetValue(key, out RosterQueue? queue) || queue.Owner != member)
            return ErrorCode.QueueNotOwned;
        return queue.Grant == grant ? ErrorCode.None : ErrorCode.FencedGeneration;
    }

    /// <summary>Lets a member have what it had before a restart, where that holds.</summary>
    /// <param name="member">Who claims.</param>
    /// <param name="owned">What it had, with grants of an earlier epoch.</param>
    /// <param name="committedIn">The generation of a queue's last commit; null = none.</param>
    public void Claim(
        GroupMember member, IEnumerable<OwnedQueue> owned, Func<QueueKey, GroupGeneration?> committedIn)
    {
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
            IsChanged = true;
        }
    }

    /// <summary>What the member does not list any more is free, if it has heard that it was given it.</summary>
    public void Release(GroupMember member, IReadOnlyList<OwnedQueue> owned)
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

    /// <summary>A member is gone: what it had is free, and its heir shall have what it should.</summary>
    /// <param name="member">Whose session is over.</param>
    /// <param name="heir">The session that follows it; null = none.</param>
    public void PassOn(GroupMember member, GroupMember? heir)
    {
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
    }

    /// <summary>Decides anew who shall have what.</summary>
    /// <param name="members">By rank.</param>
    /// <param name="read">The topics that they read.</param>
    public void Assign(GroupMember[] members, IEnumerable<RosterTopic> read)
    {
        var numbers = new Dictionary<GroupMember, int>(members.Length);
        foreach (GroupMember member in members)
            numbers.Add(member, numbers.Count);
        int NumberOf(GroupMember? member) =>
            member is not null && numbers.TryGetValue(member, out int number) ? number : -1;

        (string Name, RosterQueue[] Queues)[] topics =
        [
            .. read
                .Select(topic => (topic.Name, Queues: topic.Queues.Where(queue => queue.IsReadable).ToArray()))
                .Where(topic => topic.Queues.Length > 0),
        ];
        foreach (RosterQueue queue in _queues.Values.Where(queue => !queue.IsReadable))
            Aim(queue, null);
        int[][] targets = QueueAssigner.Assign(
            [.. topics.Select(topic => new AssignableTopic(
                [.. members.Where(m => m.Subscriptions.ContainsKey(topic.Name)).Select(m => numbers[m])],
                [.. topic.Queues.Select(queue => NumberOf(queue.Target) is >= 0 and var had
                    ? had
                    : NumberOf(queue.Owner))],
                [.. topic.Queues.Select(queue => NumberOf(queue.Owner))]))],
            [.. members.Select(member => member.Rank)]);
        for (int t = 0; t < topics.Length; t++)
        {
            for (int number = 0; number < targets[t].Length; number++)
                Aim(topics[t].Queues[number], targets[t][number] is >= 0 and var target ? members[target] : null);
        }
    }

    /// <summary>Gives queues without an owner to those who shall have them, unless a commit of it is under
    /// way.</summary>
    public void Give(bool isSettling)
    {
        foreach (RosterQueue queue in _queues.Values)
        {
            if (queue.Owner is not null
                || queue.Target is not { } target
                || (isSettling && !queue.IsClaimed)
                || _pendingCommits.ContainsKey(queue.Key))
            {
                continue;
            }

            queue.Owner = target;
            queue.Grant = NextGeneration();
            queue.IsClaimed = false;
            if (queue.LastOwner != target.Rank)
                MoveCount += queue.LastOwner is null ? 0 : 1;
            queue.LastOwner = target.Rank;
            target.IsListChanged = true;
        }
    }

    /// <summary>Counts what each member of a group waits for, and since when it owes a release.</summary>
    /// <param name="kind">In a broadcast group none is owed.</param>
    /// <param name="isSettling">Whether queues wait for members of the time before a restart.</param>
    /// <param name="now">The time.</param>
    public void CountOwed(GroupKind kind, bool isSettling, TimeSpan now)
    {
        foreach (RosterQueue queue in _queues.Values)
        {
            if (queue.Owner == queue.Target || kind == GroupKind.Broadcast)
            {
                queue.OwedSince = null;
                continue;
            }

            if (queue.Target is { } target && !isSettling)
                target.Pending++;
            if (queue.Owner is not { } owner)
                continue;
            queue.OwedSince ??= now;
            if (owner.OwesSince is not { } owes || queue.OwedSince < owes)
                owner.OwesSince = queue.OwedSince;
        }
    }

    private static void Aim(RosterQueue queue, GroupMember? target)
    {
        if (queue.Target == target)
            return;
        if (queue.Owner is { } owner && (owner == queue.Target || owner == target))
            owner.IsListChanged = true;
        queue.Target = target;
    }
}
