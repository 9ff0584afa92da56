using System.Buffers;

namespace EQueue.Protocol;

/// <summary>Which names topics and groups may have: 1 to 249 of A-Z a-z 0-9 . _ - and neither "." nor "..".</summary>
public static class NameRules
{
    /// <summary>Longest name, in characters and bytes.</summary>
    public const int MaxLength = 249;

    private static readonly SearchValues<char> Allowed =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

    /// <summary>Whether <paramref name="name"/> keeps the rules.</summary>
    public static bool IsValid(ReadOnlySpan<char> name) =>
        name.Length is >= 1 and <= MaxLength
        && name is not ("." or "..")
        && !name.ContainsAnyExcept(Allowed);
}
