using System.Collections.Concurrent;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>The consumer groups that have a member or progress.</summary>
internal sealed class GroupTable(BrokerState state, LimitOptions limits, TimeProvider time)
{
    private readonly ConcurrentDictionary<string, Group> _groups = new();

    public int Count => _groups.Count;

    /// <summary>Takes over what the log holds; before the broker serves.</summary>
    /// <returns>Offsets that were forgotten because their queue does not exist any more.</returns>
    public int Load(TopicCatalogue catalogue)
    {
        int forgotten = state.ForgetOffsets(queue => queue.Log != 0 || !catalogue.TryFindByQueue(queue.Id, out _));
        foreach ((GroupOffsetKey key, GroupOffset offset) in state.Offsets)
            _groups.GetOrAdd(key.Group, static name => new Group(name)).Publish(key.Queue, offset, 0);
        return forgotten;
    }

    public Group? Find(string name) => _groups.GetValueOrDefault(name);

    /// <exception cref="EQueueException">InvalidName, LimitReached.</exception>
    public Group FindOrAdd(string name)
    {
        if (_groups.TryGetValue(name, out Group? group))
            return group;
        TopicRules.CheckName(name, "group");
        if (_groups.Count >= limits.MaxGroups)
            DropDeserted();
        if (_groups.Count >= limits.MaxGroups)
        {
            throw new EQueueException(
                ErrorCode.LimitReached, $"The broker has {_groups.Count} groups, its limit (Limits.MaxGroups).");
        }

        return _groups.GetOrAdd(name, static name => new Group(name));
    }

    /// <summary>Drops a group without a member and without progress. The caller holds its gate.</summary>
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

    /// <summary>Forgets the progress in queues that are gone.</summary>
    public void Forget(IReadOnlyCollection<QueueId> queues)
    {
        foreach (Group group in _groups.Values)
        {
            lock (group.Gate)
            {
                foreach (QueueId queue in queues)
                    group.Forget(new FetchQueueKey(0, queue));
                DropIfEmpty(group);
            }
        }
    }

    /// <summary>Makes room: groups whose member is gone and that never came anywhere.</summary>
    private void DropDeserted()
    {
        DateTimeOffset now = time.GetUtcNow();
        foreach (Group group in _groups.Values)
        {
            lock (group.Gate)
            {
                if (group.Member is { } member && !member.IsLive(now))
                    group.Member = null;
                DropIfEmpty(group);
            }
        }
    }
}
