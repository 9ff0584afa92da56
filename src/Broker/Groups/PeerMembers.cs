using System.Collections.Concurrent;

namespace EQueue.Broker;

/// <summary>The members of groups that call over one connection. Thread-safe.</summary>
internal sealed class PeerMembers
{
    private readonly ConcurrentDictionary<GroupMember, Group> _groups = new();

    /// <summary>Each member with its group.</summary>
    public IEnumerable<KeyValuePair<GroupMember, Group>> All => _groups;

    public void Set(GroupMember member, Group group) => _groups[member] = group;

    public void Remove(GroupMember member) => _groups.TryRemove(member, out _);
}
