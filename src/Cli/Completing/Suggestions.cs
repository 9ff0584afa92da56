using System.CommandLine;

namespace EQueue.Cli.Completing;

/// <summary>What may stand where a person's cursor is.</summary>
internal static class Suggestions
{
    /// <param name="root">All commands.</param>
    /// <param name="configuration">How command lines are read.</param>
    /// <param name="line">The line up to the cursor, the program's name first.</param>
    /// <returns>Words in ordinal order. Flags come only when one was begun, or nothing else may stand there.</returns>
    public static IReadOnlyList<string> Of(RootCommand root, ParserConfiguration configuration, string line)
    {
        int program = line.TrimStart().IndexOf(' ', StringComparison.Ordinal);
        if (program < 0)
            return [];
        string rest = line.TrimStart()[(program + 1)..];
        string word = rest[(rest.LastIndexOf(' ') + 1)..];
        string[] fitting =
        [
            .. root.Parse(rest, configuration).GetCompletions(rest.Length)
                .Select(item => item.InsertText ?? item.Label)
                .Where(text => text.StartsWith(word, StringComparison.Ordinal) && !IsSpelling(text))
                .Distinct(StringComparer.Ordinal).Order(StringComparer.Ordinal),
        ];
        string[] words = [.. fitting.Where(text => !text.StartsWith('-'))];
        return words.Length > 0 ? words : fitting;
    }

    /// <summary>Whether it is only another spelling of <c>--help</c>.</summary>
    private static bool IsSpelling(string text) => text is "-h" or "-?" or "/h" or "/?";
}
