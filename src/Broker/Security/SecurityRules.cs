using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>What users, passwords and rules may be made of.</summary>
internal static class SecurityRules
{
    /// <exception cref="EQueueException">InvalidName.</exception>
    public static void CheckUserName(string name)
    {
        if (!NameRules.IsValid(name))
        {
            throw new EQueueException(
                ErrorCode.InvalidName,
                "A user's or group's name is 1 to 249 of A-Z a-z 0-9 . _ - and neither . nor ..");
        }
    }

    /// <exception cref="EQueueException">InvalidArgument.</exception>
    public static void CheckSecret(ScramSecret? secret)
    {
        if (secret is { IsValid: false })
        {
            throw RequestRules.Invalid(
                $"A password is kept as a salt of {ScramSecret.SaltSize} bytes, {ScramSecret.MinIterations} to "
                + $"{ScramSecret.MaxIterations} iterations and two keys of {ScramSecret.KeySize} bytes.");
        }
    }

    /// <exception cref="EQueueException">InvalidArgument: the rule could never fit.</exception>
    public static void Check(AccessRule rule)
    {
        if (!Enum.IsDefined(rule.Effect))
            throw RequestRules.Invalid($"There is no effect {(int)rule.Effect}: 1 allows, 2 denies.");
        if (rule.Principal.Length > AccessRule.MaxPrincipalLength || !Principal.IsValidInRule(rule.Principal))
        {
            throw RequestRules.Invalid(
                "A rule is about user:NAME, cert:NAME, local:UID, group:NAME, anonymous or * for everybody.");
        }

        if (rule.Principal == Principal.Owner)
            throw RequestRules.Invalid("No rule binds the owner.");
        Check(rule.Permission, rule.Resource, rule.Name, mayBePrefix: true);
    }

    /// <exception cref="EQueueException">InvalidArgument.</exception>
    public static void Check(Permission permission, ResourceKind resource, string name, bool mayBePrefix)
    {
        if (!Enum.IsDefined(permission))
            throw RequestRules.Invalid($"There is no permission {(int)permission}.");
        if (!Enum.IsDefined(resource))
            throw RequestRules.Invalid($"There is no kind of resource {(int)resource}.");
        if (resource == ResourceKind.Broker)
        {
            if (name.Length != 0)
                throw RequestRules.Invalid("The broker has no name in a rule.");
        }
        else
        {
            ReadOnlySpan<char> plain = mayBePrefix && name.EndsWith('*') ? name.AsSpan(..^1) : name;
            if (!(plain.IsEmpty && name == "*") && !NameRules.IsValid(plain) && plain is not ("." or ".."))
                throw RequestRules.Invalid("A resource is a name, the beginning of one and a *, or * alone.");
        }

        if (!Exists(permission, resource))
        {
            throw RequestRules.Invalid(
                $"There is nothing to {permission.ToString().ToLowerInvariant()} of a "
                + $"{resource.ToString().ToLowerInvariant()} (docs/security.md lists what there is).");
        }
    }

    private static bool Exists(Permission permission, ResourceKind resource) => permission switch
    {
        Permission.All or Permission.Describe => true,
        Permission.Write or Permission.Create => resource == ResourceKind.Topic,
        Permission.Administer => resource == ResourceKind.Broker,
        _ => resource != ResourceKind.Broker,
    };
}
