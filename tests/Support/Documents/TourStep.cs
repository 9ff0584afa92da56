using System.Text.RegularExpressions;

namespace EQueue.Support;

/// <summary>A command of a document and what the document says that it prints.</summary>
public sealed partial record TourStep(string Command, IReadOnlyList<string> Output)
{
    /// <summary>
    /// Lines to compare. Queues are read side by side: lines count without their order, times for what they are, and
    /// bytes too: how many messages share a batch is chance.
    /// </summary>
    public static string[] Normalize(IEnumerable<string> lines)
        => [.. lines.Select(NormalizeLine).Order(StringComparer.Ordinal)];

    /// <summary>What a program printed, cut into lines to compare.</summary>
    public static string[] Normalize(string printed)
        => Normalize((IEnumerable<string>)printed.Split('\n', StringSplitOptions.RemoveEmptyEntries));

    private static string NormalizeLine(string line)
    {
        line = BytesPattern().Replace(TimePattern().Replace(line, "TIME"), "\tBYTES\tTIME");
        return ElapsedPattern().Replace(line, "in N s");
    }

    [GeneratedRegex(@"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")]
    private static partial Regex TimePattern();

    [GeneratedRegex(@"\t\d+\tTIME")]
    private static partial Regex BytesPattern();

    [GeneratedRegex(@"in \d+\.\d s")]
    private static partial Regex ElapsedPattern();
}
