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
    private readonly RosterTopics _topics = new(name);
    private readonly RosterQueues _queues = new(generations);
    private TimeSpan? _settlesUntil;
    private bool _isStale;

    public GroupKind Kind { get; private set; }

    /// <summary>What the members and the queues that they read take in memory.</summary>
    public long Bytes => _topics.Bytes + (_members.Count > 0 ? RosterSize.Group : 0);

    public IReadOnlyCollection<GroupMember> Members => _members.Values;

    public IReadOnlyCollection<RosterQueue> Queues => _queues.All;

    /// <summary>By name.</summary>
    public IReadOnlyCollection<RosterTopic> Topics => _topics.All;

    /// <summary>Of the newest grant or list.</summary>
    public GroupGeneration Generation => _queues.Generation;

    /// <summary>Whether the group waits for the members it had before a restart of the broker.</summary>
    public bool IsSettling => _settlesUntil is not null;

    public GroupState State =>
        IsSettling ? GroupState.Settling
        : _members.Count == 0 ? GroupState.Empty
        : Kind == GroupKind.Shared && _queues.All.Any(queue => queue.Owner != queue.Target) ? GroupState.Moving
        : GroupState.Stable;

    /// <inheritdoc cref="RosterQueues.MoveCount"/>
    public long MoveCount => _queues.MoveCount;

    /// <summary>Whether members may have news; the caller takes it back when it has told them.</summary>
    public bool HasMoved { get; set; }

    /// <inheritdoc cref="RosterTopics.Changed"/>
    public List<string> ChangedTopics => _topics.Changed;

    /// <summary>Sessions that are over; the caller takes them out.</summary>
    public List<(GroupMember Member, SessionEnd Cause)> Ended { get; } = [];

    public bool HasPendingCommits => _queues.HasPendingCommits;

    public bool Reads(string topic) => _topics.Find(topic) is not null;

    public GroupMember? Find(Guid member) => _members.GetValueOrDefault(member);

    /// <summary>Opens the window in which members of the time before a restart claim what they had.</summary>
    public void OpenWindow(TimeSpan until, GroupKind kind)
    {
        Kind = kind;
        _settlesUntil = until;
        _queues.IsChanged = true;
    }

    /// <summary>Takes over which queues a topic has; none when it does not exist.</summary>
    /// <param name="topic">Its name.</param>
    /// <param name="queues">By number.</param>
    /// <param name="unreadable">Those of them that may not be read; null = none.</param>
    public void SetTopic(string topic, IReadOnlyList<QueueId> queues, IReadOnlySet<QueueId>? unreadable = null)
    {
        bool IsReadable(RosterQueue queue) => unreadable is null || !unreadable.Contains(queue.Key.Id);
        if (_topics.Find(topic) is not { } read
            || (read.Queues.Select(queue => queue.Key.Id).SequenceEqual(queues)
                && read.Queues.All(queue => queue.IsReadable == IsReadable(queue))))
        {
            return;
        }

        Dictionary<QueueKey, RosterQueue> left = read.Queues.ToDictionary(queue => queue.Key);
        RosterQueue[] now =
        [
            .. queues.Select((id, number) => left.Remove(new QueueKey(0, id), out RosterQueue? kept)
                ? kept
                : new RosterQueue(topic, number, new QueueKey(0, id))),
        ];
        _topics.SetQueues(read, now);
        foreach (RosterQueue gone in left.Values)
            _queues.Drop(gone);
        foreach (RosterQueue queue in read.Queues)
        {
            _queues.Add(queue);
            queue.IsReadable = IsReadable(queue);
        }

        foreach (GroupMember member in _members.Values)
            member.IsListChanged |= Kind == GroupKind.Broadcast && member.Subscriptions.ContainsKey(topic);
        MarkStale();
    }

    /// <inheritdoc cref="RosterQueues.BeginCommit"/>
    public void BeginCommit(QueueKey queue) => _queues.BeginCommit(queue);

    /// <inheritdoc cref="RosterQueues.EndCommit"/>
    public void EndCommit(QueueKey queue) => _queues.EndCommit(queue);

    /// <summary>Whether a member may commit in a queue.</summary>
    public ErrorCode CheckCommit(GroupMember member, QueueKey key, GroupGeneration grant) =>
        Kind == GroupKind.Broadcast ? ErrorCode.None : _queues.CheckCommit(member, key, grant);

    /// <summary>Moves everything on as far as it can go now.</summary>
    public void Settle(TimeSpan now)
    {
        bool isDone = now >= _settlesUntil;
        if (!_queues.IsChanged && !isDone)
            return;
        _queues.IsChanged = false;
        HasMoved = true;
        if (IsSettling)
        {
            _queues.Give(IsSettling);
            if (isDone || (_queues.All.Count > 0
                && _queues.All.All(queue => queue.Owner is not null || !queue.IsReadable)))
            {
                _settlesUntil = null;
                _isStale = true;
            }
        }

        if (_isStale && !IsSettling)
        {
            _isStale = false;
            if (Kind == GroupKind.Shared)
                _queues.Assign([.. _members.Values.OrderBy(member => member.Rank)], _topics.All);
        }

        _queues.Give(IsSettling);
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
            member.Told = _queues.NextGeneration();
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
            if (_topics.Find(topic) is not { } read)
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

    /// <summary>Counts what each member waits for, and since when it owes a release.</summary>
    private void CountOwed(TimeSpan now)
    {
        foreach (GroupMember member in _members.Values)
        {
            member.Pending = 0;
            member.OwesSince = null;
            if (IsSettling && Kind == GroupKind.Shared)
            {
                member.Pending = member.Subscriptions.Keys.Sum(topic =>
                    _topics.Find(topic)!.Queues.Count(queue => queue.Owner is null && queue.IsReadable));
            }
        }

        _queues.CountOwed(Kind, IsSettling, now);
    }

    private void MarkStale() => _isStale = _queues.IsChanged = true;
}
