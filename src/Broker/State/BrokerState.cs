using System.Collections.Concurrent;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>The broker's state as the log has it: topics, groups, offsets and quotas, staged ones included.</summary>
/// <remarks>
/// Written by the store alone, under the log's lock; read by snapshots at the same time and by the catalogue and the
/// groups when the broker starts, and by commits, which compare with it. What clients are answered comes from those
/// two, who learn of a change when it is visible.
/// </remarks>
internal sealed class BrokerState : IStateMachine
{
    private readonly ConcurrentDictionary<string, TopicRecord> _topics = new();
    private readonly ConcurrentDictionary<GroupOffsetKey, GroupOffset> _offsets = new();
    private readonly ConcurrentDictionary<string, GroupRecord> _groups = new();
    private readonly ConcurrentDictionary<QuotaKey, Quota> _quotas = new();

    public IEnumerable<TopicRecord> Topics => _topics.Values;

    public IEnumerable<KeyValuePair<GroupOffsetKey, GroupOffset>> Offsets => _offsets;

    public IEnumerable<GroupRecord> Groups => _groups.Values;

    public IEnumerable<Quota> Quotas => _quotas.Values;

    /// <summary>What the progress takes in memory.</summary>
    public ProgressUse ProgressUse { get; } = new();

    /// <summary>The progress as the log has it, visible or not.</summary>
    public GroupOffset? FindOffset(in GroupOffsetKey key) => _offsets.GetValueOrDefault(key);

    /// <inheritdoc/>
    public void Apply(in StateRecord record)
    {
        switch (record.Kind)
        {
            case TopicRecord.Kind when record.IsDeleted:
                _topics.TryRemove(TopicRecord.ReadKey(record), out _);
                break;
            case TopicRecord.Kind:
                TopicRecord topic = TopicRecord.Read(record);
                _topics[topic.Name] = topic;
                break;
            case GroupOffset.Kind when record.IsDeleted:
                Set(GroupOffset.ReadKey(record), null);
                break;
            case GroupOffset.Kind:
                Set(GroupOffset.ReadKey(record), GroupOffset.Read(record));
                break;
            case GroupRecord.Kind when record.IsDeleted:
                _groups.TryRemove(GroupRecord.ReadKey(record), out _);
                break;
            case GroupRecord.Kind:
                GroupRecord group = GroupRecord.Read(record);
                _groups[group.Name] = group;
                break;
            case QuotaRecord.Kind when record.IsDeleted:
                _quotas.TryRemove(QuotaRecord.ReadKey(record), out _);
                break;
            case QuotaRecord.Kind:
                Quota quota = QuotaRecord.Read(record);
                _quotas[new QuotaKey(quota.Kind, quota.Name)] = quota;
                break;
            default:
                throw new InvalidDataException(
                    $"State record of kind {record.Kind}: the data directory was written by a later version.");
        }
    }

    /// <inheritdoc/>
    public IEnumerable<StateEntry> Capture()
    {
        foreach (TopicRecord topic in _topics.Values)
            yield return topic.ToEntry();
        foreach ((GroupOffsetKey key, GroupOffset offset) in _offsets)
            yield return offset.ToEntry(key);
        foreach (GroupRecord group in _groups.Values)
            yield return group.ToEntry();
        foreach (Quota quota in _quotas.Values)
            yield return QuotaRecord.ToEntry(quota);
    }

    /// <summary>
    /// Forgets the progress in queues that do not exist (any more), so that snapshots do not carry it on.
    /// </summary>
    /// <returns>Offsets forgotten.</returns>
    public int ForgetOffsets(Predicate<FetchQueueKey> isGone)
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
            _offsets[ProgressUse.Share(key)] = offset;
        else
            _offsets[key] = offset;
        ProgressUse.Change(key, before, offset);
    }
}
