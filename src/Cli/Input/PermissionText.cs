using System.CommandLine.Parsing;

namespace EQueue.Cli.Input;

/// <summary>What a rule is about, by the words of docs/security.md: <c>describe</c>, <c>read</c>, ...,
/// <c>all</c>.</summary>
internal static class PermissionText
{
    /// <summary>Words of others that mean one of ours.</summary>
    private static readonly Dictionary<string, Permission> Meant = new(StringComparer.OrdinalIgnoreCase)
    {
        ["admin"] = Permission.Administer,
        ["change"] = Permission.Alter,
        ["configure"] = Permission.Alter,
        ["consume"] = Permission.Read,
        ["fetch"] = Permission.Read,
        ["list"] = Permission.Describe,
        ["produce"] = Permission.Write,
        ["remove"] = Permission.Delete,
        ["send"] = Permission.Write,
        ["view"] = Permission.Describe,
    };

    /// <summary>All of them, as they are typed.</summary>
    public static IReadOnlyList<string> Words { get; } = [.. Enum.GetValues<Permission>().Select(Of)];

    public static string Of(Permission permission) => permission.ToString().ToLowerInvariant();

    /// <summary>Whether there is such an operation with such a thing.</summary>
    public static bool Fits(Permission permission, ResourceKind kind) => permission is Permission.All
        or Permission.Describe || kind switch
        {
            ResourceKind.Topic => permission is not Permission.Administer,
            ResourceKind.Group => permission is Permission.Read or Permission.Alter or Permission.Delete,
            _ => permission is Permission.Administer,
        };

    /// <exception cref="UsageException">There is no such operation with such a thing.</exception>
    public static void Demand(Permission permission, ResourceKind kind)
    {
        if (Fits(permission, kind))
            return;
        string others = string.Join(
            " and ", Enum.GetValues<ResourceKind>().Where(one => Fits(permission, one)).Select(ResourceText.Of));
        throw new UsageException(
            $"There is nothing to {Of(permission)} with a {ResourceText.Of(kind)}: it goes with {others}.");
    }

    /// <summary>For an argument's parser.</summary>
    public static Permission Parse(ArgumentResult result)
    {
        string word = result.Tokens[0].Value;
        foreach (Permission permission in Enum.GetValues<Permission>())
        {
            if (word == Of(permission))
                return permission;
        }

        string? question = Meant.TryGetValue(word, out Permission meant)
            ? $"Did you mean '{Of(meant)}'?" : Nearest.Ask(word, Words);
        result.AddError($"'{word}' is no operation: {string.Join(", ", Words)}. {question}".TrimEnd());
        return default;
    }
}
