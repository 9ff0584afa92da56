using System.Collections.Concurrent;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>The broker's state as the log has it: topics, groups, offsets, quotas, users, tokens and
/// rules, staged ones included.</summary>
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
    private readonly ConcurrentDictionary<string, UserRecord> _users = new();
    private readonly ConcurrentDictionary<string, TokenRecord> _tokens = new();
    private readonly ConcurrentDictionary<AccessRule, bool> _rules = new();

    public IEnumerable<TopicRecord> Topics => _topics.Values;

    public IEnumerable<KeyValuePair<GroupOffsetKey, GroupOffset>> Offsets => _offsets;

    public IEnumerable<GroupRecord> Groups => _groups.Values;

    public IEnumerable<Quota> Quotas => _quotas.Values;

    public IEnumerable<UserRecord> Users => _users.Values;

    public IEnumerable<TokenRecord> Tokens => _tokens.Values;

    public IEnumerable<AccessRule> Rules => _rules.Keys;

    /// <summary>The key of <see cref="MockSecrets"/>; null = there were no users and rules yet.</summary>
    public byte[]? MockKey { get; private set; }

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
                var topic = TopicRecord.Read(record);
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
                var group = GroupRecord.Read(record);
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
                ApplySecurity(record);
                break;
        }
    }

    private void ApplySecurity(in StateRecord record)
    {
        switch (record.Kind)
        {
            case UserRecord.Kind when record.IsDeleted:
                _users.TryRemove(UserRecord.ReadKey(record), out _);
                break;
            case UserRecord.Kind:
                var user = UserRecord.Read(record);
                _users[user.Name] = user;
                break;
            case TokenRecord.Kind when record.IsDeleted:
                _tokens.TryRemove(TokenRecord.ReadKey(record), out _);
                break;
            case TokenRecord.Kind:
                var token = TokenRecord.Read(record);
                _tokens[token.Id] = token;
                break;
            case RuleRecord.Kind when record.IsDeleted:
                _rules.TryRemove(RuleRecord.ReadKey(record), out _);
                break;
            case RuleRecord.Kind:
                _rules[RuleRecord.Read(record)] = true;
                break;
            case MockKeyRecord.Kind:
                MockKey = record.IsDeleted ? null : MockKeyRecord.Read(record);
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
        foreach (UserRecord user in _users.Values)
            yield return user.ToEntry();
        foreach (TokenRecord token in _tokens.Values)
            yield return token.ToEntry();
        foreach (AccessRule rule in _rules.Keys)
            yield return RuleRecord.ToEntry(rule);
        if (MockKey is { } mockKey)
            yield return MockKeyRecord.ToEntry(mockKey);
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
            _offsets[ProgressUse.Share(key)] = offset;
        else
            _offsets[key] = offset;
        ProgressUse.Change(key, before, offset);
    }
}
