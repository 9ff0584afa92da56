using System.Collections.Concurrent;
using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>The users, tokens and rules as the log has them, with the broker's own secret.</summary>
internal sealed class StoredSecurity : IStatePart
{
    private readonly ConcurrentDictionary<string, UserRecord> _users = new();
    private readonly ConcurrentDictionary<string, TokenRecord> _tokens = new();
    private readonly ConcurrentDictionary<AccessRule, bool> _rules = new();

    public IEnumerable<UserRecord> Users => _users.Values;

    public IEnumerable<TokenRecord> Tokens => _tokens.Values;

    public IEnumerable<AccessRule> Rules => _rules.Keys;

    /// <summary>The key of <see cref="MockSecrets"/>; null = there were no users and rules yet.</summary>
    public byte[]? MockKey { get; private set; }

    /// <inheritdoc/>
    public IReadOnlyList<byte> Kinds => [UserRecord.Kind, TokenRecord.Kind, RuleRecord.Kind, MockKeyRecord.Kind];

    /// <inheritdoc/>
    public void Apply(in StateRecord record)
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
            default:
                MockKey = record.IsDeleted ? null : MockKeyRecord.Read(record);
                break;
        }
    }

    /// <inheritdoc/>
    public IEnumerable<StateEntry> Capture()
    {
        foreach (UserRecord user in _users.Values)
            yield return user.ToEntry();
        foreach (TokenRecord token in _tokens.Values)
            yield return token.ToEntry();
        foreach (AccessRule rule in _rules.Keys)
            yield return RuleRecord.ToEntry(rule);
        if (MockKey is { } mockKey)
            yield return MockKeyRecord.ToEntry(mockKey);
    }
}
