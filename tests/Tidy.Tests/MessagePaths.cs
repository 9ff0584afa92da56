using System.Text.RegularExpressions;

namespace EQueue.Tidy.Tests;

/// <summary>The ways of a message in docs/architecture.md are true: each file is there, holds what it is reached through,
/// and a file above it names that; and no way is longer than the house allows.</summary>
internal static partial class MessagePaths
{
    /// <summary>Files of a way in the client, and in broker and store.</summary>
    public const int MostFiles = 12;

    private const string Rule = "message-path";

    /// <param name="page">The document.</param>
    /// <param name="files">The repository.</param>
    public static IEnumerable<Violation> Check(SourceFile page, IEnumerable<SourceFile> files)
    {
        var code = files.Where(file => file.IsCSharp).ToDictionary(file => file.Path, file => CodeText.Blank(file.Text));
        List<Match> ways = [.. WayPattern().Matches(page.Text).Cast<Match>()];
        if (ways.Count == 0)
            yield return new Violation(Rule, page.Path, 1, "there is no way of a message");
        foreach (Match way in ways)
        {
            int line = page.LineAt(way.Index);
            foreach (string broken in CheckWay(RowPattern().Matches(way.Groups["rows"].Value).Cast<Match>(), code))
                yield return new Violation(Rule, page.Path, line, $"{way.Groups["name"].Value}: {broken}");
        }
    }

    private static IEnumerable<string> CheckWay(IEnumerable<Match> rows, Dictionary<string, string> code)
    {
        var above = new List<string>();
        foreach ((string path, string through) in rows.Select(row => (row.Groups["path"].Value, row.Groups["through"].Value)))
        {
            if (!code.TryGetValue(path, out string? text))
            {
                yield return $"{path} is not there";
                continue;
            }

            if (!Names(text, through))
                yield return $"{path} has no {through}";
            if (above.Count > 0 && !above.Exists(upper => Names(code[upper], through)))
                yield return $"no file above {path} names {through}";
            above.Add(path);
        }

        int client = above.Count(path => path.StartsWith("src/Client/", StringComparison.Ordinal));
        int broker = above.Count(path => path.StartsWith("src/Broker/", StringComparison.Ordinal)
            || path.StartsWith("src/MessageStore/", StringComparison.Ordinal));
        if (Math.Max(client, broker) > MostFiles)
            yield return $"it has {Math.Max(client, broker)} files, at most {MostFiles}";
    }

    private static bool Names(string code, string name) => Regex.IsMatch(code, $@"\b{Regex.Escape(name)}\b");

    [GeneratedRegex(
        @"^\*\*(?<name>[^*\n]+)\*\*[^\n]*\n\n\| file \| through \| what happens \|\n\|[-|]+\|\n(?<rows>(\|.*\n)+)",
        RegexOptions.Multiline | RegexOptions.ExplicitCapture)]
    private static partial Regex WayPattern();

    [GeneratedRegex(@"^\| `(?<path>[^`]+)` \| `(?<through>\w+)` \|", RegexOptions.Multiline | RegexOptions.ExplicitCapture)]
    private static partial Regex RowPattern();
}
