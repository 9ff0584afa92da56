using System.Buffers;

namespace EQueue.Protocol;

/// <summary>Which names topics and groups may have: 1 to 249 of A-Z a-z 0-9 . _ - and neither "." nor "..".</summary>
public static class NameRules
{
    /// <summary>Longest name, in characters and bytes.</summary>
    public const int MaxLength = 249;

    private static readonly SearchValues<char> Allowed =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

    /// <summary>What no text has that people and programs name things by: controls (C0, DEL, C1) and the separators of
    /// lines and paragraphs.</summary>
    private static readonly SearchValues<char> NotInText = SearchValues.Create(
        [.. Enumerable.Range(0, 0xA0).Select(static code => (char)code).Where(char.IsControl), '\u2028', '\u2029']);

    /// <summary>Whether a name that may be any text (of a client, a tag, a property) keeps to one line and moves no
    /// cursor: it has no control characters and no separators of lines. "" does.</summary>
    public static bool IsText(ReadOnlySpan<char> text) => !text.ContainsAny(NotInText);

    /// <summary>Whether <paramref name="name"/> keeps the rules.</summary>
    public static bool IsValid(ReadOnlySpan<char> name) =>
        name.Length is >= 1 and <= MaxLength
        && name is not ("." or "..")
        && !name.ContainsAnyExcept(Allowed);
}
