using System.Collections.Immutable;

namespace EQueue.Broker;

/// <summary>Users, tokens and rules at one moment, and what they decide. Immutable.</summary>
internal sealed class SecurityBook
{
    /// <summary>A book without anything.</summary>
    public static readonly SecurityBook Empty = new();

    private int[]? _iterations;

    /// <summary>By name.</summary>
    public ImmutableSortedDictionary<string, UserRecord> Users { get; private init; } =
        ImmutableSortedDictionary.Create<string, UserRecord>(StringComparer.Ordinal);

    /// <summary>Iterations of each user's password, in ascending order; empty: no user has one.</summary>
    public ReadOnlySpan<int> Iterations => _iterations ??=
        [.. Users.Values.Where(user => user.Secret is not null).Select(user => user.Secret!.Iterations).Order()];

    /// <summary>By id.</summary>
    public ImmutableSortedDictionary<string, TokenRecord> Tokens { get; private init; } =
        ImmutableSortedDictionary.Create<string, TokenRecord>(StringComparer.Ordinal);

    /// <summary>By text.</summary>
    public ImmutableSortedDictionary<string, AccessRule> Rules { get; private init; } =
        ImmutableSortedDictionary.Create<string, AccessRule>(StringComparer.Ordinal);

    /// <summary>The rules of a principal, a group, or everybody.</summary>
    private ImmutableDictionary<string, PrincipalRules> Index { get; init; } =
        ImmutableDictionary.Create<string, PrincipalRules>(StringComparer.Ordinal);

    /// <summary>What all of it takes in memory, here and in the log's state; an estimate.</summary>
    public long Bytes { get; private init; }

    public SecurityBook With(UserRecord user) => Copy(
        SecurityUse.SizeOf(user) - SecurityUse.SizeOf(Users.GetValueOrDefault(user.Name)),
        users: Users.SetItem(user.Name, user));

    /// <summary>Without a user and its tokens.</summary>
    public SecurityBook WithoutUser(string name)
    {
        TokenRecord[] tokens = [.. Tokens.Values.Where(token => token.User == name)];
        return Copy(
            -SecurityUse.SizeOf(Users.GetValueOrDefault(name)) - tokens.Sum(SecurityUse.SizeOf),
            users: Users.Remove(name),
            tokens: Tokens.RemoveRange(tokens.Select(token => token.Id)));
    }

    public SecurityBook With(TokenRecord token) => Copy(
        SecurityUse.SizeOf(token) - SecurityUse.SizeOf(Tokens.GetValueOrDefault(token.Id)),
        tokens: Tokens.SetItem(token.Id, token));

    public SecurityBook WithoutToken(string id) =>
        Copy(-SecurityUse.SizeOf(Tokens.GetValueOrDefault(id)), tokens: Tokens.Remove(id));

    public SecurityBook With(AccessRule rule)
    {
        string text = rule.ToString();
        if (Rules.ContainsKey(text))
            return this;
        PrincipalRules own = Index.GetValueOrDefault(rule.Principal, PrincipalRules.None);
        return Copy(
            SecurityUse.SizeOf(rule),
            rules: Rules.Add(text, rule),
            index: Index.SetItem(rule.Principal, own.With(rule)));
    }

    public SecurityBook Without(AccessRule rule)
    {
        string text = rule.ToString();
        if (!Rules.ContainsKey(text))
            return this;
        PrincipalRules rest = Index[rule.Principal].Without(rule);
        return Copy(
            -SecurityUse.SizeOf(rule),
            rules: Rules.Remove(text),
            index: rest.IsEmpty ? Index.Remove(rule.Principal) : Index.SetItem(rule.Principal, rest));
    }

    /// <summary>Whether a rule names the principal itself.</summary>
    public bool Names(string principal) => Index.ContainsKey(principal);

    /// <summary>What the rules decide; owner and superusers are not asked about here.</summary>
    public AccessVerdict Decide(string principal, Permission permission, ResourceKind resource, string name)
    {
        if (Rules.IsEmpty)
            return new AccessVerdict(true, null);
        AccessRule? allows = null;
        foreach (PrincipalRules rules in RulesOf(principal))
        {
            if (rules.Find(RuleEffect.Deny, permission, resource, name) is { } denies)
                return new AccessVerdict(false, denies);
            allows ??= rules.Find(RuleEffect.Allow, permission, resource, name);
        }

        return new AccessVerdict(allows is not null, allows);
    }

    private IEnumerable<PrincipalRules> RulesOf(string principal)
    {
        if (Index.TryGetValue(principal, out PrincipalRules? own))
            yield return own;
        if (Index.TryGetValue(AccessRule.Everybody, out PrincipalRules? everybody))
            yield return everybody;
        if (!principal.StartsWith(Principal.UserPrefix, StringComparison.Ordinal)
            || !Users.TryGetValue(principal[Principal.UserPrefix.Length..], out UserRecord? user))
        {
            yield break;
        }

        foreach (string group in user.Groups)
        {
            if (Index.TryGetValue(Principal.GroupPrefix + group, out PrincipalRules? shared))
                yield return shared;
        }
    }

    private SecurityBook Copy(
        long moreBytes,
        ImmutableSortedDictionary<string, UserRecord>? users = null,
        ImmutableSortedDictionary<string, TokenRecord>? tokens = null,
        ImmutableSortedDictionary<string, AccessRule>? rules = null,
        ImmutableDictionary<string, PrincipalRules>? index = null) => new()
        {
            Bytes = Bytes + moreBytes,
            Users = users ?? Users,
            Tokens = tokens ?? Tokens,
            Rules = rules ?? Rules,
            Index = index ?? Index,
        };
}

/// <summary>What was decided.</summary>
/// <param name="IsAllowed">Whether it may be done.</param>
/// <param name="Rule">The rule that decides; null: there is no rule at all, or none that allows.</param>
internal readonly record struct AccessVerdict(bool IsAllowed, AccessRule? Rule);
