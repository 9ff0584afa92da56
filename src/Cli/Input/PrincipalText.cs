using System.CommandLine.Parsing;
using System.Globalization;
using EQueue.Protocol;

namespace EQueue.Cli.Input;

/// <summary>Principals as rules name them: <c>user:alice</c>, <c>group:billing</c>, <c>cert:orders.example</c>,
/// <c>local:1000</c>, <c>anonymous</c>, <c>*</c> for everybody.</summary>
internal static class PrincipalText
{
    /// <summary>The word for the one who asks.</summary>
    public const string Me = "me";

    private const string User = "user:";
    private const string Group = "group:";
    private const string Certificate = "cert:";
    private const string Local = "local:";

    /// <summary>The one whom no rule binds.</summary>
    private const string Owner = "owner";

    /// <summary>Those that are a word of their own.</summary>
    private static readonly string[] Words = ["anonymous", AccessRule.Everybody];

    private static readonly string[] Kinds = [User, Group, Certificate, Local];

    /// <summary>What may begin a principal, or be one.</summary>
    public static IReadOnlyList<string> Beginnings { get; } = [.. Words, .. Kinds];

    /// <summary>The same of one who would do something.</summary>
    public static IReadOnlyList<string> BeginningsOfOne { get; } =
        [Me, Owner, .. Beginnings.Where(static one => one is not (AccessRule.Everybody or Group))];

    /// <summary>The principal of a user.</summary>
    public static string OfUser(string name) => User + name;

    /// <summary>For an argument's parser.</summary>
    public static string Parse(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (WhyNone(text) is { } reason)
            result.AddError($"'{text}' is no principal: {reason}");
        return text;
    }

    /// <summary>The same of one who would do something, where the one who asks may be meant; they are "".</summary>
    public static string ParseOne(ArgumentResult result)
    {
        string text = result.Tokens[0].Value;
        if (text == Me)
            return "";
        if (text == Owner)
            return text;
        if (text != AccessRule.Everybody && !text.StartsWith(Group, StringComparison.Ordinal))
            return Parse(result);
        result.AddError($"'{text}' is several: name one, as user:NAME.");
        return text;
    }

    /// <remarks>The broker has the last word; what it would refuse without doubt is said before.</remarks>
    private static string? WhyNone(string text)
    {
        if (Words.Contains(text))
            return null;
        if (text == Owner)
            return "no rule binds the owner of the broker.";
        string? kind = Kinds.FirstOrDefault(one => text.StartsWith(one, StringComparison.Ordinal));
        if (kind is null)
            return WhyNoKind(text);
        string name = text[kind.Length..];
        return kind switch
        {
            Local => uint.TryParse(name, NumberStyles.None, CultureInfo.InvariantCulture, out _)
                ? null : "local: is followed by the number of a user of the broker's machine.",
            Certificate => name.Length > 0 ? null : "cert: is followed by the name in a certificate.",
            _ => NameRules.IsValid(name)
                ? null : $"{kind} is followed by a name: letters, digits, '.', '_' and '-' only.",
        };
    }

    private static string WhyNoKind(string text)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        string kinds = $"it is user:NAME, group:NAME, cert:NAME, local:UID, {string.Join(", ", Words)}.";
        string? question = Nearest.Ask(text, Words)
            ?? (colon >= 0
                ? Nearest.Ask(text, Kinds.Select(kind => kind + text[(colon + 1)..]))
                : NameRules.IsValid(text) ? $"Did you mean '{OfUser(text)}'?" : null);
        return question is null ? kinds : $"{kinds} {question}";
    }
}
