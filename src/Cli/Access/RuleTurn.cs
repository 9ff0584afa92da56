namespace EQueue.Cli.Access;

/// <summary>The two steps that change what all others may: from no rule to the first, and from the last to
/// none.</summary>
internal static class RuleTurn
{
    private const string Owner = "owner";

    /// <summary>What to tell before the first rules are set; null when there are others.</summary>
    public static async ValueTask<string?> WarnOfFirstAsync(
        EQueueAdmin admin,
        IReadOnlyList<AccessRule> known,
        IReadOnlyList<AccessRule> added,
        CancellationToken cancellationToken)
    {
        if (known.Count > 0)
            return null;
        string warning = added.Count == 1
            ? "This is the first rule: from now on nothing is allowed that no rule allows."
            : "These are the first rules: from now on nothing is allowed that no rule allows.";
        AccessDecision asker = await admin.TestAccessAsync(
            "", Permission.Administer, ResourceKind.Broker, "", cancellationToken);
        if (asker.Principal == Owner || added.Any(rule => KeepsRights(rule, asker.Principal)))
            return warning;
        return $"{warning} You are {asker.Principal}: unless Security:Superusers names you, you can set no more of "
            + $"them; first allow {asker.Principal} to administer broker, or do it as the broker's owner.";
    }

    /// <summary>What to tell before a rule goes; null when others stay.</summary>
    public static string? WarnOfLast(IReadOnlyList<AccessRule> known, AccessRule removed) =>
        known.Count == 1 && known[0] == removed
            ? "This is the last rule: without any, everybody who is admitted may do everything."
            : null;

    /// <summary>Whether a rule lets a principal set others.</summary>
    private static bool KeepsRights(AccessRule rule, string principal) =>
        rule is { Effect: RuleEffect.Allow, Resource: ResourceKind.Broker }
        && rule.Permission is Permission.Administer or Permission.All
        && (rule.Principal == principal || rule.Principal == AccessRule.Everybody);
}
