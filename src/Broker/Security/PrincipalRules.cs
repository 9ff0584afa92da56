using System.Collections.Immutable;

namespace EQueue.Broker;

/// <summary>The rules about one principal, found by the name of what they are about. Immutable.</summary>
/// <remarks>A question looks up the name, and once for each length that prefixes have: at most 250 times, however many
/// rules there are.</remarks>
internal sealed class PrincipalRules
{
    public static readonly PrincipalRules None = new(
        ImmutableDictionary<(ResourceKind, string), ImmutableArray<AccessRule>>.Empty,
        ImmutableSortedDictionary<int, int>.Empty);

    /// <summary>By kind and name; that of a prefix ends in *.</summary>
    private readonly ImmutableDictionary<(ResourceKind, string), ImmutableArray<AccessRule>> _rules;

    /// <summary>How many rules are about prefixes of a length, without the *.</summary>
    private readonly ImmutableSortedDictionary<int, int> _prefixLengths;

    private PrincipalRules(
        ImmutableDictionary<(ResourceKind, string), ImmutableArray<AccessRule>> rules,
        ImmutableSortedDictionary<int, int> prefixLengths)
    {
        _rules = rules;
        _prefixLengths = prefixLengths;
    }

    public bool IsEmpty => _rules.IsEmpty;

    public PrincipalRules With(AccessRule rule)
    {
        (ResourceKind, string) key = (rule.Resource, rule.Name);
        return new PrincipalRules(
            _rules.SetItem(key, _rules.GetValueOrDefault(key, []).Add(rule)),
            IsPrefix(rule) ? Count(LengthOf(rule), 1) : _prefixLengths);
    }

    public PrincipalRules Without(AccessRule rule)
    {
        (ResourceKind, string) key = (rule.Resource, rule.Name);
        ImmutableArray<AccessRule> rest = _rules.GetValueOrDefault(key, []).Remove(rule);
        return new PrincipalRules(
            rest.IsEmpty ? _rules.Remove(key) : _rules.SetItem(key, rest),
            IsPrefix(rule) ? Count(LengthOf(rule), -1) : _prefixLengths);
    }

    /// <summary>A rule of that effect that fits; null = there is none.</summary>
    public AccessRule? Find(RuleEffect effect, Permission permission, ResourceKind resource, string name)
    {
        AccessRule? found = FindAbout(effect, permission, (resource, name));
        foreach (int length in _prefixLengths.Keys)
        {
            if (found is not null || length > name.Length)
                break;
            found = FindAbout(effect, permission, (resource, string.Concat(name.AsSpan(0, length), "*")));
        }

        return found;
    }

    private AccessRule? FindAbout(RuleEffect effect, Permission permission, (ResourceKind, string) key)
    {
        if (!_rules.TryGetValue(key, out ImmutableArray<AccessRule> rules))
            return null;
        foreach (AccessRule rule in rules)
        {
            if (rule.Effect == effect && Covers(rule, permission))
                return rule;
        }

        return null;
    }

    private ImmutableSortedDictionary<int, int> Count(int length, int change)
    {
        int count = _prefixLengths.GetValueOrDefault(length) + change;
        return count == 0 ? _prefixLengths.Remove(length) : _prefixLengths.SetItem(length, count);
    }

    private static bool IsPrefix(AccessRule rule) => rule.Name.EndsWith('*');

    private static int LengthOf(AccessRule rule) => rule.Name.Length - 1;

    /// <summary>A right to do something with a topic or a group includes the right to see it.</summary>
    private static bool Covers(AccessRule rule, Permission permission) =>
        rule.Permission == permission
        || rule.Permission == Permission.All
        || (permission == Permission.Describe && rule.Effect == RuleEffect.Allow);
}
