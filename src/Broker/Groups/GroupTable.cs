using System.Collections.Concurrent;

namespace EQueue.Broker;

/// <summary>The consumer groups that have members or progress, and which of them read a topic.</summary>
internal sealed class GroupTable(ModuleContext context) : ICommittedProgress
{
    private readonly StoredGroups _state = context.State.Groups;
    private readonly Guid _brokerId = context.Store.StoreId;
    private readonly TimeSpan _grace = context.Options.Groups.ReconnectGrace;
    private readonly ConcurrentDictionary<string, Group> _groups = new();
    private readonly Lock _readersGate = new();
    private readonly Dictionary<string, HashSet<Group>> _readers = [];
    private long _memberCount;

    /// <summary>Gives the generations of all groups.</summary>
    public GroupGenerations Generations { get; } = new(context.Store.Epoch);

    public int Count => _groups.Count;

    /// <summary>Members of all groups.</summary>
    public long MemberCount => Volatile.Read(ref _memberCount);

    public IEnumerable<Group> Groups => _groups.Values;

    /// <summary>
    /// Takes over what the log holds; before the broker serves. Groups that had members wait for them until
    /// <see cref="HeartbeatHandler.Start"/> says for how long.
    /// </summary>
    /// <returns>Offsets that were forgotten because their queue does not exist any more.</returns>
    public int Load(TopicCatalogue catalogue)
    {
        int forgotten = _state.ForgetOffsets(queue => queue.Log != 0 || !catalogue.TryFindByQueue(queue.Id, out _));
        foreach ((GroupOffsetKey key, GroupOffset offset) in _state.Offsets)
        {
            (string name, string? instance) = ProgressName.Split(key.Group);
            _groups.GetOrAdd(name, NewGroup).Publish(instance, key.Queue, offset, 0);
        }

        foreach (GroupRecord record in _state.Groups)
        {
            Group group = _groups.GetOrAdd(record.Name, NewGroup);
            group.Recorded = record;
            if (record.HasMembers)
            {
                group.Roster.OpenWindow(
                    TimeSpan.MaxValue, record.IsBroadcast ? GroupKind.Broadcast : GroupKind.Shared);
            }
        }

        return forgotten;
    }

    /// <inheritdoc/>
    public void GiveTo(IReadOnlySet<QueueId> queues, TopicBacklog backlog)
    {
        foreach ((GroupOffsetKey key, _) in _state.Offsets)
        {
            if (queues.Contains(key.Queue.Id) && Find(ProgressName.Split(key.Group).Group) is { } group)
                Give(backlog, group, key);
        }
    }

    public Group? Find(string name) => _groups.GetValueOrDefault(name);

    /// <exception cref="EQueueException">InvalidName, LimitReached.</exception>
    public Group FindOrAdd(string name)
    {
        if (_groups.TryGetValue(name, out Group? group))
            return group;
        RequestRules.CheckName(name, "group");
        if (_groups.Count >= context.Limits.MaxGroups)
        {
            throw new EQueueException(
                ErrorCode.LimitReached, $"The broker has {_groups.Count} groups, its limit (Limits:MaxGroups).");
        }

        return _groups.GetOrAdd(name, NewGroup);
    }

    /// <summary>Counts the members that came or went, and their memory. The caller holds the group's gate.</summary>
    public void CountMembers(Group group)
    {
        int members = group.Roster.Members.Count;
        Interlocked.Add(ref _memberCount, members - group.CountedMembers);
        group.CountedMembers = members;
        context.Ledger.Members.Count(group.Roster.Bytes - group.CountedBytes);
        group.CountedBytes = group.Roster.Bytes;
    }

    /// <summary>Drops a group without members and without progress. The caller holds its gate.</summary>
    public void DropIfEmpty(Group group)
    {
        if (group.IsEmpty)
        {
            group.IsGone = true;
            _groups.TryRemove(KeyValuePair.Create(group.Name, group));
        }
    }

    /// <summary>Returns when every commit that has seen the catalogue as it was before is in the log.</summary>
    public void WaitForCommits()
    {
        foreach (Group group in _groups.Values)
        {
            lock (group.Gate)
            {
                // A commit looks at the catalogue and appends within the gate: nothing to do but to have held it.
            }
        }
    }

    /// <summary>Notes that a group reads a topic, or does not any more.</summary>
    public void Watch(string topic, Group group, bool reads)
    {
        lock (_readersGate)
        {
            if (reads)
            {
                if (!_readers.TryGetValue(topic, out HashSet<Group>? readers))
                    _readers.Add(topic, readers = []);
                readers.Add(group);
            }
            else if (_readers.TryGetValue(topic, out HashSet<Group>? readers) && readers.Remove(group)
                && readers.Count == 0)
            {
                _readers.Remove(topic);
            }
        }
    }

    /// <summary>Groups with members that read a topic.</summary>
    public Group[] ReadersOf(string topic)
    {
        lock (_readersGate)
            return _readers.TryGetValue(topic, out HashSet<Group>? readers) ? [.. readers] : [];
    }

    private void Give(TopicBacklog backlog, Group group, in GroupOffsetKey key)
    {
        lock (group.Gate)
        {
            if (_state.FindOffset(key) is { } offset)
                backlog.Commit(key.Group, group.Recorded is not null, key.Queue.Id, offset.Next);
        }
    }

    private Group NewGroup(string name) =>
        new(name, new GroupRoster(name, Generations, _brokerId, _grace));
}
