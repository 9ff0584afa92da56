using System.Collections.Immutable;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>The rules about one principal, found by the name of what they are about. Immutable.</summary>
internal sealed class PrincipalRules
{
    public static readonly PrincipalRules None = new(
        ImmutableDictionary<(ResourceKind, string), ImmutableArray<AccessRule>>.Empty, []);

    private readonly ImmutableDictionary<(ResourceKind, string), ImmutableArray<AccessRule>> _exact;
    private readonly ImmutableArray<AccessRule> _prefixes;

    private PrincipalRules(
        ImmutableDictionary<(ResourceKind, string), ImmutableArray<AccessRule>> exact,
        ImmutableArray<AccessRule> prefixes)
    {
        _exact = exact;
        _prefixes = prefixes;
    }

    public bool IsEmpty => _exact.IsEmpty && _prefixes.IsEmpty;

    public PrincipalRules With(AccessRule rule)
    {
        if (IsPrefix(rule))
            return new PrincipalRules(_exact, _prefixes.Add(rule));
        (ResourceKind, string) key = (rule.Resource, rule.Name);
        return new PrincipalRules(_exact.SetItem(key, _exact.GetValueOrDefault(key, []).Add(rule)), _prefixes);
    }

    public PrincipalRules Without(AccessRule rule)
    {
        if (IsPrefix(rule))
            return new PrincipalRules(_exact, _prefixes.Remove(rule));
        (ResourceKind, string) key = (rule.Resource, rule.Name);
        ImmutableArray<AccessRule> rest = _exact.GetValueOrDefault(key, []).Remove(rule);
        return new PrincipalRules(rest.IsEmpty ? _exact.Remove(key) : _exact.SetItem(key, rest), _prefixes);
    }

    /// <summary>A rule of that effect that fits; null = there is none.</summary>
    public AccessRule? Find(RuleEffect effect, Permission permission, ResourceKind resource, string name)
    {
        if (_exact.TryGetValue((resource, name), out ImmutableArray<AccessRule> exact))
        {
            foreach (AccessRule rule in exact)
            {
                if (rule.Effect == effect && Covers(rule, permission))
                    return rule;
            }
        }

        foreach (AccessRule rule in _prefixes)
        {
            if (rule.Effect == effect && rule.Resource == resource && Covers(rule, permission)
                && name.AsSpan().StartsWith(rule.Name.AsSpan(0, rule.Name.Length - 1), StringComparison.Ordinal))
                return rule;
        }

        return null;
    }

    private static bool IsPrefix(AccessRule rule) => rule.Name.EndsWith('*');

    /// <summary>A right to do something with a topic or a group includes the right to see it.</summary>
    private static bool Covers(AccessRule rule, Permission permission) =>
        rule.Permission == permission
        || rule.Permission == Permission.All
        || (permission == Permission.Describe && rule.Effect == RuleEffect.Allow);
}
