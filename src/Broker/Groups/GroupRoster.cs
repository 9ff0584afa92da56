using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>
/// The members of one group, the queues they read, who has each and who shall have it: docs/consumer-groups.md,
/// section 3, row by row.
/// </summary>
/// <remarks>
/// Guarded by the group's gate. No lock, no I/O and no clock of its own: time is handed in. Every change ends with
/// <see cref="Settle"/>; after it <see cref="GroupMember.HasNews"/> says who must be told.
/// </remarks>
internal sealed partial class GroupRoster(
    string name, GroupGenerations generations, Guid brokerId, TimeSpan reconnectGrace)
{
    private readonly Dictionary<Guid, GroupMember> _members = [];
    private readonly Dictionary<string, GroupMember> _instances = [];
    private readonly SortedDictionary<string, RosterTopic> _topics = new(StringComparer.Ordinal);
    private readonly Dictionary<QueueKey, RosterQueue> _queues = [];
    private readonly Dictionary<QueueKey, int> _pendingCommits = [];
    private TimeSpan? _settlesUntil;
    private long _bytes;
    private bool _isStale;
    private bool _isChanged;

    public GroupKind Kind { get; private set; }

    /// <summary>What the members and the queues that they read take in memory.</summary>
    public long Bytes => _bytes + (_members.Count > 0 ? RosterSize.Group : 0);

    public IReadOnlyCollection<GroupMember> Members => _members.Values;

    public IReadOnlyCollection<RosterQueue> Queues => _queues.Values;

    /// <summary>By name.</summary>
    public IReadOnlyCollection<RosterTopic> Topics => _topics.Values;

    /// <summary>Of the newest grant or list.</summary>
    public GroupGeneration Generation { get; private set; } = GroupGeneration.Join;

    /// <summary>Whether the group waits for the members it had before a restart of the broker.</summary>
    public bool IsSettling => _settlesUntil is not null;

    public GroupState State =>
        IsSettling ? GroupState.Settling
        : _members.Count == 0 ? GroupState.Empty
        : Kind == GroupKind.Shared && _queues.Values.Any(queue => queue.Owner != queue.Target) ? GroupState.Moving
        : GroupState.Stable;

    /// <summary>Grants to another than the last owner, since the group is in memory.</summary>
    public long MoveCount { get; private set; }

    /// <summary>Whether members may have news; the caller takes it back when it has told them.</summary>
    public bool HasMoved { get; set; }

    /// <summary>Topics whose first reader came or whose last one went; the caller takes them out.</summary>
    public List<string> ChangedTopics { get; } = [];

    /// <summary>Sessions that are over; the caller takes them out.</summary>
    public List<(GroupMember Member, SessionEnd Cause)> Ended { get; } = [];

    public bool HasPendingCommits => _pendingCommits.Count > 0;

    public bool Reads(string topic) => _topics.ContainsKey(topic);

    public GroupMember? Find(Guid member) => _members.GetValueOrDefault(member);

    /// <summary>Opens the window in which members of the time before a restart claim what they had.</summary>
    public void OpenWindow(TimeSpan until, GroupKind kind)
    {
        Kind = kind;
        _settlesUntil = until;
        _isChanged = true;
    }

    /// <summary>Takes over which queues a topic has; none when it does not exist.</summary>
    /// <param name="topic">Its name.</param>
    /// <param name="queues">By number.</param>
    /// <param name="unreadable">Those of them that may not be read; null = none.</param>
    public void SetTopic(string topic, IReadOnlyList<QueueId> queues, IReadOnlySet<QueueId>? unreadable = null)
    {
        bool IsReadable(RosterQueue queue) => unreadable is null || !unreadable.Contains(queue.Key.Id);
        if (!_topics.TryGetValue(topic, out RosterTopic? read)
            || (read.Queues.Select(queue => queue.Key.Id).SequenceEqual(queues)
                && read.Queues.All(queue => queue.IsReadable == IsReadable(queue))))
        {
            return;
        }

        Dictionary<QueueKey, RosterQueue> left = read.Queues.ToDictionary(queue => queue.Key);
        _bytes += (long)RosterSize.Queue * (queues.Count - left.Count);
        read.Queues =
        [
            .. queues.Select((id, number) => left.Remove(new QueueKey(0, id), out RosterQueue? kept)
                ? kept
                : new RosterQueue(topic, number, new QueueKey(0, id))),
        ];
        foreach (RosterQueue gone in left.Values)
            Drop(gone);
        foreach (RosterQueue queue in read.Queues)
        {
            _queues[queue.Key] = queue;
            queue.IsReadable = IsReadable(queue);
        }

        foreach (GroupMember member in _members.Values)
            member.IsListChanged |= Kind == GroupKind.Broadcast && member.Subscriptions.ContainsKey(topic);
        MarkStale();
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
        _isChanged |= _queues.TryGetValue(queue, out RosterQueue? read) && read.Owner is null;
    }

    /// <summary>Whether a member may commit in a queue.</summary>
    public ErrorCode CheckCommit(GroupMember member, QueueKey key, GroupGeneration grant)
    {
        if (Kind == GroupKind.Broadcast)
            return ErrorCode.None;
        if (!_queues.TryGetValue(key, out RosterQueue? queue) || queue.Owner != member)
            return ErrorCode.QueueNotOwned;
        return queue.Grant == grant ? ErrorCode.None : ErrorCode.FencedGeneration;
    }

    /// <summary>Moves everything on as far as it can go now.</summary>
    public void Settle(TimeSpan now)
    {
        bool isDone = now >= _settlesUntil;
        if (!_isChanged && !isDone)
            return;
        _isChanged = false;
        HasMoved = true;
        if (IsSettling)
        {
            Give();
            if (isDone || (_queues.Count > 0
                && _queues.Values.All(queue => queue.Owner is not null || !queue.IsReadable)))
            {
                _settlesUntil = null;
                _isStale = true;
            }
        }

        if (_isStale && !IsSettling)
        {
            _isStale = false;
            if (Kind == GroupKind.Shared)
                Assign();
        }

        Give();
        CountOwed(now);
    }

    /// <summary>When to look at the group again, if nothing else happens; null = never.</summary>
    public TimeSpan? NextDue()
    {
        TimeSpan? due = _settlesUntil;
        foreach (GroupMember member in _members.Values)
        {
            TimeSpan next = member.NextDue();
            if (due is null || next < due)
                due = next;
        }

        return due;
    }

    /// <summary>What a member is told now.</summary>
    /// <param name="member">Who asks.</param>
    /// <param name="isWhole">Whether the list is told even if it has not changed.</param>
    /// <param name="next">When it shall call again.</param>
    public GroupHeartbeatResponse Tell(GroupMember member, bool isWhole, TimeSpan next)
    {
        IReadOnlyList<AssignedTopic>? list = isWhole || member.IsListChanged ? ListOf(member) : null;
        if (member.IsListChanged)
        {
            member.Told = Generation = generations.Next();
            member.IsListChanged = false;
        }

        member.ToldPending = member.Pending;
        return Repeat(member, next) with { Assignment = list };
    }

    /// <summary>An answer without news; those that there are stay to be told.</summary>
    public static GroupHeartbeatResponse Repeat(GroupMember member, TimeSpan next) => new()
    {
        Generation = member.Told,
        NextHeartbeat = next,
        SessionTimeout = member.SessionTimeout,
        ReconnectGrace = member.ReconnectGrace,
        Pending = (uint)member.ToldPending,
    };

    private List<AssignedTopic> ListOf(GroupMember member)
    {
        var list = new List<AssignedTopic>();
        foreach (string topic in member.Subscriptions.Keys.Order(StringComparer.Ordinal))
        {
            if (!_topics.TryGetValue(topic, out RosterTopic? read))
                continue;
            AssignedQueue[] queues =
            [
                .. read.Queues
                    .Where(queue => Kind == GroupKind.Broadcast
                        ? queue.IsReadable
                        : queue.Owner == member && queue.Target == member)
                    .Select(queue => new AssignedQueue(
                        queue.Number,
                        queue.Key,
                        Kind == GroupKind.Broadcast ? GroupGeneration.None : queue.Grant)),
            ];
            if (queues.Length > 0)
                list.Add(new AssignedTopic(topic, queues));
        }

        return list;
    }

    /// <summary>Decides anew who shall have what.</summary>
    private void Assign()
    {
        GroupMember[] members = [.. _members.Values.OrderBy(member => member.Rank)];
        var numbers = new Dictionary<GroupMember, int>(members.Length);
        foreach (GroupMember member in members)
            numbers.Add(member, numbers.Count);
        int NumberOf(GroupMember? member) =>
            member is not null && numbers.TryGetValue(member, out int number) ? number : -1;

        (string Name, RosterQueue[] Queues)[] topics =
        [
            .. _topics.Values
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

    private static void Aim(RosterQueue queue, GroupMember? target)
    {
        if (queue.Target == target)
            return;
        if (queue.Owner is { } owner && (owner == queue.Target || owner == target))
            owner.IsListChanged = true;
        queue.Target = target;
    }

    /// <summary>Gives queues without an owner to those who shall have them, unless a commit of it is under
    /// way.</summary>
    private void Give()
    {
        foreach (RosterQueue queue in _queues.Values)
        {
            if (queue.Owner is not null
                || queue.Target is not { } target
                || (IsSettling && !queue.IsClaimed)
                || _pendingCommits.ContainsKey(queue.Key))
            {
                continue;
            }

            queue.Owner = target;
            queue.Grant = Generation = generations.Next();
            queue.IsClaimed = false;
            if (queue.LastOwner != target.Rank)
                MoveCount += queue.LastOwner is null ? 0 : 1;
            queue.LastOwner = target.Rank;
            target.IsListChanged = true;
        }
    }

    /// <summary>Counts what each member waits for, and since when it owes a release.</summary>
    private void CountOwed(TimeSpan now)
    {
        foreach (GroupMember member in _members.Values)
        {
            member.Pending = 0;
            member.OwesSince = null;
            if (IsSettling && Kind == GroupKind.Shared)
            {
                member.Pending = member.Subscriptions.Keys.Sum(
                    topic => _topics[topic].Queues.Count(queue => queue.Owner is null && queue.IsReadable));
            }
        }

        foreach (RosterQueue queue in _queues.Values)
        {
            if (queue.Owner == queue.Target || Kind == GroupKind.Broadcast)
            {
                queue.OwedSince = null;
                continue;
            }

            if (queue.Target is { } target && !IsSettling)
                target.Pending++;
            if (queue.Owner is not { } owner)
                continue;
            queue.OwedSince ??= now;
            if (owner.OwesSince is not { } owes || queue.OwedSince < owes)
                owner.OwesSince = queue.OwedSince;
        }
    }

    private void Free(RosterQueue queue)
    {
        if (queue.Owner is { } owner)
            owner.IsListChanged |= queue.Target == owner;
        queue.Owner = null;
        queue.OwedSince = null;
        _isChanged = true;
    }

    private void Drop(RosterQueue queue)
    {
        Free(queue);
        queue.Target = null;
        _queues.Remove(queue.Key);
    }

    private void MarkStale() => _isStale = _isChanged = true;
}
