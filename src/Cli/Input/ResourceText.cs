using System.CommandLine.Parsing;
using EQueue.Protocol;

namespace EQueue.Cli.Input;

/// <summary>A thing that a rule is about, or all whose names begin alike.</summary>
/// <param name="Kind">What kind of thing.</param>
/// <param name="Name">Its name; the beginning of names and a *; "" of the broker.</param>
internal readonly record struct AccessResource(ResourceKind Kind, string Name)
{
    /// <summary>Whether it may be several.</summary>
    public bool IsPattern => Name.EndsWith(ResourceText.Any, StringComparison.Ordinal);

    public override string ToString() => ResourceText.Of(Kind, Name);
}

/// <summary>What rules are about, as people write it: <c>topic:orders</c>, <c>topic:orders*</c>, <c>group:*</c>,
/// <c>broker</c>.</summary>
internal static class ResourceText
{
    /// <summary>At the end of a name: any characters.</summary>
    public const string Any = "*";

    private const string Kinds = "topic:NAME, topic:BEGINNING*, group:NAME, group:BEGINNING*, broker";

    /// <summary>What may begin a resource, or be one.</summary>
    public static IReadOnlyList<string> Beginnings { get; } =
        [Of(ResourceKind.Broker), Of(ResourceKind.Topic) + ":", Of(ResourceKind.Group) + ":"];

    public static string Of(ResourceKind kind) => kind.ToString().ToLowerInvariant();

    public static string Of(ResourceKind kind, string name) => AccessRule.TextOf(kind, name);

    /// <summary>For an argument's parser.</summary>
    public static AccessResource Parse(ArgumentResult result) => Read(result.Tokens[0].Value, result);

    /// <summary>For the parser of an argument that takes several.</summary>
    public static AccessResource[] ParseMany(ArgumentResult result) =>
        [.. result.Tokens.Select(token => Read(token.Value, result))];

    private static AccessResource Read(string text, ArgumentResult result)
    {
        if (text == Of(ResourceKind.Broker))
            return new AccessResource(ResourceKind.Broker, "");
        foreach (ResourceKind kind in (ReadOnlySpan<ResourceKind>)[ResourceKind.Topic, ResourceKind.Group])
        {
            if (!text.StartsWith($"{Of(kind)}:", StringComparison.Ordinal))
                continue;
            string name = text[(Of(kind).Length + 1)..];
            string beginning = name.EndsWith(Any, StringComparison.Ordinal) ? name[..^1] : name;
            if (name == Any || IsBeginning(beginning, isWhole: beginning == name))
                return new AccessResource(kind, name);
            result.AddError(
                $"'{text}' names no {Of(kind)}: letters, digits, '.', '_' and '-' only, and a * at the end for all "
                + "that begin so.");
            return default;
        }

        result.AddError($"'{text}' is no resource: {Kinds}. {Guess(text)}".TrimEnd());
        return default;
    }

    /// <remarks>"." is no name, and begins some.</remarks>
    private static bool IsBeginning(string text, bool isWhole) => NameRules.IsValid(isWhole ? text : text + "x");

    private static string? Guess(string text)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        if (colon >= 0)
        {
            string name = text[(colon + 1)..];
            return Nearest.Ask(text, [Of(ResourceKind.Topic, name), Of(ResourceKind.Group, name)]);
        }

        return Nearest.Ask(text, [Of(ResourceKind.Broker)])
            ?? (NameRules.IsValid(text) ? $"Did you mean '{Of(ResourceKind.Topic, text)}'?" : null);
    }
}
