using System.Collections.Concurrent;
using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>The groups and their progress as the log has them, visible or not.</summary>
internal sealed class StoredGroups : IStatePart
{
    private readonly ConcurrentDictionary<GroupOffsetKey, GroupOffset> _offsets = new();
    private readonly ConcurrentDictionary<string, GroupRecord> _groups = new();

    public IEnumerable<KeyValuePair<GroupOffsetKey, GroupOffset>> Offsets => _offsets;

    public IEnumerable<GroupRecord> Groups => _groups.Values;

    /// <summary>What the progress takes in memory.</summary>
    public ProgressUse Use { get; } = new();

    /// <inheritdoc/>
    public IReadOnlyList<byte> Kinds => [GroupOffset.Kind, GroupRecord.Kind];

    /// <summary>The progress as the log has it, visible or not.</summary>
    public GroupOffset? FindOffset(in GroupOffsetKey key) => _offsets.GetValueOrDefault(key);

    /// <inheritdoc/>
    public void Apply(in StateRecord record)
    {
        switch (record.Kind)
        {
            case GroupOffset.Kind:
                Set(GroupOffset.ReadKey(record), record.IsDeleted ? null : GroupOffset.Read(record));
                break;
            case GroupRecord.Kind when record.IsDeleted:
                _groups.TryRemove(GroupRecord.ReadKey(record), out _);
                break;
            default:
                var group = GroupRecord.Read(record);
                _groups[group.Name] = group;
                break;
        }
    }

    /// <inheritdoc/>
    public IEnumerable<StateEntry> Capture()
    {
        foreach ((GroupOffsetKey key, GroupOffset offset) in _offsets)
            yield return offset.ToEntry(key);
        foreach (GroupRecord group in _groups.Values)
            yield return group.ToEntry();
    }

    /// <summary>
    /// Forgets the progress in queues that do not exist (any more), so that snapshots do not carry it on.
    /// </summary>
    /// <returns>Offsets forgotten.</returns>
    public int ForgetOffsets(Predicate<QueueKey> isGone)
    {
        int forgotten = 0;
        foreach (GroupOffsetKey key in _offsets.Keys)
        {
            if (!isGone(key.Queue))
                continue;
            Set(key, null);
            forgotten++;
        }

        return forgotten;
    }

    private void Set(in GroupOffsetKey key, GroupOffset? offset)
    {
        _offsets.TryGetValue(key, out GroupOffset? before);
        if (offset is null)
            _offsets.TryRemove(key, out _);
        else if (before is null)
            _offsets[Use.Share(key)] = offset;
        else
            _offsets[key] = offset;
        Use.Change(key, before, offset);
    }
}
